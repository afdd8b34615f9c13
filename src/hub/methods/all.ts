import type { HubConfig } from '../../config/services/hub.ts';
import type { RpcMethod } from '../../service/rpc/method.ts';
import type { ChainFacts } from '../chain-facts.ts';
import type { HubSetMember } from '../remote-set.ts';
import type { HubDatabase } from '../store/database.ts';
import { chainTipMethods } from './chain-tips.ts';
import { configMethods } from './config.ts';
import { crossChainMethods } from './cross-chain.ts';
import { federationMethods } from './federation.ts';
import { feeMethods } from './fees.ts';
import { governanceMethods } from './governance.ts';
import { inactiveMethods } from './inactive.ts';
import { priceRoundMethods } from './price-rounds.ts';
import { type PriceSettings, priceMethods } from './prices.ts';
import { pushRules } from './pushes.ts';
import { reorgMethods } from './reorgs.ts';
import { setWriteMethods } from './set-writes.ts';
import { type OracleHealth, stateMethods } from './state.ts';
import { tellFailures } from './told-failures.ts';
import { validatorMethods } from './validators.ts';

/**
 * Settings that the methods read: which methods ask for HUB_API_KEY beside the eight writes, how long voting takes, whether prices
 * are found here, and what fees and stakes are made of.
 */
export type HubMethodSettings = Pick<
  HubConfig,
  | 'HUB_API_KEY'
  | 'HUB_SENSITIVE_READ_AUTH'
  | 'HUB_PUSH_AUTH'
  | 'GOV_VOTING_PERIOD'
  | 'PRICE_SOURCES'
  | 'ORACLE_ROUND_INTERVAL'
  | 'ORACLE_STALENESS_THRESHOLD_S'
  | 'PLATFORM_PROFILE'
  | 'HUB_CAPABILITY_CONFIG'
>;

/** News about prices, in both directions, and the set of hubs in validator mode. */
interface HubNews extends Pick<PriceSettings, 'onChange'>, Pick<OracleHealth, 'clockOffMs'> {
  readonly set: HubSetMember | null;
}

/** Returns the methods of a hub. @see the section "Hub (JSON-RPC 2.0 on HUB_PORT)" of the specification */
export function hubMethods(
  database: HubDatabase,
  settings: HubMethodSettings,
  { onChange, clockOffMs, set }: HubNews,
  facts: ChainFacts
): Readonly<Record<string, RpcMethod>> {
  const push = pushRules(settings);
  const now = () => Date.now() + clockOffMs();
  const methods = {
    ...inactiveMethods(set !== null),
    ...stateMethods(database, oracleHealthOf(settings, clockOffMs), set),
    ...configMethods(database, set, {
      hasKey: settings.HUB_API_KEY !== undefined,
      readNeedsKey: settings.HUB_SENSITIVE_READ_AUTH
    }),
    ...validatorMethods(database, { ...push, minimumStakes: settings.HUB_CAPABILITY_CONFIG }),
    ...chainTipMethods(database, push),
    ...priceMethods(database, { ...push, onChange, now }),
    ...feeMethods(database, settings.PLATFORM_PROFILE, now),
    ...crossChainMethods(database, facts),
    ...reorgMethods(database, facts),
    ...governanceMethods(database, { votingPeriodMs: settings.GOV_VOTING_PERIOD, settings })
  };
  if (set === null) return tellFailures(methods);
  return {
    ...tellFailures({ ...methods, ...setWriteMethods(database, set, methods) }),
    ...federationMethods(database, set),
    ...priceRoundMethods(database, set.keys.length)
  };
}

/** Prices are stale after two rounds, unless the settings say otherwise. */
function oracleHealthOf(settings: HubMethodSettings, clockOffMs: () => number): OracleHealth | null {
  if (!settings.PRICE_SOURCES?.length) return null;
  const thresholdS = settings.ORACLE_STALENESS_THRESHOLD_S ?? (2 * settings.ORACLE_ROUND_INTERVAL) / 1_000;
  return { thresholdS, since: performance.now(), clockOffMs };
}
