import type { ChainNetwork } from '../../coin/chains.ts';
import type { SqlRow } from '../../db/connection.ts';
import type { Databases } from '../records/record.ts';
import type { Cursors } from './cursor.ts';
import { IndexHints } from './index-hints.ts';
import type { Reader } from './reader.ts';
import { type Tip, tipIn } from './tip.ts';
import { TokenNames } from './token-names.ts';
import { Totals } from './totals.ts';

/** Readers that begin with `NEWEST_BLOCK`, or `DECODER_TIP`. */
export interface Readers {
  readonly indexer: Reader;
  readonly decoder: Reader;
  /** Reader of the ledger for work that no caller waits for. */
  readonly aside: Reader;
}

/** Opens the databases of a network. */
export function openDatabases(
  network: ChainNetwork,
  { indexer, decoder, aside }: Readers,
  cursors: Cursors,
  limits: Partial<ConstructorParameters<typeof Totals>[1]> = {}
): Databases {
  const reading =
    (reader: Reader): Databases['indexer'] =>
    (work) =>
      reader.read((query, opened) => work(query, tipOf(opened)));
  return {
    network,
    indexer: reading(indexer),
    decoder: (work) => decoder.read(work),
    totals: new Totals(reading(aside), { undoDepth: network.undoDepth, ...limits }),
    hints: new IndexHints(reading(aside)),
    names: new TokenNames(),
    cursors
  };
}

const TIPS = new WeakMap<readonly SqlRow[], Tip | null>();

/** Returns the tip of a snapshot that many reads share. */
function tipOf(opened: readonly SqlRow[]): Tip | null {
  const known = TIPS.get(opened);
  if (known !== undefined) return known;
  const tip = tipIn(opened);
  TIPS.set(opened, tip);
  return tip;
}
