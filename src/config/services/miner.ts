import { hubClientVariables } from '../hub-client.ts';
import { findNodeFaults, findNodeNetwork, type NodeConfig, nodeNetworkFromHub, nodeVariables } from '../node.ts';
import { serviceVariables } from '../service.ts';
import { integer, type Values } from '../variables.ts';

/** Bounds of the miner's times, in milliseconds. */
const WAIT_BOUNDS_MS = { min: 1_000, max: 3_600_000 } as const;

const { REGTEST_MINER_API_KEY: key, ...listening } = serviceVariables('REGTEST_MINER', {
  service: 'regtest-miner',
  usualPort: 3005
});

/** All variables of the miner. @see the section "Shared configuration" of the specification */
export const minerVariables = {
  ...nodeVariables,
  ...listening,
  MINER_API_KEY: {
    ...key,
    doc: 'key for /metrics, /debug and every method but ping, status and health; of several (OLD,NEW) all are accepted; required on testnets; unset: everyone may mine and take coins'
  },
  IDLE_MINE_INTERVAL_MS: integer({
    default: 0,
    max: WAIT_BOUNDS_MS.max,
    doc: 'ms after the last block until one is mined without a payment, at least 1000; 0: never'
  }),
  MINER_RATE_LIMIT_RPM: integer({ default: 600, min: 1, doc: 'requests per minute and address' }),
  ...hubClientVariables
} as const;

/** Values of `minerVariables`. */
export type MinerConfig = Values<typeof minerVariables>;

/** Finds faults that concern several variables. @returns one sentence per fault */
function findFaults(config: NodeConfig & Pick<MinerConfig, 'IDLE_MINE_INTERVAL_MS' | 'MINER_API_KEY'>): string[] {
  const { NETWORK, MINER_API_KEY: key, IDLE_MINE_INTERVAL_MS: idleMs } = config;
  return [
    ...findNodeFaults(config),
    ...(NETWORK?.endsWith('-mainnet') ? [`NETWORK is ${NETWORK}: the miner serves regtest and testnet only`] : []),
    ...(NETWORK?.endsWith('-testnet') && key === undefined
      ? [`missing required environment variable MINER_API_KEY: on ${NETWORK} the miner must not pay everybody`]
      : []),
    ...(idleMs > 0 && idleMs < WAIT_BOUNDS_MS.min
      ? [`IDLE_MINE_INTERVAL_MS is ${idleMs}: it must be 0 or at least ${WAIT_BOUNDS_MS.min}`]
      : [])
  ];
}

/** Rules that concern several variables of the miner. */
export const minerChecks = {
  prefixes: ['REGTEST_MINER_', 'MINER_'],
  findFaults,
  networkOf: findNodeNetwork,
  networkFromHub: nodeNetworkFromHub('regtest-miner')
} as const;
