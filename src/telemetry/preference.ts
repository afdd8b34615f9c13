import { chmod, mkdir, readFile, rename, rmdir, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Type, { type Static } from 'typebox';
import { shapeOf } from '../wire/data/shape.ts';

const FILE = 'telemetry.json';
/** Longest wait for the lock: a change takes milliseconds, so a process that holds it for longer is dead. */
const LOCK_WAIT_MS = 2_000;
const LOCK_LOOK_MS = 10;

const StartSchema = Type.Object({
  service: Type.String(),
  /** As its settings spell it. */
  network: Type.Optional(Type.String()),
  /** Process id of the guardian. */
  pid: Type.Integer({ minimum: 1 })
});
/** A service that was started. */
export type Start = Static<typeof StartSchema>;

const PreferenceSchema = Type.Object({
  /** A random UUID, version 4. */
  installId: Type.Optional(Type.String()),
  optOut: Type.Optional(Type.Boolean()),
  /** Time of the last attempt, ISO 8601. */
  lastPingAt: Type.Optional(Type.String()),
  /** Version of the program that sent last. */
  lastVersion: Type.Optional(Type.String()),
  noticeShown: Type.Optional(Type.Boolean()),
  /** The services that were started, some of which may have ended. */
  starts: Type.Optional(Type.Array(StartSchema))
});
const preference = shapeOf(PreferenceSchema);

/** The user's choice, with what is remembered of the last ping. */
export type Preference = Static<typeof PreferenceSchema>;

/** Returns `~/.platform-node`. */
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

/**
 * Changes the remembered preferences, in turn with other processes. Durable when it returns: 0600 in a directory of
 * 0700.
 *
 * @param change returns what is to be remembered, and what the caller is told
 * @throws {Error} when it cannot be read or written
 */
export async function changePreference<T>(
  directory: string,
  change: (known: Preference) => readonly [Preference, T]
): Promise<T> {
  return await inTurn(directory, async () => {
    const known = await readPreference(directory);
    const [next, answer] = change(known);
    if (next !== known) await writePreference(directory, next);
    return answer;
  });
}

/** Remembers whether pings are wanted. A file that cannot be read is replaced. @throws {Error} when it cannot be written */
export async function rememberChoice(directory: string, optOut: boolean): Promise<void> {
  await inTurn(directory, async () => {
    const known = await readPreference(directory).catch(() => ({}));
    await writePreference(directory, { ...known, optOut });
  });
}

async function inTurn<T>(directory: string, work: () => Promise<T>): Promise<T> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const lock = join(directory, `${FILE}.lock`);
  const deadline = performance.now() + LOCK_WAIT_MS;
  while (!(await isTaken(lock)) && performance.now() < deadline) await sleep(LOCK_LOOK_MS);
  try {
    return await work();
  } finally {
    await rmdir(lock).catch(() => undefined); // another one may have taken it for that of a dead process
  }
}

async function isTaken(lock: string): Promise<boolean> {
  try {
    await mkdir(lock);
    return true;
  } catch (caught) {
    if ((caught as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw caught;
  }
}

async function writePreference(directory: string, value: Preference): Promise<void> {
  await chmod(directory, 0o700);
  const path = join(directory, FILE);
  await writeFile(`${path}.${process.pid}`, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  await rename(`${path}.${process.pid}`, path);
}
