import { findHubFaults, HUB_PATTERNS, hubVariables } from '../../config/services/hub.ts';
import { startHub } from '../../hub/server.ts';
import type { Command, Environment } from '../command.ts';
import { readOptions } from '../options.ts';
import { loadSettings } from '../settings.ts';
import { runService } from './run-service.ts';

/** Command `platform-node hub`: runs the configuration service until a signal. */
export const hubCommand = {
  name: 'hub',
  summary: 'the configuration service from which the others discover their databases',
  variables: hubVariables,
  checks: { prefixes: ['HUB_'], patterns: HUB_PATTERNS, findFaults: findHubFaults },

  async run(argv: readonly string[], env: Environment): Promise<number> {
    readOptions(argv, {});
    const loaded = await loadSettings(hubCommand, env);
    return await runService('hub', loaded, (config, log, signal) => startHub({ config, log }, signal));
  }
} satisfies Command<typeof hubVariables>;
