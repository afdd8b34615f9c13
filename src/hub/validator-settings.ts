import type { HubConfig } from '../config/services/hub.ts';
import { type ValidatorConfig, validatorVariables } from '../config/services/hub-validator.ts';
import { signingKey } from '../consensus/auth-signature.ts';
import { byzantineQuorum, pbftQuorum } from '../consensus/pbft-quorum.ts';
import type { ValidatorSettings } from './federation/node/validator-asks.ts';

/** Settings that all hubs of a set have alike. */
type SetConfig = Pick<
  ValidatorConfig,
  'HUB_FEDERATION' | 'ORACLE_EPOCH_START' | 'ORACLE_MIN_SUBMISSIONS' | 'ORACLE_SUBMISSION_WINDOW'
> &
  Pick<HubConfig, 'ORACLE_ROUND_INTERVAL' | 'GOV_VOTING_PERIOD'>;

/** Part of a round in which prices are submitted, and the largest one. */
const WINDOW_PERCENT = 30;
const MOST_WINDOW_PERCENT = 60;

/** Returns the set that settings name; null where they name none. */
export function hubSetOf(config: SetConfig): ValidatorSettings['set'] | null {
  const { HUB_FEDERATION: federation, ORACLE_EPOCH_START: epochStartMs, ORACLE_ROUND_INTERVAL: intervalMs } = config;
  if (!federation || epochStartMs === undefined) return null;
  const keys = federation.members.map(({ pubkey }) => pubkey).toSorted();
  const faulty = Math.floor((keys.length - 1) / 3);
  const rounds = {
    epochStartMs,
    intervalMs,
    windowMs: config.ORACLE_SUBMISSION_WINDOW ?? Math.floor((intervalMs * WINDOW_PERCENT) / 100),
    minSubmissions: config.ORACLE_MIN_SUBMISSIONS ?? 2 * faulty + 1
  };
  const { quorum, log } = federation;
  return { keys, quorum, rounds, votingPeriodMs: config.GOV_VOTING_PERIOD, ...(log !== undefined && { log }) };
}

/**
 * Returns what the actor of validator mode is told; null for a standalone hub, and for the only hub of its set: that one writes directly.
 *
 * @param host  address to listen on
 */
export function validatorSettingsOf(
  config: ValidatorConfig & SetConfig,
  host: string,
  version: string
): ValidatorSettings | null {
  const { P2P_VALIDATOR_ADDR: addr, HUB_FEDERATION: federation, SIGNING_PRIVKEY_HEX: seed } = config;
  const set = hubSetOf(config);
  if (addr === undefined || seed === undefined || !set || !federation || federation.members.length < 2) return null;
  const { pubkey } = signingKey(seed);
  const others = federation.members.filter((member) => member.pubkey !== pubkey);
  return {
    set,
    seed,
    host,
    port: config.P2P_PORT,
    addr,
    version,
    seeds: [...new Set([...others.map((member) => member.addr), ...(config.SEED_NODES ?? [])])],
    owners: new Map(others.map((member) => [member.addr, member.pubkey])),
    denied: config.P2P_DENY_PUBKEYS ?? [],
    disabled: config.DISABLED_CAPABILITIES ?? [],
    reconnectBaseMs: config.P2P_RECONNECT_BASE,
    reconnectMaxMs: config.P2P_RECONNECT_MAX,
    writeTimeoutMs: config.CONSENSUS_WRITE_TIMEOUT,
    logKeep: config.CONSENSUS_LOG_KEEP
  };
}

/** Returns facts about the set, as the methods of its hub have them. */
export function quorumOf({ set, seed }: Pick<ValidatorSettings, 'set' | 'seed'>): {
  readonly self: string;
  readonly keys: readonly string[];
  readonly quorum: 'specified' | 'byzantine';
  readonly votes: number;
  readonly isSafe: boolean;
} {
  const { keys, quorum } = set;
  const safe = byzantineQuorum(keys.length);
  const votes = quorum === 'byzantine' ? safe : pbftQuorum(keys.length);
  return { self: signingKey(seed).pubkey, keys, quorum, votes, isSafe: votes >= safe };
}

