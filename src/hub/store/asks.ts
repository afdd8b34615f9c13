import type { WireError } from '../../errors.ts';
import type { Circuit } from '../../wire/state/report.ts';
import type { RoundOutcome } from '../oracle/oracle.ts';
import type { HubDatabase } from './database.ts';
import type { PagedName, RowPage } from './row-page.ts';
import type { StatementName } from './statements.ts';

/** How a statement is run: one of the ways of a HubDatabase. */
export type Way = keyof Pick<HubDatabase, 'read' | 'readOnce' | 'write' | 'push' | 'survey'>;

/** What the actor that has the database is asked. */
export type HubAsks = {
  statement: {
    request: { readonly way: Way; readonly name: StatementName; readonly given: readonly unknown[] };
    reply: unknown;
  };
  page: { request: { readonly name: PagedName; readonly given: readonly unknown[] }; reply: RowPage };
  probe: { request: Record<never, never>; reply: boolean };
};

/** How the database is. */
export interface HubDatabaseState {
  readonly isReady: boolean;
  readonly circuit: Circuit;
  readonly takesWrites: boolean;
}

/** What it tells: each change, and a refusal at the first start, which waiting does not mend. */
export type HubNotices = { state: HubDatabaseState; refused: WireError };

/** How the search for prices stands. */
export interface PricesState extends RoundOutcome {
  /** The machine's state, such as `waiting`. */
  readonly phase: string;
}

/** What the actor that finds prices tells: how it stands; that a round is durable, and its time in epoch milliseconds. */
export type PricesNotices = { pricing: PricesState; priced: number };
