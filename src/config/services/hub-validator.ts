import { CAPABILITIES } from '../../coin/capabilities.ts';
import { CHAINS, chainNetwork } from '../../coin/chains.ts';
import { isSigningKey } from '../../coin/signing-key.ts';
import { readJsonFile } from '../json-file.ts';
import { integer, list, parsed, port, readBaseUrl, text, type Values } from '../variables.ts';

/** Hubs of operators who keep one configuration. All of them have the same file. */
export interface Federation {
  readonly members: readonly { readonly pubkey: string; readonly addr: string }[];
  /** Votes that decide. @see HubSet */
  readonly quorum: 'specified' | 'byzantine';
  /** Number of the set's log, where it is not the first one of these members. @see HubSet */
  readonly log?: number;
}

const MOST_MEMBERS = 64;

/** Reads a set of hubs. @throws {Error} whose message names the place and the reason */
export function readFederation(value: unknown): Federation {
  const { members, quorum = 'specified', log = 1, ...others } = fieldsOf(value, 'it');
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw new Error(`must have the fields members, quorum and log alone, not "${unknown}"`);
  if (quorum !== 'specified' && quorum !== 'byzantine')
    throw new Error('must have the quorum "specified" or "byzantine"');
  if (!Number.isSafeInteger(log) || (log as number) < 1) throw new Error('must have a whole number above 0 as its log');
  if (!Array.isArray(members) || members.length === 0 || members.length > MOST_MEMBERS)
    throw new Error(`must name 1 to ${MOST_MEMBERS} members`);
  const read = members.map((member: unknown, at) => {
    const place = `/members/${at}`;
    const { pubkey, addr, ...more } = fieldsOf(member, place);
    if (typeof pubkey !== 'string' || !isSigningKey(pubkey)) throw new Error(`has no Ed25519 key at ${place}/pubkey`);
    if (typeof addr !== 'string' || Object.keys(more).length > 0)
      throw new Error(`must have pubkey and addr at ${place}, and nothing else`);
    return { pubkey: pubkey.toLowerCase(), addr: readAddress(addr) };
  });
  for (const field of ['pubkey', 'addr'] as const)
    if (new Set(read.map((member) => member[field])).size < read.length)
      throw new Error(`must name each member once: two have the same ${field}`);
  return { members: read, quorum, ...(log !== 1 && { log: log as number }) };
}

function fieldsOf(value: unknown, place: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new Error(`must be an object at ${place}`);
}

function readSeed(value: string): string {
  if (!/^[0-9a-f]{64}$/i.test(value)) throw new Error('must be 64 hexadecimal digits');
  return value.toLowerCase();
}

/** Returns the address of a hub as others dial it. */
function readAddress(entry: string): string {
  const [, scheme = 'ws://', host, port] =
    /^(wss?:\/\/)?([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\]):(\d{1,5})$/.exec(entry) ?? [];
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535)
    throw new Error(`must be host:port, ws://host:port or wss://host:port, not "${entry}"`);
  return `${scheme}${host}:${Number(port)}`;
}

function readKey(entry: string): string {
  if (!isSigningKey(entry)) throw new Error(`must list Ed25519 keys of 64 hexadecimal digits, not "${entry}"`);
  return entry.toLowerCase();
}

/** A service of one chain that this hub's operator trusts. */
export interface ChainService {
  /** `BTC`. */
  readonly chain: string;
  /** Base URL without an account and a slash at its end. */
  readonly url: string;
  readonly user: string;
  readonly password: string;
}

const TICKERS = CHAINS.map((chain) => chainNetwork(chain, 'mainnet').ticker);

/** Returns the service that `BTC=http://user:password@host:port` names. @throws {Error} whose message has no password */
function readChainService(entry: string): ChainService {
  const [, chain = '', text = ''] = /^([A-Z]+)=(.+)$/.exec(entry) ?? [];
  const url = URL.canParse(text) ? new URL(text) : null;
  const isBase = url !== null && ['http:', 'https:'].includes(url.protocol) && url.search === '' && url.hash === '';
  if (!isBase || !TICKERS.some((ticker) => ticker === chain))
    throw new Error(`must list services such as BTC=http://host:port, each of one of ${TICKERS.join(', ')}`);
  return {
    chain,
    url: `${url.origin}${url.pathname.replace(/\/+$/, '')}`,
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password)
  };
}

const showServices = (services: readonly ChainService[] | undefined): string =>
  (services ?? []).map(({ chain, url }) => `${chain}=${url}`).join(', ');

function readCapabilityName(entry: string): string {
  if (!CAPABILITIES.some((name) => name === entry))
    throw new Error(`must list some of ${CAPABILITIES.join(', ')}, not "${entry}"`);
  return entry;
}

function readProgram(path: string): string {
  if (!path.startsWith('/')) throw new Error(`must be the path of a program from the root, not "${path}"`);
  return path;
}

