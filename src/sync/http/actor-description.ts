import type { DatabaseId } from '../../wire/data/database.ts';
import type { DatabaseReport } from '../../wire/state/report.ts';
import type { SubscriberView } from '../fan-out/subscriber.ts';
import type { AppDeps } from './deps.ts';

/** Fields of an actor that sync's console shows beside its machines. */
interface ActorDescription {
  readonly report: DatabaseReport | null;
  /** The slowest of them. */
  readonly subscribers: readonly SubscriberView[];
  readonly subscriber_count: number;
}

const MAX_SUBSCRIBERS = 200;

/** Describes the last report of a database, and its slowest subscribers. */
export function describeActor(
  id: DatabaseId,
  { config, directory, fanOut }: Pick<AppDeps, 'config' | 'directory' | 'fanOut'>
): ActorDescription {
  const all = config.SYNC_MODE === 'server' ? fanOut.subscribers(id) : [];
  return {
    report: directory.lastReport(id) ?? null,
    subscribers: all.toSorted(slowestFirst).slice(0, MAX_SUBSCRIBERS),
    subscriber_count: all.length
  };
}

function slowestFirst(a: SubscriberView, b: SubscriberView): number {
  const [stalledA, stalledB] = [a.state === 'stalled', b.state === 'stalled'];
  return Number(stalledB) - Number(stalledA) || (b.lag ?? -1) - (a.lag ?? -1) || b.bufferedBytes - a.bufferedBytes;
}
