import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { findText, loadConfig, readLocal } from '../config/load.ts';
import { reachableUrl } from '../config/service-url.ts';
import { defaultStateDirectory } from '../config/state-directory.ts';
import { UP_SERVICES, upVariables } from '../config/up.ts';
import { type Environment, text, type Variables } from '../config/variables.ts';
import type { Service } from '../service/define.ts';

/** Variables by which `up` was started that say where its services are. */
const PLACES = {
  UP_STATE_DIR: upVariables.UP_STATE_DIR,
  UP_HOST: upVariables.UP_HOST,
  UP_SERVICES: upVariables.UP_SERVICES,
  UP_REPLICA_PORT: upVariables.UP_REPLICA_PORT,
  HUB_PORT: upVariables.HUB_PORT,
  DECODER_API_PORT: upVariables.DECODER_API_PORT,
  INDEXER_API_PORT: upVariables.INDEXER_API_PORT,
  UTXO_TRACKER_API_PORT: upVariables.UTXO_TRACKER_API_PORT,
  ENCODER_API_PORT: upVariables.ENCODER_API_PORT,
  EXPLORER_API_PORT: upVariables.EXPLORER_API_PORT,
  SYNC_API_PORT: upVariables.SYNC_API_PORT,
  REGTEST_MINER_API_PORT: upVariables.REGTEST_MINER_API_PORT
} as const;

/** Word for the sync client of an installation. */
export const REPLICA = 'replica';

/** Variables by which other commands find an installation by `up`. */
export const INSTALLATION_VARIABLES: Variables = {
  UP_STATE_DIR: text({
    doc: 'directory of an installation by up: its services, with its key, are those of this machine then. --config names its file',
    example: defaultStateDirectory()
  }),
  UP_HOST: upVariables.UP_HOST,
  UP_SERVICES: upVariables.UP_SERVICES,
  UP_REPLICA_PORT: upVariables.UP_REPLICA_PORT
};

/** Services that `up` runs, as the variables of its start name them. */
export interface Installation {
  /** Words of its services on the command line; `replica` is its sync client. */
  readonly services: readonly string[];
  readonly directory: string;
  readonly values: Readonly<Record<string, unknown>>;
  /** Returns the text of a variable that was given. */
  readonly textOf: (name: string) => string | undefined;
}

/** Returns the installation that environment or configuration file name, or null. @throws {PlatformError} CONFIG_INVALID */
export function findInstallation(env: Environment): Installation | null {
  const local = readLocal(upVariables, env);
  const textOf = (name: string) => findText(name, local).text;
  if (textOf('UP_STATE_DIR') === undefined && textOf('UP_MARIADB_URL') === undefined) return null;
  const values = loadConfig(PLACES, local).values;
  const services = values.UP_SERVICES ?? UP_SERVICES;
  return { services, directory: resolve(values.UP_STATE_DIR), values, textOf };
}

/** Returns address and key of a service of an installation. */
export function addressIn(
  { directory, values, textOf }: Installation,
  name: string,
  place: Service['place']
): { readonly url: string; readonly apiKey: string | undefined } {
  const port = values[name === REPLICA ? 'UP_REPLICA_PORT' : place.port];
  return {
    url: reachableUrl(String(values['UP_HOST']), Number(port)),
    apiKey: textOf(place.key)?.split(',', 1)[0] ?? readKey(directory)
  };
}

/** Returns the key that `up` made; undefined before its first start, and for users who may not read it. */
function readKey(directory: string): string | undefined {
  try {
    return readFileSync(join(directory, 'api-key'), 'utf8').trim();
  } catch {
    return undefined;
  }
}
