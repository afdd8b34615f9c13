import { databaseVariables } from '../database.ts';
import { hubClientVariables } from '../hub-client.ts';
import { findNodeFaults, findNodeNetwork, nodeNetworkFromHub, nodeVariables } from '../node.ts';
import { serviceVariables } from '../service.ts';
import { integer, type Values } from '../variables.ts';

/** All variables of the UTXO tracker. @see the section "Shared configuration" of the specification */
export const trackerVariables = {
  ...nodeVariables,
  ...databaseVariables('UTXO', {
    of: 'of the tracker; a missing database is created',
    name: 'Platform_LTC_Regtest_Tracker',
    service: 'utxo-tracker',
    role: 'tracker'
  }),
  DB_QUERY_TIMEOUT: integer({ default: 30_000, min: 100, max: 600_000, doc: 'ms that one statement may take' }),
  ...serviceVariables('UTXO_TRACKER', { service: 'utxo-tracker', usualPort: 3001 }),
  UTXO_TRACKER_RATE_LIMIT_RPM: integer({ default: 6_000, min: 1, doc: 'requests per minute and address' }),
  UTXO_TRACKER_POLL_INTERVAL: integer({
    default: 1_000,
    min: 10,
    max: 60_000,
    doc: 'ms between polls for a new block'
  }),
  UTXO_TRACKER_MEMPOOL_INTERVAL: integer({
    default: 5_000,
    min: 100,
    max: 600_000,
    doc: "ms between readings of the node's mempool"
  }),
  ...hubClientVariables
} as const;

/** Values of `trackerVariables`. */
export type TrackerConfig = Values<typeof trackerVariables>;

/** Rules that concern several variables of the tracker. */
export const trackerChecks = {
  prefixes: ['UTXO_'],
  patterns: [/^UTXO_TRACKER_URL$/], // the encoder's, which may share the environment
  findFaults: findNodeFaults,
  networkOf: findNodeNetwork,
  networkFromHub: nodeNetworkFromHub('utxo-tracker')
} as const;
