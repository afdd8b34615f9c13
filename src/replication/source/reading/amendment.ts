import type { Connection } from '../../../db/connection.ts';
import type { SourceLayout } from '../../tables/source-layout.ts';
import type { TableFound } from '../changes/found-changes.ts';
import { beginLook } from '../changes/looking.ts';
import type { TableWatch } from '../changes/table-watch.ts';
import { ChangeTaker } from '../changes/taking.ts';
import { TouchedKeys } from '../changes/touch-rules.ts';

/** Content of one amendment, by table. */
export type Amendment = ReadonlyMap<string, TableFound>;

/**
 * Reads rows that wait to be sent, as much as one message may carry. Nothing is remembered: the caller gives the result to
 * `memory.amend` once it is broadcast.
 *
 * @param connection in the snapshot of the last broadcast block
 * @param room rows and bytes
 * @returns by table; empty when nothing waits
 */
export async function readAmendment(
  connection: Connection,
  { plans, dbType }: SourceLayout,
  watches: ReadonlyMap<string, TableWatch>,
  room: { readonly rows: number; readonly bytes: number }
): Promise<Amendment> {
  const taker = new ChangeTaker(connection, dbType, { isAmendment: true, room });
  const found = new Map<string, TableFound>();
  for (const plan of plans) {
    const watch = watches.get(plan.name);
    if (!watch || watch.pending.length === 0) continue;
    const nothing = { facts: undefined, before: null, own: [], stale: [] };
    const taken = await taker.take(beginLook({ plan, watch, ...nothing }), new TouchedKeys([]));
    if (taken) found.set(plan.name, taken);
    if (taker.isFull) break;
  }
  return found;
}
