import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readNumber } from '../../src/cli/options.ts';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { median } from './support/figures.ts';
import { cpuMs } from './support/processes/helper.ts';

const BINARY = 'dist/platform-node';
const SOURCE = 'scripts/platform-node';

/** From the start of the process until the front door says that it listens: wall clock, and CPU of all its threads and children. */
interface Start {
  readonly ms: number;
  readonly cpu: number;
}

function cpuOfTree(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
  return children.reduce((sum, child) => sum + cpuOfTree(Number(child)), cpuMs(pid));
}

async function start(program: string, args: readonly string[], directory: string): Promise<Start> {
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
      STATE_DIR: join(directory, 'state'),
      SYNC_STATE_DIR: join(directory, 'state')
    },
    stdio: ['ignore', 'pipe', 'inherit']
  });
  const ended = once(child, 'exit');
  let output = '';
  for await (const text of child.stdout) {
    output += String(text);
    if (output.includes(' listens on ')) break;
  }
  const taken = { ms: performance.now() - startedAt, cpu: cpuOfTree(child.pid!) };
  if (!output.includes(' listens on ')) throw new Error(`${program} ended without listening:\n${output}`);
  child.kill('SIGTERM');
  await ended;
  return taken;
}

function range(of: readonly number[]): string {
  return `${Math.round(median(of))} ms (${Math.round(Math.min(...of))} to ${Math.round(Math.max(...of))})`;
}

/** Size of the one file, and what starts to listening take, by turns: guarded and not, beside another build or the source. */
async function measure(starts: number, other: string): Promise<void> {
  if (!existsSync(BINARY)) throw new Error(`${BINARY} is missing; build it with: npm run build:binary`);
  for (const file of [BINARY, other]) console.log(`size of ${file}: ${(statSync(file).size / 1e6).toFixed(1)} MB`);
  const directory = mkdtempSync(join(tmpdir(), 'platform-bench-'));
  try {
    const kinds = [BINARY, other].flatMap((program) => [[program], [program, '--no-guardian']] as const);
    const found = kinds.map((): Start[] => []);
    for (let i = 0; i < starts; i++)
      for (const [kind, [program, ...args]] of kinds.entries())
        found[kind]!.push(await start(program, args, directory));
    for (const [kind, taken] of found.entries()) {
      const [ms, cpu] = [taken.map((each) => each.ms), taken.map((each) => each.cpu)];
      console.log(`start to listening, ${kinds[kind]!.join(' ')}: ${range(ms)}, CPU ${range(cpu)}`);
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

await measure(
  ...readArguments(
    'npm run bench -- binary [--starts 15] [--against scripts/platform-node]',
    { starts: { type: 'string', default: '15' }, against: { type: 'string', default: SOURCE } },
    ({ starts, against }): [number, string] => [readNumber('--starts', starts, 1, 1_000), against]
  )
);
