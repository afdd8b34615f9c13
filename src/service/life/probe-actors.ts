import { type ConditionInput, conditionOf } from '../../wire/state/condition.ts';
import { ask, type Json, numberOf, object, objects, type ProbeAddress, textOf } from './probe.ts';

/** One actor of a running service. */
export interface ProbedActor {
  /** `indexer/litecoin/regtest` */
  readonly name: string;
  /** The supervisor's word: `running`, `paused`, `parked` and so on. */
  readonly state: string;
  /** Its phase, or what it does while its thread is down. */
  readonly doing: string;
  /** Reason why it is not well, with the remedy; null while it is. */
  readonly reason: string | null;
  readonly restarts: number | null;
}

/** The actors of a running service, and what happened to them. */
export interface ProbedActors {
  readonly service: string;
  /** `server` or `client`; null for a service without modes. */
  readonly mode: string | null;
  readonly actors: readonly ProbedActor[];
  /** Entries of its timeline after the one that was named, oldest first. */
  readonly entries: readonly Json[];
  /** The last entry that the caller has then. */
  readonly seq: number;
  /** More entries follow. */
  readonly hasMore: boolean;
}

/** Later than any entry. */
const NO_ENTRIES = 999_999_999_999_999;

/**
 * Asks a running service for its actors, and for its timeline.
 *
 * @param after the last entry that the caller has; without it no entries are asked for
 * @throws {PlatformError} SERVICE_UNREACHABLE, UNAUTHORIZED, SOURCE_REFUSED
 */
export async function probeActors(address: ProbeAddress, after = NO_ENTRIES): Promise<ProbedActors> {
  const live = await ask(address, `/debug/live?after=${after}`, [200]);
  const entries = objects(live['entries']);
  const seq = numberOf(live['seq']) ?? after;
  return {
    service: String(live['service']),
    mode: textOf(live['mode']),
    actors: objects(live['databases']).map(actorOf),
    entries,
    seq,
    hasMore: entries.length > 0 && seq > after && numberOf(entries.at(-1)!['seq']) === seq
  };
}

function actorOf(entry: Json): ProbedActor {
  const { doing, reason } = conditionOf(entry as unknown as ConditionInput);
  return {
    name: String(entry['key']),
    state: String(entry['state']),
    doing,
    reason,
    restarts: numberOf(object(entry['restarts'])['total'])
  };
}
