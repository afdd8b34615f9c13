import { once } from 'node:events';
import { HUB_PATTERNS, hubVariables } from '../config/hub.ts';
import { loadConfig, readConfigFile } from '../config/variables.ts';
import { PlatformError } from '../errors.ts';
import { startHub } from '../hub/server.ts';
import { createLogger } from '../log.ts';

/** Final: a supervisor does not restart after it. */
const EXIT_CONFIG = 78;

/** `platform-node hub`: the configuration service, until SIGTERM or SIGINT. */
export const hubCommand = {
  name: 'hub',
  summary: 'the configuration service that the others discover their databases from',
  variables: hubVariables,

  /** @returns the exit code: 0 after a stop, 78 when waiting or restarting would not help, else 1 */
  async run(_argv: readonly string[], env: Readonly<Record<string, string | undefined>>): Promise<number> {
    const stopping = new AbortController();
    const stop = () => stopping.abort();
    process.on('SIGTERM', stop).on('SIGINT', stop);
    try {
      await serve(env, stopping.signal);
      return 0;
    } catch (caught) {
      if (stopping.signal.aborted) return 0;
      const error = PlatformError.from(caught);
      console.error(`hub: ${error.message}; ${error.hint}`);
      return error.policy === 'exit' ? EXIT_CONFIG : 1;
    } finally {
      process.off('SIGTERM', stop).off('SIGINT', stop);
    }
  }
};

async function serve(env: Readonly<Record<string, string | undefined>>, signal: AbortSignal): Promise<void> {
  const { values, warnings } = loadConfig(hubVariables, {
    env,
    file: readConfigFile(),
    prefixes: ['HUB_'],
    patterns: HUB_PATTERNS
  });
  const log = createLogger('hub', values.LOG_LEVEL);
  for (const warning of warnings) log.warn(warning);
  const hub = await startHub(
    {
      host: values.HUB_HOST,
      port: values.HUB_PORT,
      database: {
        host: values.HUB_DB_HOST,
        port: values.HUB_DB_PORT,
        name: values.HUB_DB_NAME,
        user: values.HUB_DB_USER,
        pass: values.HUB_DB_PASS
      },
      apiKey: values.HUB_API_KEY,
      requestsPerMinute: values.HUB_RATE_LIMIT_RPM,
      log
    },
    signal
  );
  if (!signal.aborted) await once(signal, 'abort');
  log.info('stopping');
  await hub.stop();
}
