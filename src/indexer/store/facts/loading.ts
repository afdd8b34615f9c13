import type { Connection } from '../../../db/core/connection.ts';
import type { View } from '../../state/view.ts';

export type Query = Pick<Connection, 'query'>;

/** What a loader needs to know of tickers: those of tokens are all in memory. */
export interface Tickers {
  /** By `tickKey`. */
  readonly ids: ReadonlyMap<string, number>;
}

/** From where facts of one kind are loaded, and into what. */
export interface Loading {
  readonly connection: Query;
  readonly view: View;
  readonly tickers: Tickers;
}
/** Puts facts of one kind into the view, those that do not exist as well. */
export type Loader = (keys: readonly string[], loading: Loading) => Promise<void>;
