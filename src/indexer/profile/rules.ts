import { LRUCache } from 'lru-cache';
import { CHAINS, type ChainNetwork, chainNetwork } from '../../coin/chains.ts';
import { type Limits, NO_LIMITS } from '../../coin/limits.ts';
import { activationHeight, type Profile, ROLES } from '../../coin/profile.ts';
import { canonicalAddress, isAddress } from '../../coin/script/address.ts';
import { CommitmentHashes } from '../../consensus/commitment-hashes.ts';
import type { Spelling } from '../state/offer.ts';
import type { GasRules } from './gas.ts';

/** Rules on which all indexers of one network agree, beside the actions themselves. */
export interface Rules {
  /** Ticker of the chain's own coin, as `BTC`. */
  readonly coin: string;
  readonly isRegtest: boolean;
  /** Least amount of the chain's coin, in 10^-18, that can be paid to any address. */
  readonly leastPayment: bigint;
  /** Ticker of the token in which fees are counted. */
  readonly gasTick: string;
  /** The only address that may issue the gas token. Where it is undefined, nobody may, except on regtest. */
  readonly gasIssuer: string | undefined;
  /** Address from which COLLECT takes rewards; undefined where there is none. */
  readonly rewardPool: string | undefined;
  /** Blocks until a stake or key begins or ceases to count. */
  readonly stakeDelay: number;
  /** Blocks until the units of a stake come back. */
  readonly unstakeCooldown: number;
  /** Names that replace well-known addresses in hashed rows, by address. */
  readonly roles: ReadonlyMap<string, string>;
  /** Hash functions of the roots over blocks. */
  readonly hashes: CommitmentHashes;
  /** Prices of gas. */
  readonly fees: GasRules;
  /** Limits in a block of this height. */
  readonly limitsAt: (height: number) => Limits;
  /** Whether an action counts in a block of this height. */
  readonly isActive: (action: string, height: number) => boolean;
  /** Address of a coin's network as a block of this height writes it; undefined for any other text. */
  readonly readAddress: (text: string, coin: string, height: number) => string | undefined;
}

/** A satoshi in 10^-18 of a coin. */
const SATOSHI = 10n ** 10n;
const MAX_REMEMBERED = 5_000;
/** Cache value of a text that is no address: the cache keeps no undefined. */
const NONE = '';
/** Characters of the longest address. */
const LONGEST_REMEMBERED = 90;

/** Coins that an action may name. */
export const COINS: ReadonlySet<string> = new Set(CHAINS.map((chain) => chainNetwork(chain, 'mainnet').ticker));

/**
 * Symbols of coins whose chains may come later: no new token takes one. Those of fewer than four characters would be
 * too short anyway; their status says that they are reserved.
 */
export const FUTURE_COINS: ReadonlySet<string> = new Set(
  [
    'ADA ALGO APT ARB ATOM AVAX BASE BCH BNB BSV BTG CRO DASH DGB DOT EOS ETC ETH FIL FIRO GRS HBAR HOOD HYPE ICP INJ KAS',
    'MNT NEAR NEO NMC OP POL PPC RVN SEI SOL STX SUI TIA TON TRX VET VTC XCP XDP XEC XLM XMR XRP XTZ ZEC ZK'
  ].flatMap((line) => line.split(' '))
);

/** Currencies that a dispenser may name. */
export const FIATS: ReadonlySet<string> = new Set('AUD BRL CAD CHF CNY EUR GBP INR JPY KRW MXN USD'.split(' '));

/** Returns the rules of a deployment's profile for one network. @param domain COMMITMENT_DOMAIN */
export function rulesOf(profile: Profile, network: ChainNetwork, domain: string): Rules {
  const roles = profile.roles[network.name] ?? {};
  const canonicalHeight = activationHeight(profile, network, 'CANONICAL_ADDRESSES');
  const readers = new Map(
    CHAINS.map((chain) => chainNetwork(chain, network.network)).map(({ ticker, addresses }) => [
      ticker,
      {
        asWritten: remembering((text) => (isAddress(text, addresses) ? text : undefined)),
        canonical: remembering((text) => canonicalAddress(text, addresses))
      }
    ])
  );
  return {
    coin: network.ticker,
    isRegtest: network.network === 'regtest',
    leastPayment: BigInt(network.leastPayment) * SATOSHI,
    gasTick: profile.gasTick,
    gasIssuer: roles.GAS,
    rewardPool: roles.REWARD,
    stakeDelay: profile.stakeDelays[network.name] ?? network.activationDelayBlocks,
    unstakeCooldown: network.unstakeCooldownBlocks,
    hashes: new CommitmentHashes(domain),
    roles: new Map(ROLES.flatMap((role) => (roles[role] === undefined ? [] : [[roles[role], role] as const]))),
    fees: {
      gas: profile.gas,
      price: profile.gasPrice,
      destination: roles.FEE_DESTINATION,
      donation: roles.DONATE1
    },
    limitsAt: (height) => (height >= activationHeight(profile, network, 'LIMITS') ? profile.limits : NO_LIMITS),
    isActive: (action, height) => height >= activationHeight(profile, network, action),
    readAddress: (text, coin, height) =>
      readers.get(coin)?.[height >= canonicalHeight ? 'canonical' : 'asWritten'](text)
  };
}

/**
 * Returns the spelling of addresses that counts in a block of a height; undefined where each counts as it is written.
 */
export function spellingAt({ isActive, readAddress, coin }: Rules, height: number): Spelling | undefined {
  if (!isActive('CANONICAL_ADDRESSES', height)) return undefined;
  return (address) => readAddress(address, coin, height) ?? address;
}

/**
 * Caches a reader of addresses. A rule asks for an address several times, and its checksum costs more than the rest of
 * the reading.
 */
function remembering(read: (text: string) => string | undefined): (text: string) => string | undefined {
  const known = new LRUCache<string, string>({ max: MAX_REMEMBERED });
  return (text) => {
    if (text.length > LONGEST_REMEMBERED) return read(text);
    const found = known.get(text) ?? read(text) ?? NONE;
    known.set(text, found);
    return found === NONE ? undefined : found;
  };
}
