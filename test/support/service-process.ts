import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { atEnd } from './cleanup.ts';
import { recordPipes } from './records.ts';

const COMMAND_LINE = fileURLToPath(new URL('../../scripts/platform-node', import.meta.url));

type Environment = Readonly<Record<string, string>>;

/** A program that was started. */
export interface StartedProcess {
  readonly child: ChildProcess;
  /** Its exit code when it has ended; null where a signal ended it. */
  readonly exited: Promise<number | null>;
  /** Everything that it printed so far, by both pipes. */
  output(): string;
}

/** Variables that a program inherits from the tests: where programs are, what V8 has compiled before, and a place for state. */
export const INHERITED = {
  PATH: process.env['PATH'],
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
  STATE_DIR: join(tmpdir(), `platform-state-${process.pid}`)
};
process.once('exit', () => rmSync(INHERITED.STATE_DIR, { recursive: true, force: true }));

/** Starts a program with no variables but those and the given ones; it is killed when the test file ends. */
export function startProgram(program: string, args: readonly string[], env: Environment = {}): StartedProcess {
  const environment = { ...INHERITED, ...env };
  const child = spawn(program, args, { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  atEnd(async () => void child.kill('SIGKILL'));
  recordPipes(child, environment);
  let output = '';
  for (const pipe of [child.stdout, child.stderr]) pipe.setEncoding('utf8').on('data', (text) => (output += text));
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  return { child, exited, output: () => output };
}

/** Starts a service as an operator does, without its guardian. */
export function startServiceProcess(name: string, env: Environment, options: readonly string[] = []): StartedProcess {
  return startProgram(COMMAND_LINE, [name, '--no-guardian', ...options], env);
}

/** The same with its guardian: the process is the guardian's. */
export function startGuardedService(name: string, env: Environment): StartedProcess {
  return startProgram(COMMAND_LINE, [name], { PLATFORM_NODE_NO_TELEMETRY: '1', ...env });
}

/** The variables of a database. @param prefix such as DECODER */
export function databaseEnv(prefix: string, { host, port, name, user, pass }: DatabaseCoordinates): Environment {
  return {
    [`${prefix}_DB_HOST`]: host,
    [`${prefix}_DB_PORT`]: String(port),
    [`${prefix}_DB_NAME`]: name,
    [`${prefix}_DB_USER`]: user,
    [`${prefix}_DB_PASS`]: pass
  };
}

/** The variables of a litecoin regtest node on this machine. */
export function nodeEnv(node: { readonly rpcPort: number; readonly user: string; readonly password: string }) {
  return {
    NETWORK: 'litecoin-regtest',
    NODE_URL: '127.0.0.1',
    NODE_PORT: String(node.rpcPort),
    NODE_USER: node.user,
    NODE_PASSWORD: node.password
  };
}
