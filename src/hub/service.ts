import { databaseOf } from '../config/database.ts';
import { RIGHTS } from '../config/rights.ts';
import { findHubFaults, findHubWarnings, HUB_PATTERNS, hubVariables } from '../config/services/hub.ts';
import { defineService } from '../service/define.ts';
import { findValidatorFaults, findValidatorWarnings } from './validator-settings.ts';

/** The hub: the configuration service. */
export const service = defineService({
  name: 'hub',
  command: 'hub',
  summary: 'the configuration service from which the others discover their databases',
  variables: hubVariables,
  checks: {
    prefixes: ['HUB_'],
    patterns: HUB_PATTERNS,
    findFaults: (config) => [...findHubFaults(config), ...findValidatorFaults(config)]
  },
  findWarnings: (config) => [...findHubWarnings(config), ...findValidatorWarnings(config)],
  place: { host: 'HUB_HOST', port: 'HUB_PORT', key: 'HUB_API_KEY' },
  actors: {
    hub: ['circuitBreaker', 'restart'],
    prices: ['priceRound', 'circuitBreaker', 'restart'],
    validator: ['restart']
  },
  needs: (config) => ({
    databases: [{ coordinates: databaseOf(config, 'HUB'), rights: RIGHTS.hub.HUB, madeBy: null }]
  }),
  start: async (config, { service, log, signal }) =>
    (await import('./start.ts')).startHub({ config, log, service }, signal)
});
