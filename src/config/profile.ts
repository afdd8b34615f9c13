import { DEFAULT_PROFILE, GAS_ITEMS, type Profile, readProfile } from '../coin/profile.ts';
import { readJsonFile } from './json-file.ts';
import { parsed } from './variables.ts';

const profileReadBy = (read: (value: unknown) => Profile) =>
  parsed((path) => read(readJsonFile(path)), {
    default: DEFAULT_PROFILE,
    doc: "JSON file with a deployment's choices: payload magic, gas, role addresses, activation heights; the same for all services",
    example: '/etc/platform-node/profile.json',
    show: ({ name }) => name
  });

/** Which profile a service follows: the one in a JSON file, else the default. */
export const profileVariable = profileReadBy(readProfile);

/** The same for the service that keeps the ledger: it charges no fees, so that a profile must ask for none. */
export const feelessProfileVariable = profileReadBy(readFeeless);

function readFeeless(value: unknown): Profile {
  const profile = readProfile(value);
  const item = GAS_ITEMS.find((name) => profile.gas[name] !== 0);
  if (item)
    throw new Error(`must be a profile without fees; /gas/${item} is not 0, and the indexer charges no fees yet`);
  return profile;
}

/** What marks payloads, where a deployment does not say it in its profile. */
export const magicVariable = parsed(readMagic, {
  doc: '4 ASCII characters that mark payloads; default: those of the profile',
  example: 'PNOD'
});

function readMagic(magic: string): string {
  if (!/^[\x21-\x7e]{4}$/.test(magic)) throw new Error('must be 4 ASCII characters');
  return magic;
}
