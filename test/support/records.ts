import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, linkSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decoderVariables } from '../../src/config/services/decoder.ts';
import { hubVariables } from '../../src/config/services/hub.ts';
import { syncVariables } from '../../src/config/services/sync.ts';
import { PRIVATE_ACCOUNT } from '../../src/devnet/processes/mariadb.ts';
import { atEnd } from './cleanup.ts';

/*
 * A run of all tests keeps what the started processes print, and which secrets they were given, until its end: then no
 * secret may stand in any of it (test/secrets-in-records.ts). Files that run alone keep nothing.
 */

/** Directory in which a run keeps them: `*.log`, and `secrets` with one JSON string a line. */
export const RECORDS = process.env['PLATFORM_TEST_RECORDS'];
/** Shorter words stand in every log. */
const SHORTEST_SECRET = 8;
const SECRET_VARIABLES: ReadonlySet<string> = new Set(
  Object.entries({ ...hubVariables, ...decoderVariables, ...syncVariables })
    .filter(([, { secret }]) => secret)
    .map(([name]) => name)
);

type Environment = Readonly<Record<string, string | number | undefined>>;

/** Keeps what a process prints from now on into its pipes. */
export function recordPipes({ stdout, stderr }: ChildProcess, env: Environment): void {
  noteSecrets(env);
  if (!RECORDS) return;
  const file = newRecord();
  for (const pipe of [stdout, stderr]) pipe?.on('data', (chunk: string | Uint8Array) => appendFileSync(file, chunk));
}

/** Keeps a file into which a process prints, also when its directory is removed. */
export function recordFile(path: string, env: Environment): void {
  noteSecrets(env);
  if (!RECORDS) return;
  linkSync(path, newRecord());
  const seed = join(String(env['SYNC_STATE_DIR']), 'validator.seed');
  atEnd(async () => {
    if (existsSync(seed)) note(readFileSync(seed, 'utf8').trim());
  });
}

function newRecord(): string {
  return join(RECORDS!, `${randomUUID()}.log`);
}

/**
 * Remembers the secrets among these variables.
 *
 * @throws {Error} naming the variable whose value is too short to be looked for
 */
export function noteSecrets(env: Environment): void {
  if (!RECORDS) return;
  note(PRIVATE_ACCOUNT.pass);
  for (const [name, value] of Object.entries(env)) {
    if (!SECRET_VARIABLES.has(name) || !value) continue;
    for (const secret of String(value).split(',')) {
      if (secret.length < SHORTEST_SECRET)
        throw new Error(
          `${name} of a test has less than ${SHORTEST_SECRET} characters: no log could be searched for it`
        );
      note(secret);
    }
  }
  if (env['NODE_USER']) note(Buffer.from(`${env['NODE_USER']}:${env['NODE_PASSWORD']}`).toString('base64'));
}

function note(secret: string): void {
  appendFileSync(join(RECORDS!, 'secrets'), `${JSON.stringify(secret)}\n`);
}
