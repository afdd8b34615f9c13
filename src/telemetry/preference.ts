import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import Type, { type Static } from 'typebox';
import { Compile } from 'typebox/compile';

const FILE = 'telemetry.json';
const PreferenceSchema = Type.Object({
  /** A random UUID, version 4. */
  installId: Type.Optional(Type.String()),
  optOut: Type.Optional(Type.Boolean()),
  /** Of the last attempt, ISO 8601. */
  lastPingAt: Type.Optional(Type.String()),
  /** Of the program, when it sent last. */
  lastVersion: Type.Optional(Type.String()),
  noticeShown: Type.Optional(Type.Boolean())
});
const preference = Compile(PreferenceSchema);

/** What is remembered of a user's choice and of the last ping. */
export type Preference = Static<typeof PreferenceSchema>;

/** `~/.platform-node`. */
export const preferenceDirectory = (): string => join(homedir(), '.platform-node');

/** @returns an empty one when there is no file @throws {Error} when there is one that cannot be read: then nothing may be sent */
export async function readPreference(directory: string): Promise<Preference> {
  let content: string;
  try {
    content = await readFile(join(directory, FILE), 'utf8');
  } catch (caught) {
    if ((caught as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw caught;
  }
  const found: unknown = JSON.parse(content);
  if (!preference.Check(found)) throw new Error(`${join(directory, FILE)} is no telemetry preference`);
  return found;
}

/** Durable when it returns: 0600 in a directory of 0700. @throws {Error} when it cannot be written */
export async function writePreference(directory: string, value: Preference): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await chmod(directory, 0o700);
  const path = join(directory, FILE);
  await writeFile(`${path}.${process.pid}`, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  await rename(`${path}.${process.pid}`, path);
}
