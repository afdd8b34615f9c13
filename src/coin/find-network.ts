import { CHAIN_NETWORKS, type ChainNetwork } from './chains.ts';

/** Separators between chain and network. Spellings are looked up with `-` in their place. */
const SEPARATOR = /[-_:/ ]/g;

/** Returns every spelling of a network in lower case, with `-` between chain and network. */
function spellingsOf({ chain, network, ticker, code }: ChainNetwork): string[] {
  const alone = network === 'mainnet' ? [chain, ticker] : [];
  const words = [chain, ticker, code].map((word) => `${word}-${network}`);
  return [...new Set([...alone, code, ...words].map((spelling) => spelling.toLowerCase()))];
}

const BY_SPELLING: ReadonlyMap<string, ChainNetwork> = new Map(
  CHAIN_NETWORKS.flatMap((row) => spellingsOf(row).map((spelling) => [spelling, row] as const))
);

/**
 * Returns the network that a text names, in any case: `bitcoin-mainnet`, `BTC:mainnet`, `BTC_Mainnet`,
 * `bitcoin/mainnet`, or a public code `BTC`, `TBTC`, `RBTC`. A chain alone means its mainnet. Undefined for any other
 * text.
 */
export function findNetwork(spelling: string): ChainNetwork | undefined {
  return BY_SPELLING.get(spelling.trim().toLowerCase().replaceAll(SEPARATOR, '-'));
}

/** Reads the network of a setting. @throws {Error} whose message lists the known networks */
export function readNetwork(spelling: string): ChainNetwork {
  const found = findNetwork(spelling);
  if (found) return found;
  const known = CHAIN_NETWORKS.map(({ name, code }) => `${name} (${code})`).join(', ');
  throw new Error(`must be one of ${known}`);
}

/** Chain and network in any spelling. */
interface NetworkWords {
  readonly chain: string;
  readonly network: string;
}

/**
 * Returns whether both name the same network: `BTC` is `bitcoin`. Unknown names are compared without regard to case.
 */
export function sameNetwork(a: NetworkWords, b: NetworkWords): boolean {
  return networkKey(a) === networkKey(b);
}

/** Returns one text for all spellings of a network. */
export function networkKey({ chain, network }: NetworkWords): string {
  const { chain: fullName = chain } = findNetwork(`${chain}/mainnet`) ?? {};
  return findNetwork(`${chain}/${network}`)?.name ?? `${fullName}/${network}`.toLowerCase();
}

/**
 * Returns the usual name of a database, such as `Platform_LTC_Regtest_Decoder`. @see the section "Decoder database" of
 * the specification
 */
export function databaseName({ ticker, network }: ChainNetwork, component: 'Decoder' | 'Indexer' | 'Tracker'): string {
  return `Platform_${ticker}_${network[0]!.toUpperCase()}${network.slice(1)}_${component}`;
}
