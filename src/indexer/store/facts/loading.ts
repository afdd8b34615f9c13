import type { KnownIds } from '../../../consensus/ids-by-text.ts';
import type { Statements } from '../../../db/connection.ts';
import type { View } from '../../state/view.ts';

/** Tickers as a loader needs them. Those of tokens are all in memory. */
export interface Tickers {
  /** Ids by `tickKey`. */
  readonly ids: KnownIds;
}

/** Connection, view and tickers for the load of facts of one kind. */
export interface Loading {
  readonly connection: Statements;
  readonly view: View;
  readonly tickers: Tickers;
}
/** Puts facts of one kind into the view, those that do not exist included. */
export type Loader = (keys: readonly string[], loading: Loading) => Promise<void>;
