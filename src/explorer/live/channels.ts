/** Channels that a client may follow. */
export const CHANNELS = [
  'blocks',
  'actions',
  'mempool',
  'network',
  'attestation',
  'address',
  'token',
  'market',
  'dispenser',
  'bet_feed'
] as const;

/** Kinds of actions, and what becomes of them, by which a client may narrow a channel. */
export const TYPES = [
  'ORDER',
  'ORDER_MATCH',
  'ORDER_EXPIRE',
  'COINPAY',
  'COINPAY_EXPIRE',
  'SWAP',
  'SWAP_MATCH',
  'SWAP_EXPIRE',
  'DISPENSER',
  'DISPENSE',
  'DISPENSER_CLOSE',
  'DISPENSER_EXPIRE',
  'SEND',
  'SWEEP',
  'AIRDROP',
  'DIVIDEND',
  'ISSUE',
  'MINT',
  'DESTROY',
  'BROADCAST',
  'CALLBACK',
  'FILE',
  'MESSAGE',
  'LIST',
  'LINK',
  'SLEEP',
  'DEPLOY',
  'EXECUTE',
  'DEPOSIT',
  'WITHDRAW',
  'STAKE',
  'UNSTAKE',
  'DELEGATE',
  'COLLECT',
  'ATTEST',
  'BET',
  'BET_EXPIRE',
  'PRICE',
  'ANCHOR',
  'XCALL',
  'NODEPROOF',
  'COINPAY_REQUIRED',
  'COINPAY_FULFILLED',
  'COINPAY_EXPIRED',
  'ORDER_EXPIRED',
  'SWAP_EXPIRED',
  'DISPENSER_CLOSED',
  'DISPENSER_EXPIRED',
  'BET_EXPIRED',
  'BET_CLOSED',
  'ATTESTATION_REQUEST',
  'ATTESTATION_RESPONSE'
] as const;

/** A client's request that cannot be meant. */
export class ChannelFault extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Filters of a subscription. */
interface Filters {
  readonly types: readonly string[] | null;
  readonly fields: readonly string[] | null;
  readonly once: boolean;
}

/** One channel that a client follows. */
export interface Subscription {
  readonly channel: string;
  /** Subject, under the names that frames have; empty: everything. */
  readonly about: Readonly<Record<string, string>>;
  readonly filters: Filters;
  /** Tells it from the other ones of its client. */
  readonly key: string;
}

/** Params that name what a channel is about: one, or several under the name in the plural. */
const ABOUT: Readonly<Record<string, readonly [one: string, several: string]>> = {
  address: ['address', 'addresses'],
  token: ['tick', 'ticks'],
  dispenser: ['action_index', 'action_indexes'],
  bet_feed: ['action_index', 'action_indexes']
};
const MAX_LETTERS = 250;

type Params = Readonly<Record<string, unknown>>;

/**
 * Reads the subscriptions that a message ends: those that it names, and of a channel without a subject all that are
 * followed.
 *
 * @throws {ChannelFault} as `readSubscriptions` does
 */
export function readEnded(message: Params, followed: readonly Subscription[]): readonly Subscription[] {
  const { channels, params } = message;
  if (!Array.isArray(channels)) return readSubscriptions(message);
  const given = Object(params) as Params;
  const isNamed = NAMING.some((name) => (given[name] ?? null) !== null);
  return channels.flatMap((channel: unknown) => {
    const all = followed.filter((each) => each.channel === channel);
    return isNamed || all.length === 0 ? readSubscriptions({ channels: [channel], params }) : all;
  });
}

