import type { ChainNetwork } from '../../coin/chains.ts';
import type { Reader } from './reader.ts';
import type { Databases } from './records.ts';
import { tipIn } from './tip.ts';

/** A network whose databases are read by readers that begin with `NEWEST_BLOCK` and `DECODER_TIP`. */
export function openDatabases(
  network: ChainNetwork,
  { indexer, decoder }: { readonly indexer: Reader; readonly decoder: Reader }
): Databases {
  return {
    network,
    indexer: (work) => indexer.read((query, opened) => work(query, tipIn(opened))),
    decoder: (work) => decoder.read(work)
  };
}
