import Type, { type Static } from 'typebox';
import { ByName } from '../wire/by-name.ts';
import { shapeOf } from '../wire/data/shape.ts';
import { OrNull } from '../wire/or-null.ts';
import { ACTIONS } from './action/names.ts';
import { CHAIN_NETWORKS, CHAINS, type ChainNetwork, chainNetwork } from './chains.ts';
import { readNetwork } from './find-network.ts';
import { DEFAULT_LIMITS, LIMITS, type Limits } from './limits.ts';
import { canonicalAddress } from './script/address.ts';

/** Items that cost gas. */
export const GAS_ITEMS = [
  'issue',
  'issueSubtoken',
  'recipient',
  'item',
  'sweep',
  'callback',
  'offerDay',
  'offerOwnership',
  'listShare',
  'listEdit',
  'listItem'
] as const;
/** A name of `GAS_ITEMS`. */
export type GasItem = (typeof GAS_ITEMS)[number];

/** Roles of addresses in the rules. Hashed rows hold the role in place of the address. */
export const ROLES = ['BURN', 'GAS', 'DONATE1', 'DONATE2', 'FEE_DESTINATION', 'REWARD'] as const;
type Role = (typeof ROLES)[number];

/** Safety rules that other ledgers lack. docs/actions.md gives the reason for each. */
const SAFETY_RULES = [
  ...(['CANONICAL_ADDRESSES', 'DISPENSER_LIMITS', 'DISPENSER_NOTICE', 'EXACT_AMOUNTS', 'FAIR_FILLS'] as const),
  ...(['LOCKED_CAPS', 'KEPT_TERMS', 'UNPAID_ENDS', 'UNPAID_DUST', 'PAID_EDITS', 'LIMITS'] as const)
] as const;

/** Decoder rules about the signer of an action. docs/operating/decoder.md gives the reason for each. */
const SIGNER_RULES = ['REVEAL_KEY_CHECK', 'SIGNATURE_CHECK'] as const;

/**
 * Rules with an activation height that are not actions: payloads in taproot scripts, signer rules, one reveal per fee,
 * aliases in a BATCH, ids of tickers without a token, dispensers priced in a currency, and safety rules.
 */
export const FEATURES = [
  'TAPROOT_ENVELOPE',
  'BATCH_ALIASES',
  'REFUSED_TICKERS',
  'FEE_ONCE',
  'FIAT_DISPENSERS',
  ...SIGNER_RULES,
  ...SAFETY_RULES
] as const;

/**
 * Decisions of a deployment on which all its services must agree: where two differ, their databases differ.
 *
 * Plain data, so that it can be sent to a thread.
 */
export interface Profile {
  readonly name: string;
  /** Four ASCII characters in front of every payload. */
  readonly payloadMagic: string;
  /** Token in which fees are counted. */
  readonly gasTick: string;
  /** Price of one gas in `gasTick`, a decimal. */
  readonly gasPrice: string;
  /** Gas that each item costs. */
  readonly gas: Readonly<Record<GasItem, number>>;
  /** Limits on the work that an action or a block may cause. */
  readonly limits: Limits;
  /** Role addresses by the name of the network. A role without an address is unused there. */
  readonly roles: Readonly<Record<string, Readonly<Partial<Record<Role, string>>>>>;
  /** Blocks until a stake counts, by the name of the network; the default is the chain's. */
  readonly stakeDelays: Readonly<Record<string, number>>;
  /** First block in which an action or feature is valid, by its name; null for never. */
  readonly activations: Readonly<Record<string, ActivationHeight>>;
}

/** One height for all networks, or one for each by name. Null, and networks that are not named, mean never. */
type ActivationHeight = number | null | Readonly<Record<string, number | null>>;

const BUILT =
  'ADDRESS AIRDROP BATCH BROADCAST CALLBACK COINPAY COLLECT DELEGATE DESTROY DISPENSER DIVIDEND FILE ISSUE LINK LIST MESSAGE MINT ORDER SEND SLEEP STAKE SWAP SWEEP UNSTAKE';

/**
 * Actions that were added after chains had been indexed without them: active on regtest, elsewhere when a profile says
 * so.
 */
const BUILT_LATER = 'ATTEST PRICE SLASH VOTE';
const REGTEST_ONLY: ActivationHeight = Object.fromEntries(
  CHAINS.map((chain) => [chainNetwork(chain, 'regtest').name, 0])
);

/** Active on test networks only: deployed ledgers have not begun this rule on their main networks. */
const TEST_NETWORKS: ActivationHeight = Object.fromEntries(
  CHAIN_NETWORKS.flatMap(({ name, network }) => (network === 'mainnet' ? [] : [[name, 0] as const]))
);

/**
 * First blocks of rules that other indexers lack. On main networks they begin early in 2027, so that all indexers of
 * one ledger can add them in time.
 */
const SAFETY_FROM: ActivationHeight = {
  ...Object.fromEntries(CHAIN_NETWORKS.map(({ name }) => [name, 0])),
  'bitcoin-mainnet': 990_000,
  'litecoin-mainnet': 3_270_000,
  'dogecoin-mainnet': 6_700_000
};

