import { MACHINES } from '../../machines/all.ts';
import { actorKey } from '../wire/state/actor.ts';
import { machineOf } from '../wire/state/machine-name.ts';
import type { TimelineEntry } from '../wire/state/timeline.ts';

/** A running service whose machines are looked at. */
export interface InspectOptions {
  /** Base URL, without a slash at its end. */
  readonly service: string;
  /** Its key, if it has one. */
  readonly key?: string;
  /** Ends the looking. */
  readonly signal?: AbortSignal;
}

interface Common {
  /** One machine of one actor: `indexer/bitcoin/mainnet replica`. */
  readonly sessionId: string;
  readonly rootId: string;
  /** Unix milliseconds. */
  readonly createdAt: string;
  readonly _version: string;
}

/** An event of Stately's inspection protocol, as `@statelyai/inspect` sends it. */
export type InspectionEvent = Common &
  (
    | {
        readonly type: '@xstate.actor';
        readonly name: string;
        readonly definition: string;
        readonly snapshot: Snapshot;
      }
    | { readonly type: '@xstate.event'; readonly event: Named; readonly sourceId: undefined }
    | { readonly type: '@xstate.snapshot'; readonly event: Named; readonly snapshot: Snapshot }
  );

interface Named {
  readonly type: string;
  readonly [field: string]: unknown;
}

interface Snapshot {
  readonly status: 'active';
  readonly value: unknown;
  readonly context: unknown;
}

const PROTOCOL = '0.5.0';
const LOOK_EVERY_MS = 500;

/**
 * Gives out each transition of a service's machines as XState's inspector would: the machine when it is first seen, then its
 * events and snapshots. Begins with the oldest entry that the service keeps.
 *
 * @throws {Error} naming the status with which the service refuses
 */
export async function* inspect({
  service,
  key,
  signal
}: InspectOptions): AsyncGenerator<InspectionEvent, void, undefined> {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const seen = new Set<string>();
  for (let after = 0; !signal?.aborted; ) {
    const address = `${service}/debug/live?after=${after}`;
    const response = await fetch(address, { headers, redirect: 'error', signal: signal ?? null });
    if (!response.ok) throw new Error(`${address} answered ${response.status}`);
    const { seq, entries } = (await response.json()) as { seq: number; entries: TimelineEntry[] };
    for (const entry of entries) yield* eventsOf(entry, seen);
    if (entries.length === 0) await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    after = seq < after ? 0 : seq; // it was restarted
  }
}

function* eventsOf(entry: TimelineEntry, seen: Set<string>): Generator<InspectionEvent> {
  if (entry.kind !== 'transition') return;
  const sessionId = `${actorKey(entry.actor)} ${entry.machine}`;
  const common = { sessionId, rootId: sessionId, createdAt: String(entry.at), _version: PROTOCOL };
  const snapshot = (to: string, context: unknown): Snapshot => ({ status: 'active', value: stateValue(to), context });
  if (!seen.has(sessionId)) {
    seen.add(sessionId);
    const definition = JSON.stringify(MACHINES[machineOf(entry.machine)]?.definition ?? {});
    const first = snapshot(entry.from ?? entry.to, entry.before ?? {});
    yield { ...common, type: '@xstate.actor', name: sessionId, definition, snapshot: first };
  }
  const event = { ...entry.detail, type: entry.event };
  yield { ...common, type: '@xstate.event', event, sourceId: undefined };
  yield { ...common, type: '@xstate.snapshot', event, snapshot: snapshot(entry.to, entry.context ?? {}) };
}

/** Returns the value of a state: `bootstrapping.loading` is `{ bootstrapping: 'loading' }`. */
function stateValue(state: string): unknown {
  const names = state.split('.');
  return names.reduceRight<unknown>((inner, name) => (inner === undefined ? name : { [name]: inner }), undefined);
}
