import type { ConfigFile } from '../config/config-file.ts';
import { namesOf } from '../config/load.ts';
import { nearest, nearestWithin } from '../config/nearest.ts';
import { telemetryVariables } from '../config/telemetry.ts';
import { upVariables } from '../config/up.ts';
import { PlatformError } from '../errors.ts';
import { loadServices } from '../services.ts';

/** Most edits of a name that was probably meant, and letters of the shortest one to judge: short ones resemble many. */
const [MOST_EDITS, LEAST_LETTERS] = [2, 8];
/** A name that stands for one of each chain and network. */
const FAMILY_WORDS = '_<CHAIN>_<NETWORK>';

/**
 * Looks for names in the configuration file that are no variable of any command: the file may serve several.
 *
 * @returns one sentence for each unknown name
 * @throws {PlatformError} CONFIG_INVALID where one is nearly a known name: a key that is misspelt would open a service
 */
export async function findUnknownNames(file: ConfigFile = {}): Promise<readonly string[]> {
  const given = Object.keys(file);
  if (given.length === 0) return [];
  const services = await loadServices();
  const known = [...services.map(({ variables }) => variables), upVariables, telemetryVariables].flatMap(namesOf);
  const patterns = services.flatMap(({ checks }) => checks.patterns ?? []);
  const families = known
    .filter((name) => name.endsWith(FAMILY_WORDS))
    .map((name) => name.slice(0, -FAMILY_WORDS.length));
  const isMember = (name: string) => families.some((family) => new RegExp(`^${family}_\\w+_\\w+$`).test(name));
  const isKnown = (name: string) =>
    known.includes(name) || isMember(name) || patterns.some((pattern) => pattern.test(name));
  const unknown = given.filter((name) => !isKnown(name));
  const misspelt = unknown.flatMap((name) => {
    const meant = name.length < LEAST_LETTERS ? undefined : nearestWithin(name, known, MOST_EDITS);
    return meant === undefined ? [] : [`unknown name ${name} in the configuration file; did you mean ${meant}?`];
  });
  if (misspelt.length > 0) throw new PlatformError('CONFIG_INVALID', { reason: misspelt.join('\n') });
  return unknown.map(
    (name) => `unknown name ${name} in the configuration file; the nearest one is ${nearest(name, known)}`
  );
}
