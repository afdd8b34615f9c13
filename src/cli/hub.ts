import { once } from 'node:events';
import { HUB_PATTERNS, hubVariables } from '../config/hub.ts';
import { startHub } from '../hub/server.ts';
import { createLogger } from '../log.ts';
import type { Command, Environment } from './command.ts';
import { loadSettings } from './settings.ts';

/** `platform-node hub`: the configuration service, until SIGTERM or SIGINT. */
export const hubCommand = {
  name: 'hub',
  summary: 'the configuration service that the others discover their databases from',
  variables: hubVariables,
  checks: { prefixes: ['HUB_'], patterns: HUB_PATTERNS },

  async run(_argv: readonly string[], env: Environment): Promise<number> {
    const stopping = new AbortController();
    const stop = () => stopping.abort();
    process.on('SIGTERM', stop).on('SIGINT', stop);
    try {
      await serve(env, stopping.signal);
    } catch (caught) {
      if (!stopping.signal.aborted) throw caught;
    } finally {
      process.off('SIGTERM', stop).off('SIGINT', stop);
    }
    return 0;
  }
} satisfies Command<typeof hubVariables>;

async function serve(env: Environment, signal: AbortSignal): Promise<void> {
  const { values, warnings } = await loadSettings(hubCommand, env);
  const log = createLogger('hub', values.LOG_LEVEL);
  for (const warning of warnings) log.warn(warning);
  const hub = await startHub({ config: values, log }, signal);
  if (!signal.aborted) await once(signal, 'abort');
  log.info('stopping');
  await hub.stop();
}