/** Reads the subscriptions that a message names, each once. @throws {ChannelFault} INVALID_CHANNEL, INVALID_TYPE, INVALID_PARAMS */
export function readSubscriptions({ channels, params }: Params): readonly Subscription[] {
  if (!Array.isArray(channels) || channels.length === 0)
    throw new ChannelFault('INVALID_PARAMS', 'send channels, a list of names');
  const given = typeof params === 'object' && params !== null ? (params as Params) : {};
  const filters = readFilters(given);
  const named = channels.flatMap((channel: unknown) => {
    if (typeof channel !== 'string' || !(CHANNELS as readonly string[]).includes(channel))
      throw new ChannelFault('INVALID_CHANNEL', `there is no channel ${JSON.stringify(channel)?.slice(0, 80)}`);
    return subjectsOf(channel, given).map((about) => ({
      channel,
      about,
      filters,
      key: JSON.stringify([channel, about])
    }));
  });
  return [...new Map(named.map((each) => [each.key, each])).values()];
}

/** Params that name what channels are about, and those that narrow what some channels send. */
const NAMING = ['address', 'addresses', 'tick', 'ticks', 'tick1', 'tick2', 'pairs', 'action_index', 'action_indexes'];
const NARROWING = [...NAMING, 'statuses', 'types'];
/** Channels without a subject that `types` narrows. */
const OF_TYPES: readonly string[] = ['actions', 'mempool'];

/** Returns the names of the params that were sent and change nothing in a channel that is about all. */
export function ignoredFilters(channel: string, params: unknown): readonly string[] {
  const given = Object(params) as Params;
  const isUsed = (name: string) => name === 'types' && OF_TYPES.includes(channel);
  return NARROWING.filter((name) => (given[name] ?? null) !== null && !isUsed(name));
}

function readFilters({ types, fields, once }: Params): Filters {
  const words = (value: unknown, name: string): readonly string[] | null => {
    if (value === undefined || value === null) return null;
    if (Array.isArray(value) && value.length === 0) return null; // as clients send it that choose nothing
    if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value;
    throw new ChannelFault('INVALID_PARAMS', `${name} must be a list of texts`);
  };
  const wanted = words(types, 'types');
  const unknown = wanted?.find((type) => !(TYPES as readonly string[]).includes(type));
  if (unknown !== undefined) throw new ChannelFault('INVALID_TYPE', `there is no type ${unknown.slice(0, 80)}`);
  return { types: wanted, fields: words(fields, 'fields'), once: once === true };
}

/** Returns the subjects that params name: one entry for each subscription. */
function subjectsOf(channel: string, params: Params): readonly Readonly<Record<string, string>>[] {
  if (channel === 'market') return pairsOf(params);
  const names = ABOUT[channel];
  if (!names) return [{}];
  const [one, several] = names;
  const found = [params[one] ?? [], params[several] ?? []].flat().map((value) => textOf(value, one));
  if (found.length === 0) throw new ChannelFault('INVALID_PARAMS', `${channel} needs ${one} or ${several}`);
  return [...new Set(found)].map((value) => ({ [one]: value }));
}

function pairsOf({ tick1, tick2, pairs = [] }: Params): readonly Readonly<Record<string, string>>[] {
  const named = (tick1 ?? null) === null ? [] : [[tick1, tick2]];
  const found = [...named, ...(Array.isArray(pairs) ? (pairs as unknown[]) : [])].map((pair) => {
    const [a, b] = Array.isArray(pair)
      ? (pair as unknown[])
      : [(Object(pair) as Params)['tick1'], (Object(pair) as Params)['tick2']];
    return { tick1: textOf(a, 'tick1'), tick2: textOf(b, 'tick2') };
  });
  if (found.length === 0) throw new ChannelFault('INVALID_PARAMS', 'market needs tick1 and tick2, or pairs');
  return found;
}

function textOf(value: unknown, name: string): string {
  const text = typeof value === 'number' ? String(value) : value;
  const isIndex = name === 'action_index';
  const isGood =
    typeof text === 'string' &&
    text.length > 0 &&
    text.length <= MAX_LETTERS &&
    (!isIndex || /^(?:0|[1-9]\d{0,14})$/.test(text));
  if (isGood) return text;
  throw new ChannelFault(
    'INVALID_PARAMS',
    `${name} must be ${isIndex ? 'an action index' : `a text of 1 to ${MAX_LETTERS} letters`}`
  );
}