/** Profile unless PLATFORM_PROFILE names another: no fees, no role addresses. */
export const DEFAULT_PROFILE: Profile = {
  name: 'default',
  payloadMagic: 'PNOD',
  gasTick: 'GAS',
  gasPrice: '0.00001',
  gas: Object.fromEntries(GAS_ITEMS.map((item) => [item, 0])) as Record<GasItem, number>,
  limits: DEFAULT_LIMITS,
  roles: {},
  stakeDelays: {},
  activations: Object.fromEntries([
    ...BUILT.split(' ').map((action) => [action, 0] as const),
    ...BUILT_LATER.split(' ').map((action) => [action, REGTEST_ONLY] as const),
    ['BATCH_ALIASES', TEST_NETWORKS] as const,
    ...SAFETY_RULES.map((rule) => [rule, SAFETY_FROM] as const),
    ['REFUSED_TICKERS', 0] as const,
    ['FIAT_DISPENSERS', { 'bitcoin-regtest': 0 }] as const,
    ['FEE_ONCE', SAFETY_FROM] as const,
    ...SIGNER_RULES.map((rule) => [rule, 0] as const)
  ])
};

const HeightSchema = OrNull(Type.Integer({ minimum: 0, maximum: 2 ** 32 - 1 }));
const closed = { additionalProperties: false } as const;
const ProfileSchema = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 64 }),
    payloadMagic: Type.Optional(Type.String({ pattern: '^[\\x21-\\x7e]{4}$' })),
    gasTick: Type.Optional(Type.String({ minLength: 1, maxLength: 250 })),
    gasPrice: Type.Optional(Type.String({ pattern: '^[0-9]{1,18}(?:\\.[0-9]{1,18})?$' })),
    gas: Type.Optional(
      Type.Partial(
        Type.Object(
          Object.fromEntries(GAS_ITEMS.map((item) => [item, Type.Integer({ minimum: 0, maximum: 1e9 })])),
          closed
        ),
        closed
      )
    ),
    limits: Type.Optional(
      Type.Partial(
        Type.Object(
          Object.fromEntries(LIMITS.map((name) => [name, Type.Integer({ minimum: 1, maximum: 1e9 })])),
          closed
        ),
        closed
      )
    ),
    roles: Type.Optional(
      ByName(
        Type.Partial(
          Type.Object(
            Object.fromEntries(ROLES.map((role) => [role, Type.String({ minLength: 1, maxLength: 120 })])),
            closed
          ),
          closed
        )
      )
    ),
    stakeDelays: Type.Optional(ByName(Type.Integer({ minimum: 1, maximum: 1e6 }))),
    activations: Type.Optional(ByName(Type.Union([HeightSchema, ByName(HeightSchema)])))
  },
  closed
);
const profileChecker = shapeOf(ProfileSchema);

/**
 * Reads a profile from the JSON of its file. Missing fields have their default; networks may have any spelling.
 *
 * @throws {Error} whose message names the place and the reason
 */
export function readProfile(value: unknown): Profile {
  if (!profileChecker.Check(value)) {
    const [fault] = profileChecker.Errors(value);
    // The checker reports an additional field as one whose schema is `false`.
    const reason = fault?.keyword === 'boolean' ? 'is not known' : fault?.message;
    throw new Error(`must be a profile; ${fault?.instancePath || 'it'} ${reason}`);
  }
  const { gas, limits, roles = {}, stakeDelays = {}, activations = {}, ...plain }: Static<typeof ProfileSchema> = value;
  return {
    ...DEFAULT_PROFILE,
    ...plain,
    gas: { ...DEFAULT_PROFILE.gas, ...gas },
    limits: { ...DEFAULT_PROFILE.limits, ...limits },
    roles: canonicalRoles(byNetworkName(roles, '/roles')),
    stakeDelays: byNetworkName(stakeDelays, '/stakeDelays'),
    activations: {
      ...DEFAULT_PROFILE.activations,
      ...Object.fromEntries(Object.entries(activations).map(([name, height]) => [name, readActivation(name, height)]))
    }
  };
}

/** Converts role addresses to the ledger's spelling. */
function canonicalRoles(roles: Profile['roles']): Profile['roles'] {
  const canonical = (name: string, address: string) =>
    canonicalAddress(address, readNetwork(name).addresses) ?? address;
  return Object.fromEntries(
    Object.entries(roles).map(([name, own]) => [
      name,
      Object.fromEntries(Object.entries(own).map(([role, address]) => [role, canonical(name, address)]))
    ])
  );
}

function readActivation(name: string, height: ActivationHeight): ActivationHeight {
  if (!ACTIONS.has(name) && !FEATURES.some((feature) => feature === name))
    throw new Error(`must be a profile; /activations/${name} is no action or feature`);
  return typeof height === 'object' && height !== null ? byNetworkName(height, `/activations/${name}`) : height;
}

function byNetworkName<T>(spelled: Readonly<Record<string, T>>, place: string): Record<string, T> {
  const entries = Object.entries(spelled).map(([spelling, value]) => {
    try {
      return [readNetwork(spelling).name, value] as const;
    } catch (caught) {
      throw new Error(`must be a profile; the network ${place}/${spelling} ${(caught as Error).message}`);
    }
  });
  return Object.fromEntries(entries);
}

/** Returns the first block of a network in which an action or feature is valid; Infinity for never. */
export function activationHeight({ activations }: Profile, { name }: ChainNetwork, actionOrFeature: string): number {
  const height = Object.hasOwn(activations, actionOrFeature) ? activations[actionOrFeature] : null;
  return (typeof height === 'object' ? height?.[name] : height) ?? Number.POSITIVE_INFINITY;
}

/**
 * Returns the first block of a network in which an encoder may put payloads into taproot scripts. Where taproot does not count,
 * anybody could spend the outputs that hold them, whatever the profile says.
 */
export function envelopeHeight(profile: Profile, network: ChainNetwork): number {
  if (network.addresses.bech32 === null) return Number.POSITIVE_INFINITY;
  return Math.max(activationHeight(profile, network, 'TAPROOT_ENVELOPE'), network.taprootHeight ?? 0);
}
