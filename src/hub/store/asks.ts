import type { WireError } from '../../errors.ts';
import type { Circuit } from '../../wire/state/report.ts';
import type { RoundOutcome } from '../oracle/oracle.ts';
import type { HubDatabase } from './database.ts';
import type { PagedName, RowPage } from './row-page.ts';
import type { StatementName } from './statements.ts';

/** Way of running a statement: a method of HubDatabase. */
export type Way = keyof Pick<HubDatabase, 'read' | 'readOnce' | 'write' | 'push' | 'survey'>;

/** Requests to the actor that owns the database. */
export type HubAsks = {
  statement: {
    request: { readonly way: Way; readonly name: StatementName; readonly given: readonly unknown[] };
    reply: unknown;
  };
  page: { request: { readonly name: PagedName; readonly given: readonly unknown[] }; reply: RowPage };
  probe: { request: Record<never, never>; reply: boolean };
};

/** State of the database. */
export interface HubDatabaseState {
  readonly isReady: boolean;
  readonly circuit: Circuit;
  readonly takesWrites: boolean;
}

/** Notices of that actor: each change, and a refusal at the first start, which waiting does not mend. */
export type HubNotices = { state: HubDatabaseState; refused: WireError };

/** State of the search for prices. */
export interface PricesState extends RoundOutcome {
  /** The machine's state, such as `waiting`. */
  readonly phase: string;
}

/** Prices that were found. */
export interface FoundPrices {
  /** Epoch milliseconds. */
  readonly at: number;
  /** Pairs in their order, each with a decimal of 8 places. */
  readonly prices: readonly (readonly [pair: string, price: string])[];
}

/** Notices of the actor that finds prices: its state, each round's prices, and the time in epoch milliseconds of each that is durable. */
export type PricesNotices = { pricing: PricesState; found: FoundPrices; priced: number };
