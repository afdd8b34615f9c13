import { loadConfig } from '../../src/config/load.ts';
import { type HubConfig, hubVariables } from '../../src/config/services/hub.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { INHERITED } from './service-process.ts';

/** The settings of a hub on the loopback, on a free port. @param env further variables, as an operator sets them */
export function hubConfigOf(
  { host, port, name, user, pass }: DatabaseCoordinates,
  env: Readonly<Record<string, string>> = {}
): HubConfig {
  const own = {
    HUB_HOST: '127.0.0.1',
    HUB_PORT: '0',
    HUB_DB_HOST: host,
    HUB_DB_PORT: String(port),
    HUB_DB_NAME: name,
    HUB_DB_USER: user,
    HUB_DB_PASS: pass,
    HUB_RATE_LIMIT_RPM: '100000',
    STATE_DIR: INHERITED.STATE_DIR
  };
  return loadConfig(hubVariables, { env: { ...own, ...env } }).values;
}
