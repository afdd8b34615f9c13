import { CHAIN_NETWORKS, type ChainNetwork } from './chains.ts';

/** What may stand between chain and network; with a separator replaced by this one, a spelling is a key. */
const SEPARATOR = /[-_:/ ]/g;

/** Every spelling of a network, in small letters: a word for the chain, one for the network, `-` between them. */
function spellingsOf({ chain, network, ticker, code }: ChainNetwork): string[] {
  const alone = network === 'mainnet' ? [chain, ticker] : [];
  const words = [chain, ticker, code].map((word) => `${word}-${network}`);
  return [...new Set([...alone, code, ...words].map((spelling) => spelling.toLowerCase()))];
}

const BY_SPELLING: ReadonlyMap<string, ChainNetwork> = new Map(
  CHAIN_NETWORKS.flatMap((row) => spellingsOf(row).map((spelling) => [spelling, row] as const))
);

/**
 * The network that a text names, in any case: `bitcoin-mainnet`, `BTC:mainnet`, `BTC_Mainnet`, `bitcoin/mainnet`, or by its
 * public code `BTC`, `TBTC`, `RBTC`. A chain alone (`bitcoin`) is its mainnet. Undefined for any other text.
 */
export function findNetwork(spelling: string): ChainNetwork | undefined {
  return BY_SPELLING.get(spelling.trim().toLowerCase().replaceAll(SEPARATOR, '-'));
}

/** The same for a setting. @throws {Error} whose message lists the networks that are known */
export function readNetwork(spelling: string): ChainNetwork {
  const found = findNetwork(spelling);
  if (found) return found;
  const known = CHAIN_NETWORKS.map(({ name, code }) => `${name} (${code})`).join(', ');
  throw new Error(`must be one of ${known}`);
}

/** Chain and network as two words. */
export interface NetworkWords {
  readonly chain: string;
  readonly network: string;
}

/**
 * True when both mean the same network: by the registry, so that `BTC` is `bitcoin`. Names that it does not know are the same
 * when they differ in case only.
 */
export function sameNetwork(a: NetworkWords, b: NetworkWords): boolean {
  return networkKey(a) === networkKey(b);
}

/** One text for all spellings of a network, to compare with. */
export function networkKey({ chain, network }: NetworkWords): string {
  const { chain: fullName = chain } = findNetwork(`${chain}/mainnet`) ?? {};
  return findNetwork(`${chain}/${network}`)?.name ?? `${fullName}/${network}`.toLowerCase();
}

/** `Platform_LTC_Regtest_Decoder`. @see the section "Decoder database" of the specification */
export function databaseName({ ticker, network }: ChainNetwork, component: 'Decoder' | 'Indexer' | 'Tracker'): string {
  return `Platform_${ticker}_${network[0]!.toUpperCase()}${network.slice(1)}_${component}`;
}
