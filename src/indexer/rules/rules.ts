import { LRUCache } from 'lru-cache';
import { CHAINS, type ChainNetwork, chainNetwork } from '../../coin/chains.ts';
import { activationHeight, type Profile, ROLES } from '../../coin/profile.ts';
import { isAddress } from '../../coin/script/address.ts';
import { CommitmentHashes } from '../../consensus/commitment-hashes.ts';

/** What all indexers of one network agree on, beside the actions themselves. */
export interface Rules {
  /** `BTC`: the chain's own coin. */
  readonly coin: string;
  readonly isRegtest: boolean;
  /** The token that fees are counted in. */
  readonly gasTick: string;
  /** The one address that may issue the gas token; undefined where nobody may but on regtest. */
  readonly gasIssuer: string | undefined;
  /** Where COLLECT takes rewards from; undefined where there is no such address. */
  readonly rewardPool: string | undefined;
  /** Blocks until a stake or key begins or ends to count. */
  readonly stakeDelay: number;
  /** Blocks until the units of a stake come back. */
  readonly unstakeCooldown: number;
  /** Names that stand for well-known addresses in hashed rows, by address. */
  readonly roles: ReadonlyMap<string, string>;
  /** Hashes of the roots over blocks. */
  readonly hashes: CommitmentHashes;
  /** Whether an action counts in a block of this height. */
  readonly isActive: (action: string, height: number) => boolean;
  /** Whether a text is an address of a coin's network. */
  readonly isAddress: (text: string, coin: string) => boolean;
}

const MAX_REMEMBERED = 5_000;
/** Characters of the longest address. */
const LONGEST_REMEMBERED = 90;

/** Coins that an action may name. */
export const COINS: ReadonlySet<string> = new Set(CHAINS.map((chain) => chainNetwork(chain, 'mainnet').ticker));

/** Currencies that a dispenser may name. */
export const FIATS: ReadonlySet<string> = new Set(
  'AUD BRL CAD CHF CNY EUR GBP HKD INR JPY KRW MXN NOK NZD PLN RUB SEK SGD TRY USD ZAR'.split(' ')
);

/** What a deployment's profile means for one network. @param domain  COMMITMENT_DOMAIN */
export function rulesOf(profile: Profile, network: ChainNetwork, domain: string): Rules {
  const roles = profile.roles[network.name] ?? {};
  const ofCoin = new Map(
    CHAINS.map((chain) => chainNetwork(chain, network.network)).map(({ ticker, addresses }) => {
      /** A rule asks for an address several times, and its checksum costs more than all else that is read of it. */
      const checked = new LRUCache<string, boolean>({ max: MAX_REMEMBERED });
      return [ticker, { addresses, checked }];
    })
  );
  return {
    coin: network.ticker,
    isRegtest: network.network === 'regtest',
    gasTick: profile.gasTick,
    gasIssuer: roles.GAS,
    rewardPool: roles.REWARD,
    stakeDelay: profile.stakeDelays[network.name] ?? network.activationDelayBlocks,
    unstakeCooldown: network.unstakeCooldownBlocks,
    hashes: new CommitmentHashes(domain),
    roles: new Map(ROLES.flatMap((role) => (roles[role] === undefined ? [] : [[roles[role], role] as const]))),
    isActive: (action, height) => height >= activationHeight(profile, network, action),
    isAddress: (text, coin) => {
      const its = ofCoin.get(coin);
      if (!its) return false;
      if (text.length > LONGEST_REMEMBERED) return isAddress(text, its.addresses);
      const known = its.checked.get(text);
      if (known !== undefined) return known;
      const found = isAddress(text, its.addresses);
      its.checked.set(text, found);
      return found;
    }
  };
}