/** Settings that validator mode alone reads. */
export const validatorVariables = {
  P2P_VALIDATOR_ADDR: parsed(readAddress, {
    doc: 'turns validator mode on: address at which other hubs of HUB_FEDERATION reach this one; unset: standalone',
    example: 'wss://hub1.example:10001',
    essential: true
  }),
  HUB_FEDERATION: parsed((path) => readFederation(readJsonFile(path)), {
    doc: 'JSON file with the set of hubs, the same at each: {"members":[{"pubkey","addr"}],"quorum":"specified" or "byzantine"}, and "log":2 where the same members begin a second log; unset: this hub alone, which writes directly',
    example: '/etc/platform-node/federation.json',
    show: (federation) => (federation ? `${federation.members.length} members` : '')
  }),
  SIGNING_PRIVKEY_HEX: parsed(readSeed, {
    doc: 'seed of the Ed25519 key with which this hub signs, 64 hexadecimal digits; needed in validator mode',
    secret: true
  }),
  P2P_PORT: port({ default: 10_001, doc: 'port for other hubs of the set' }),
  SEED_NODES: list(readAddress, {
    doc: 'addresses of hubs to connect to, beside those of HUB_FEDERATION',
    example: 'v1.example:10001,v2.example:10001'
  }),
  P2P_DENY_PUBKEYS: list(readKey, { doc: 'keys of members that this hub does not talk to', example: 'ab'.repeat(32) }),
  P2P_RECONNECT_BASE: integer({
    default: 2_000,
    min: 10,
    max: 3_600_000,
    doc: 'ms of the first pause between attempts to connect'
  }),
  P2P_RECONNECT_MAX: integer({
    default: 60_000,
    min: 10,
    max: 3_600_000,
    doc: 'ms of the longest pause between attempts to connect'
  }),
  CONSENSUS_WRITE_TIMEOUT: integer({
    default: 20_000,
    min: 100,
    max: 25_000,
    doc: 'ms that updateconfig waits for the decision of the set'
  }),
  CONSENSUS_LOG_KEEP: integer({
    default: 100_000,
    min: 200,
    doc: 'batches of the log that stay below the last checkpoint; a hub that is further behind fetches the state there'
  }),
  ORACLE_EPOCH_START: integer({
    doc: 'beginning of the first round of prices, in ms since 1970, the same at all hubs of a set; needed in validator mode',
    example: '1767225600000'
  }),
  ORACLE_MIN_SUBMISSIONS: integer({
    min: 1,
    doc: 'least number of hubs whose prices a price of the set rests on, the same at all of them; unset: one more than twice those that may lie',
    example: '3'
  }),
  ORACLE_SUBMISSION_WINDOW: integer({
    min: 100,
    max: 86_400_000,
    doc: 'ms from the beginning of a round in which hubs of a set submit prices, the same at all of them; unset: three tenths of ORACLE_ROUND_INTERVAL',
    example: '180000'
  }),
  CAPABILITY_INDEXERS: list(readChainService, {
    doc: "indexers of this hub's own, by chain: what they say is signed for the set, and that of BTC tells the stake; the configuration is no place for them, since every member can write it; unset: no cross_chain, and the stake is that of the indexer in the configuration",
    example: 'BTC=http://127.0.0.1:3004,LTC=http://127.0.0.1:3014',
    show: showServices
  }),
  CAPABILITY_NODES: list(readChainService, {
    doc: "coin nodes of this hub's own, by chain, which tell reorgs; unset: it says nothing about them",
    example: 'BTC=http://user:password@127.0.0.1:8332',
    secret: true
  }),
  ORACLE_PUBLISH_ENCODER: parsed(readBaseUrl, {
    doc: "encoder of Bitcoin of this hub's own, which makes the transactions that publish rounds of prices; unset: this hub publishes none",
    example: 'http://127.0.0.1:3003'
  }),
  ORACLE_PUBLISH_ENCODER_KEY: text({ doc: 'its key (ENCODER_API_KEY)', secret: true }),
  ORACLE_PUBLISH_ADDRESS: text({
    doc: 'address whose coins pay for them; the stake of this hub must be of this address, else the ledger refuses them',
    example: 'bc1q…'
  }),
  ORACLE_PUBLISH_KEY_COMMAND: parsed(readProgram, {
    doc: 'program that signs: it reads a PSBT as hex, and prints the whole transaction as hex; it gets no arguments, and no variables but PATH',
    example: '/usr/local/bin/sign-psbt'
  }),
  ORACLE_PUBLISH_MAX_COST: integer({
    default: 200_000,
    min: 1,
    max: 100_000_000,
    doc: 'satoshis that the publishing of one round may cost; above it this hub publishes none'
  }),
  DISABLED_CAPABILITIES: list(readCapabilityName, {
    doc: 'capabilities that this hub does not serve: price, cross_chain, oracle_publish, attestation',
    example: 'price'
  })
} as const;

/** Values of `validatorVariables`. */
export type ValidatorConfig = Values<typeof validatorVariables>;
