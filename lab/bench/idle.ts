import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { readNumber } from '../../src/cli/options.ts';
import { connect, rows } from '../../src/db/connection.ts';
import type { DevnetAddresses } from '../../src/devnet/platform.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { atEnd } from '../../test/support/cleanup.ts';
import { runProgram } from '../../test/support/program.ts';
import { type Figure, report } from './support/figures.ts';
import { cpuMs } from './support/processes/helper.ts';

const options = readArguments(
  'npm run bench -- idle [--seconds 120] [--settle 60] [--interval 5000] [--threads] [--json FILE]',
  {
    json: { type: 'string' },
    seconds: { type: 'string', default: '120' },
    settle: { type: 'string', default: '60' },
    interval: { type: 'string', default: '5000' },
    threads: { type: 'boolean', default: false }
  },
  ({ json, seconds, settle, interval, threads }) => ({
    json,
    threads,
    seconds: readNumber('--seconds', seconds, 1, 3_600),
    settle: readNumber('--settle', settle, 0, 3_600),
    interval: String(readNumber('--interval', interval, 10, 600_000))
  })
);

/** Programs that are not of this project: their share is told apart. */
const OTHERS = ['mariadbd', 'litecoind'];

/** A process of the devnet. */
interface Part {
  readonly pid: number;
  readonly name: string;
}

/** Returns a process and all that it has started. */
function partsOf(pid: number): Part[] {
  const threads = readdirSync(`/proc/${pid}/task`);
  const children = threads.flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean)
  );
  return [{ pid, name: nameOf(pid) }, ...children.flatMap((child) => partsOf(Number(child)))];
}

/** Returns the name of a process: of a service that of its directory. */
function nameOf(pid: number): string {
  const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  const program = basename(words[0] ?? '');
  if (OTHERS.includes(program)) return program;
  if (words.includes('devnet')) return 'devnet';
  const name = basename(readlinkSync(`/proc/${pid}/cwd`));
  return words.includes('--no-guardian') ? name : `${name}, its guardian`;
}

/** Returns megabytes of a process: what it holds, and what it holds alone, with its share of what several hold. */
function memoryOf(pid: number): { readonly rss: number; readonly pss: number } {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const of = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1]) / 1e3;
  return { rss: of('Rss'), pss: of('Pss') };
}

/** Returns the CPU of each thread of a process, in milliseconds, by its id. */
function threadsOf(pid: number): Map<string, { readonly name: string; readonly ms: number }> {
  const ids = readdirSync(`/proc/${pid}/task`);
  return new Map(
    ids.map((id) => {
      const stat = readFileSync(`/proc/${pid}/task/${id}/stat`, 'utf8');
      const fields = stat.split(') ')[1]!.split(' ');
      const name = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'));
      return [id, { name, ms: (Number(fields[11]) + Number(fields[12])) * 10 }];
    })
  );
}

/** Starts a devnet without payments. @returns the process, and its addresses when all parts run */
async function startDevnet(directory: string): Promise<{ devnet: ChildProcess; addresses: DevnetAddresses }> {
  const words = ['devnet', '--json', '--quiet', '--interval', options.interval, '--dir', join(directory, 'devnet')];
  const devnet = spawn('scripts/platform-node', words, { stdio: ['ignore', 'pipe', 'ignore'] });
  const gone = once(devnet, 'exit');
  atEnd(async () => {
    devnet.kill('SIGTERM');
    await gone;
    rmSync(directory, { recursive: true, force: true });
  });
  const ended = gone.then(([code]): never => {
    throw new Error(`the devnet ended with ${code}`);
  });
  const [line] = (await Promise.race([once(createInterface(devnet.stdout), 'line'), ended])) as [string];
  return { devnet, addresses: JSON.parse(line) as DevnetAddresses };
}

/** Returns how many statements MariaDB has taken. */
async function statementsOf(database: DevnetAddresses['database']): Promise<number> {
  const connection = await connect(database);
  try {
    const [found] = await rows<{ Value: string }>(connection, "SHOW GLOBAL STATUS LIKE 'Questions'");
    return Number(found?.Value);
  } finally {
    connection.destroy();
  }
}

await runProgram(async () => {
  const { devnet, addresses } = await startDevnet(mkdtempSync(join(tmpdir(), 'platform-idle-')));
  await sleep(options.settle * 1_000);
  const parts = partsOf(devnet.pid!);
  const before = parts.map(({ pid }) => ({ cpu: cpuMs(pid), threads: threadsOf(pid) }));
  const asked = await statementsOf(addresses.database);
  const beganAt = performance.now();
  await sleep(options.seconds * 1_000);
  const tookMs = performance.now() - beganAt;
  const statements = (await statementsOf(addresses.database)) - asked;
  const found = parts.map(({ pid, name }, at) => {
    const threads = [...threadsOf(pid)].map(([id, thread]) => {
      const { ms = 0 } = before[at]!.threads.get(id) ?? {};
      return { name: thread.name, cpu: (100 * (thread.ms - ms)) / tookMs };
    });
    return { name, cpu: (100 * (cpuMs(pid) - before[at]!.cpu)) / tookMs, ...memoryOf(pid), threads };
  });
  console.log('| process | CPU, % of a core | RSS, MB | PSS, MB |\n|---|---|---|---|');
  for (const { name, cpu, rss, pss, threads } of found) {
    console.log(`| ${name} | ${cpu.toFixed(2)} | ${rss.toFixed(0)} | ${pss.toFixed(0)} |`);
    if (options.threads)
      for (const thread of threads.filter((each) => each.cpu >= 0.05))
        console.log(`|   ${thread.name} | ${thread.cpu.toFixed(2)} | | |`);
  }
  const own = found.filter(({ name }) => !OTHERS.includes(name));
  const sum = (of: typeof found, key: 'cpu' | 'rss' | 'pss') => of.reduce((total, each) => total + each[key], 0);
  const figure = (what: string, measured: number, unit: string, most: number, aim: number): Figure => {
    return { what, measured, reference: 0, unit, compare: 'above', most, aim };
  };
  const others = OTHERS.map((wanted) =>
    figure(
      `CPU of ${wanted}`,
      sum(
        found.filter(({ name }) => name === wanted),
        'cpu'
      ),
      '%',
      10,
      5
    )
  );
  const perSecond = (1_000 * statements) / tookMs;
  report(
    'idle',
    [
      figure('CPU of all services, of a core', sum(own, 'cpu'), '%', 10, 5),
      ...others,
      figure('statements to MariaDB a second', perSecond, '', 100, 50),
      figure('RSS of all services', sum(own, 'rss'), 'MB', 1_500, 1_200),
      figure('PSS of all services', sum(own, 'pss'), 'MB', 1_200, 1_000),
      figure('PSS of all processes', sum(found, 'pss'), 'MB', 1_500, 1_300)
    ],
    options.json
  );
});
