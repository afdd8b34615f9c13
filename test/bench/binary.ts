import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readNumber } from '../../src/cli/options.ts';
import { freePort } from '../../src/devnet/mariadb.ts';
import { readArguments } from '../support/arguments.ts';
import { median } from './support/figures.ts';

const BINARY = 'dist/platform-node';
const SOURCE = 'scripts/platform-node';

/** Milliseconds from the start of the process until the front door says that it listens. */
async function start(program: string, args: readonly string[], directory: string): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(program, ['sync', ...args], {
    env: {
      PATH: process.env['PATH'],
      TMPDIR: directory,
      SYNC_MODE: 'server',
      SYNC_API_KEY: 'k',
      SYNC_API_HOST: '127.0.0.1',
      SYNC_API_PORT: String(await freePort()),
      HUB_API_HOST: '127.0.0.1',
      HUB_PORT: String(await freePort()),
      SYNC_STATE_DIR: join(directory, 'state')
    },
    stdio: ['ignore', 'pipe', 'inherit']
  });
  const ended = once(child, 'exit');
  let said = '';
  for await (const text of child.stdout) {
    said += String(text);
    if (said.includes(' listens on ')) break;
  }
  const tookMs = performance.now() - startedAt;
  if (!said.includes(' listens on ')) throw new Error(`${program} ended without listening:\n${said}`);
  child.kill('SIGTERM');
  await ended;
  return tookMs;
}

/** Size of the one file, and how long a start to listening takes: guarded and not, beside the source. */
async function measure(starts: number): Promise<void> {
  if (!existsSync(BINARY)) throw new Error(`${BINARY} is missing; build it with: npm run build:binary`);
  console.log(`size of ${BINARY}: ${(statSync(BINARY).size / 1e6).toFixed(1)} MB`);
  const directory = mkdtempSync(join(tmpdir(), 'platform-bench-'));
  try {
    for (const [program, ...args] of [[BINARY], [BINARY, '--no-guardian'], [SOURCE], [SOURCE, '--no-guardian']]) {
      const taken: number[] = [];
      for (let i = 0; i < starts; i++) taken.push(await start(program!, args, directory));
      const [least, most] = [Math.min(...taken), Math.max(...taken)].map(Math.round);
      console.log(
        `start to listening, ${[program, ...args].join(' ')}: ${Math.round(median(taken))} ms (${least} to ${most})`
      );
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const starts = readArguments(
  'npm run bench -- binary [--starts 15]',
  { starts: { type: 'string', default: '15' } },
  (given) => readNumber('--starts', given.starts, 1, 1_000)
);
await measure(starts);
