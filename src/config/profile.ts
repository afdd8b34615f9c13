import { DEFAULT_PROFILE, readProfile } from '../coin/profile.ts';
import { readJsonFile } from './json-file.ts';
import { parsed } from './variables.ts';

/** Variable of the profile: a JSON file, else the default profile. */
export const profileVariable = parsed((path) => readProfile(readJsonFile(path)), {
  default: DEFAULT_PROFILE,
  doc: "JSON file with a deployment's choices: payload magic, gas, role addresses, activation heights; the same for all services",
  example: '/etc/platform-node/profile.json',
  essential: true,
  show: ({ name }) => name
});

/** Variable that replaces the profile's payload magic. */
export const magicVariable = parsed(readMagic, {
  doc: '4 ASCII characters that mark payloads; default: those of the profile',
  example: 'PNOD'
});

function readMagic(magic: string): string {
  if (!/^[\x21-\x7e]{4}$/.test(magic)) throw new Error('must be 4 ASCII characters');
  return magic;
}
