import { readFileSync } from 'node:fs';
import { DEFAULT_PROFILE, type Profile, readProfile } from '../coin/profile.ts';
import { parsed } from './variables.ts';

/** Which profile a service follows: the one in a JSON file, else the default. */
export const profileVariable = parsed(readProfileFile, {
  default: DEFAULT_PROFILE,
  doc: "JSON file with a deployment's choices: payload magic, gas, role addresses, activation heights; the same for all services",
  example: '/etc/platform-node/profile.json',
  show: ({ name }) => name
});

/** What marks payloads, where a deployment does not say it in its profile. */
export const magicVariable = parsed(readMagic, {
  doc: '4 ASCII characters that mark payloads; default: those of the profile',
  example: 'PNOD'
});

function readMagic(magic: string): string {
  if (!/^[\x21-\x7e]{4}$/.test(magic)) throw new Error('must be 4 ASCII characters');
  return magic;
}

/** @throws {Error} whose message is the reason */
function readProfileFile(path: string): Profile {
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (caught) {
    throw new Error(`must be a readable file: ${(caught as Error).message}`);
  }
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch (caught) {
    throw new Error(`must be a JSON file: ${(caught as Error).message}`);
  }
  return readProfile(value);
}
