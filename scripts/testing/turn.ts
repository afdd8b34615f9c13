import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { ROOT } from '../root.ts';
import type { RunTests } from './test-run.ts';

/** Commits whose test files run first. */
const RECENT = 30;
const MINUTE_MS = 60_000;
/** A line of the summary that node:test ends with, such as `ℹ pass 12`. */
const COUNT = /^ℹ (tests|suites|pass|fail|cancelled|skipped|todo) (\d+)$/gm;
const SUMMARY = /^ℹ .*\n?/gm;

interface TurnOptions {
  readonly run: RunTests;
  /** Options of node:test for one module, in addition to its path. @param number  of the module, from 0 */
  readonly optionsOf: (number: number) => readonly string[];
  readonly concurrency: number;
  /** Time after which no module begins. */
  readonly minutes: number;
  /** Directory for the output of started processes. */
  readonly records: string;
}

/** Result of a turn. */
interface Turn {
  readonly code: number;
  /** Modules that began. */
  readonly begun: number;
  /** Modules for which there was no time. */
  readonly left: readonly string[];
}

/** Asks git. Returns the lines that are not empty; none without a repository. */
function git(...args: readonly string[]): readonly string[] {
  try {
    const text = execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return text.split('\n').filter((line) => line !== '');
  } catch {
    return [];
  }
}

/**
 * Puts modules in the order of this commit's turn: first those of test files that recent commits changed, then all others from a place
 * that the commit's hash decides. So a run that has no time for all of them has other ones each time.
 */
export function inTurn(
  modules: readonly string[],
  hash: string,
  isRecent: (module: string) => boolean
): readonly string[] {
  const recent = modules.filter(isRecent);
  const others = modules.filter((module) => !isRecent(module));
  const first = others.length === 0 ? 0 : Number.parseInt(hash.slice(0, 8) || '0', 16) % others.length;
  return [...recent, ...others.slice(first), ...others.slice(0, first)];
}

/** Returns the order for the commit that is checked out. */
export function turnOfCommit(modules: readonly string[]): readonly string[] {
  const [hash = ''] = git('rev-parse', 'HEAD');
  const changed = git('log', `-${RECENT}`, '--name-only', '--format=', '--', 'test').filter((path) =>
    path.endsWith('.test.ts')
  );
  const texts = new Map(modules.map((module) => [module, readFileSync(module, 'utf8')]));
  return inTurn(modules, hash, (module) => changed.some((path) => texts.get(module)!.includes(`/${path}`)));
}

/** Runs modules one after the other, some at once, as long as there is time. The output of each is shown when it ends. */
export async function runTurn(modules: readonly string[], options: TurnOptions): Promise<Turn> {
  const { run, optionsOf, concurrency, minutes, records } = options;
  const endsAt = performance.now() + minutes * MINUTE_MS;
  const counts = new Map<string, number>();
  let [begun, code] = [0, 0];
  const worker = async () => {
    while (begun < modules.length && performance.now() < endsAt) {
      const number = begun++;
      const ended = await run([...optionsOf(number), modules[number]!], { quiet: true, concurrency: 1, records });
      for (const [, what, text] of ended.output.matchAll(COUNT))
        counts.set(what!, (counts.get(what!) ?? 0) + Number(text));
      process.stdout.write(ended.output.replace(SUMMARY, ''));
      code ||= ended.code;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  console.log([...counts].map(([what, count]) => `ℹ ${what} ${count}`).join('\n'));
  return { code, begun, left: modules.slice(begun) };
}