/** Finds faults of validator mode, one sentence each. */
export function findValidatorFaults(
  config: ValidatorConfig & Pick<HubConfig, 'ORACLE_ROUND_INTERVAL'>
): readonly string[] {
  const { P2P_VALIDATOR_ADDR, SIGNING_PRIVKEY_HEX: seed, HUB_FEDERATION: federation, SEED_NODES } = config;
  if (P2P_VALIDATOR_ADDR === undefined) return [];
  const needed = (['SIGNING_PRIVKEY_HEX', 'ORACLE_EPOCH_START'] as const).filter((name) => config[name] === undefined);
  const pubkey = seed === undefined ? undefined : signingKey(seed).pubkey;
  const isMember = federation?.members.some((member) => member.pubkey === pubkey);
  const { ORACLE_MIN_SUBMISSIONS: least = 1, ORACLE_SUBMISSION_WINDOW: windowMs = 0, ORACLE_ROUND_INTERVAL } = config;
  return [
    ...(federation && least > federation.members.length
      ? [`ORACLE_MIN_SUBMISSIONS=${least} is more than the members of HUB_FEDERATION: no round would have a price`]
      : []),
    ...(100 * windowMs > MOST_WINDOW_PERCENT * ORACLE_ROUND_INTERVAL
      ? [
          `ORACLE_SUBMISSION_WINDOW=${windowMs} leaves too little of ORACLE_ROUND_INTERVAL for a decision: at most ${MOST_WINDOW_PERCENT} %`
        ]
      : []),
    ...findPublishingFaults(config),
    ...needed.map((name) => `P2P_VALIDATOR_ADDR turns validator mode on, which needs ${name}`),
    ...(SEED_NODES?.length && !federation
      ? ['SEED_NODES names other hubs: HUB_FEDERATION must name the set, with their keys']
      : []),
    ...(federation && pubkey !== undefined && !isMember
      ? [`HUB_FEDERATION has no member with the key ${pubkey}, which is that of SIGNING_PRIVKEY_HEX`]
      : [])
  ];
}

/** Finds settings that publishing lacks. */
function findPublishingFaults(config: ValidatorConfig): readonly string[] {
  const needed = ['ORACLE_PUBLISH_ENCODER', 'ORACLE_PUBLISH_ADDRESS', 'ORACLE_PUBLISH_KEY_COMMAND'] as const;
  const set = needed.filter((name) => config[name] !== undefined);
  if (set.length === 0) return [];
  const services = ['CAPABILITY_INDEXERS', 'CAPABILITY_NODES'] as const;
  return [
    ...needed.filter((name) => !set.includes(name)).map((name) => `${set[0]} is set, which needs ${name}`),
    ...services
      .filter((name) => !config[name]?.some(({ chain }) => chain === 'BTC'))
      .map((name) => `${set[0]} is set: ${name} must name BTC, to see which rounds are published`)
  ];
}

/** Finds settings of validator mode that change nothing, and a set that is not safe, one sentence each. */
export function findValidatorWarnings(config: ValidatorConfig): readonly string[] {
  const isSet = (name: keyof ValidatorConfig) =>
    config[name] !== undefined && config[name] !== validatorVariables[name].fallback;
  const names = Object.keys(validatorVariables) as (keyof ValidatorConfig)[];
  if (config.P2P_VALIDATOR_ADDR === undefined)
    return names
      .filter(isSet)
      .map((name) => `${name} is set and not used: without P2P_VALIDATOR_ADDR this hub is a standalone one`);
  const { members = [], quorum = 'specified' } = config.HUB_FEDERATION ?? {};
  const { CAPABILITY_INDEXERS: indexers = [] } = config;
  const isToldStake = members.length > 1 && !indexers.some(({ chain }) => chain === 'BTC');
  const isUnsafe = quorum === 'specified' && pbftQuorum(members.length) < byzantineQuorum(members.length);
  return [
    ...(isToldStake
      ? [
          'CAPABILITY_INDEXERS names no indexer of BTC: every member of the set can name the one that tells the stake of this hub, by updateconfig'
        ]
      : []),
    ...(isUnsafe
      ? [
          `one lying hub of ${members.length} can make two decisions of one under the quorum of the specification: set "quorum" in HUB_FEDERATION to "byzantine", the same at all hubs`
        ]
      : [])
  ];
}
