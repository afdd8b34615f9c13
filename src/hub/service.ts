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
  options: {
    rejoin: {
      type: 'boolean',
      default: false,
      help: [
        'in validator mode: where the log of this hub cannot be gone on with, keeps it aside and',
        'takes the state of its set; its votes still bind it'
      ]
    }
  },
  start: async (config, { service, log, signal, options }) =>
    (await import('./start.ts')).startHub({ config, log, service, rejoin: options['rejoin'] === true }, signal)
});
