import { type ValidatorConfig, validatorVariables } from '../config/services/hub-validator.ts';
import { signingKey } from '../consensus/auth-signature.ts';
import { byzantineQuorum, pbftQuorum } from '../consensus/pbft-quorum.ts';
import type { ValidatorSettings } from './federation/node/validator-asks.ts';

/**
 * Returns what the actor of validator mode is told; null for a standalone hub, and for the only hub of its set: that one writes directly.
 *
 * @param host  address to listen on
 */
export function validatorSettingsOf(config: ValidatorConfig, host: string, version: string): ValidatorSettings | null {
  const { P2P_VALIDATOR_ADDR: addr, HUB_FEDERATION: federation, SIGNING_PRIVKEY_HEX: seed } = config;
  if (addr === undefined || seed === undefined || !federation || federation.members.length < 2) return null;
  const { pubkey } = signingKey(seed);
  const others = federation.members.filter((member) => member.pubkey !== pubkey).map((member) => member.addr);
  return {
    set: { keys: federation.members.map((member) => member.pubkey).toSorted(), quorum: federation.quorum },
    seed,
    host,
    port: config.P2P_PORT,
    addr,
    version,
    seeds: [...new Set([...others, ...(config.SEED_NODES ?? [])])],
    denied: config.P2P_DENY_PUBKEYS ?? [],
    reconnectBaseMs: config.P2P_RECONNECT_BASE,
    reconnectMaxMs: config.P2P_RECONNECT_MAX,
    writeTimeoutMs: config.CONSENSUS_WRITE_TIMEOUT,
    logKeep: config.CONSENSUS_LOG_KEEP
  };
}

/** Facts about the set, as the methods of its hub have them. */
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
export function findValidatorFaults(config: ValidatorConfig): readonly string[] {
  const { P2P_VALIDATOR_ADDR, SIGNING_PRIVKEY_HEX: seed, HUB_FEDERATION: federation, SEED_NODES } = config;
  if (P2P_VALIDATOR_ADDR === undefined) return [];
  const needed = (['SIGNING_PRIVKEY_HEX', 'ORACLE_EPOCH_START'] as const).filter((name) => config[name] === undefined);
  const pubkey = seed === undefined ? undefined : signingKey(seed).pubkey;
  const isMember = federation?.members.some((member) => member.pubkey === pubkey);
  return [
    ...needed.map((name) => `P2P_VALIDATOR_ADDR turns validator mode on, which needs ${name}`),
    ...(SEED_NODES?.length && !federation
      ? ['SEED_NODES names other hubs: HUB_FEDERATION must name the set, with their keys']
      : []),
    ...(federation && pubkey !== undefined && !isMember
      ? [`HUB_FEDERATION has no member with the key ${pubkey}, which is that of SIGNING_PRIVKEY_HEX`]
      : [])
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
  const isUnsafe = quorum === 'specified' && pbftQuorum(members.length) < byzantineQuorum(members.length);
  return [
    ...(['ORACLE_MIN_SUBMISSIONS', 'DISABLED_CAPABILITIES'] as const)
      .filter(isSet)
      .map((name) => `${name} is set and not used: hubs of a set do not agree on prices yet`),
    ...(isUnsafe
      ? [
          `one lying hub of ${members.length} can make two decisions of one under the quorum of the specification: set "quorum" in HUB_FEDERATION to "byzantine", the same at all hubs`
        ]
      : [])
  ];
}
