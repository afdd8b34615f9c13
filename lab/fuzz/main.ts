import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { readNumber } from '../../src/cli/options.ts';
import { PlatformError } from '../../src/errors.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { endAll } from '../../test/support/cleanup.ts';
import { findGrowth } from './support/growth.ts';
import { play, type Target } from './support/target.ts';
import { TARGETS } from './targets.ts';

/*
 * npm run fuzz -- --seconds N --seed S [--target NAME]
 *
 * Plays rounds of hostile inputs against everything that reads what others send, one target after another until N seconds are over: round
 * R of each has the seed S + R, and is the same each time. Then it doubles the length of inputs that may grow. A promise that does not
 * hold ends it with the target, the seed, the smallest input that breaks the promise, and the command that plays it again.
 */
const { seconds, firstSeed, chosen } = readArguments(
  'npm run fuzz -- [--seconds 60] [--seed 1] [--target NAME]',
  {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    target: { type: 'string', default: '' }
  },
  (given) => {
    const chosen = TARGETS.filter(({ name }) => given.target === '' || name === given.target);
    const names = TARGETS.map(({ name }) => name).join(', ');
    const reason = `no target ${given.target}; there are ${names}`;
    if (chosen.length === 0) throw new PlatformError('COMMAND_INVALID', { reason });
    return {
      seconds: readNumber('--seconds', given.seconds, 0, 1_000_000),
      firstSeed: readNumber('--seed', given.seed, 0, 2 ** 31 - 1),
      chosen
    };
  }
);

/** A round takes seconds; one that does not end has met an input that a parser does not come back from. */
const HANG_MS = 120_000;
const MAX_GROWN_BYTES = 1_024 * 2 ** 20;

/** Notice from the thread that parses to the one that watches it. */
type Notice = { readonly begun: string; readonly again: string } | { readonly failed: true };

const again = ({ name }: Target, seed: number) => `npm run fuzz -- --seconds 0 --seed ${seed} --target ${name}`;

async function fuzz(tell: (notice: Notice) => void): Promise<boolean> {
  const began = performance.now();
  const inputs = new Map<string, number>();
  const fail = (target: Target, seed: number, what: string) => {
    console.error(`BROKEN ${target.name}: ${target.promise}\n${what}\nagain: ${again(target, seed)}`);
    return false;
  };
  let seed = firstSeed;
  do {
    for (const target of chosen) {
      tell({ begun: target.name, again: again(target, seed) });
      const before = process.memoryUsage.rss();
      const finding = await play(target, seed, target.runs);
      if (finding) return fail(target, seed, `with seed ${seed}, input ${finding.input}\n${finding.reason}`);
      const grown = process.memoryUsage.rss() - before;
      if (grown > MAX_GROWN_BYTES) return fail(target, seed, `${target.runs} inputs took ${grown >> 20} MiB of memory`);
      inputs.set(target.name, (inputs.get(target.name) ?? 0) + target.runs);
    }
    seed++;
  } while (performance.now() - began < seconds * 1000);
  for (const target of chosen) {
    tell({ begun: `${target.name}, growing`, again: again(target, seed) });
    const growth = await findGrowth(target).catch((caught: Error) => `an input that grows: ${caught.stack}`);
    if (growth) return fail(target, firstSeed, growth);
  }
  for (const target of chosen) await target.close?.();
  for (const [name, count] of inputs) console.log(`${String(count).padStart(10)} ${name}`);
  console.log(`every promise held, with seeds ${firstSeed} to ${seed - 1}`);
  return true;
}

if (isMainThread) {
  let last: { readonly begun: string; readonly again: string } | undefined;
  let patience: NodeJS.Timeout | undefined;
  const thread = new Worker(new URL(import.meta.url), { argv: process.argv.slice(2) });
  thread.on('message', (notice: Notice) => {
    clearTimeout(patience);
    if ('failed' in notice) process.exitCode = 1;
    else {
      last = notice;
      patience = setTimeout(() => {
        console.error(`HUNG ${last?.begun}: no end of a round in ${HANG_MS / 1000} s\nagain: ${last?.again}`);
        process.exit(1);
      }, HANG_MS);
    }
  });
  thread.on('error', (caught) => {
    console.error(`DIED ${last?.begun}: ${(caught as Error).stack}\nagain: ${last?.again}`);
    process.exitCode = 1;
  });
  thread.on('exit', () => process.exit(process.exitCode));
} else {
  if (!(await fuzz((notice) => parentPort?.postMessage(notice))))
    parentPort?.postMessage({ failed: true } satisfies Notice);
  await endAll();
  process.exit();
}
