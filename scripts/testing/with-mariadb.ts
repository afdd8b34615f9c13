import { existsSync, globSync, mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleFiles, bundleTier } from './bundles.ts';
import type { FileResult } from './files-reporter.ts';
import { type RunTests, withTestDatabase } from './test-run.ts';
import { filesOf, type Tier } from './tiers.ts';
import { runTurn, turnOfCommit } from './turn.ts';
import { otherFiles, runUnit } from './unit.ts';

/** Limit for one process of tests: the longest file takes three minutes. */
const TIMEOUT = '--test-timeout=480000';
/** Limit for a process that runs several files, each within the same limit as alone. */
const BUNDLE_TIMEOUT = '--test-timeout=1200000';

/** Most failed files that are tried again. A busy machine may break a deadline of some; a fault of the product breaks more. */
const TRIED_AGAIN = 3;

const FILES_REPORTER = fileURLToPath(new URL('files-reporter.ts', import.meta.url));
/** Test files at once: those of the rest start more programs each. */
const CONCURRENCY: Readonly<Record<Tier, number>> = { quick: 4, rest: 3, all: 3 };
/** Longest files that a whole run names at its end. */
const LONGEST = 20;

/** Name of each tier in what a run prints first. */
const NAMES: Readonly<Record<Tier, string>> = {
  quick: 'npm test: all unit tests, and tests with real parts of each room',
  rest: 'npm run test:rest: all tests that npm test leaves out, but the long searches',
  all: 'npm run test:all: all tests, with the long searches and coverage by unit tests'
};

const tier: Tier = process.argv.includes('--all') ? 'all' : process.argv.includes('--rest') ? 'rest' : 'quick';
/** Runs the given files many in one process, whatever their rooms. */
const isTogether = process.argv.includes('--together');
/** Coverage takes as long again as the unit tests. */
const withCoverage = tier === 'all' || process.argv.includes('--coverage');
/** `--minutes=N`: no file begins after that time. Which ones do is another matter at each commit. */
const MINUTES = '--minutes=';
const minutes = minutesOf(process.argv.find((arg) => arg.startsWith(MINUTES))?.slice(MINUTES.length));
const OWN = ['--all', '--rest', '--together', '--coverage'];
const given = process.argv.slice(2).filter((arg) => !OWN.includes(arg) && !arg.startsWith(MINUTES));
const isWhole = given.every((arg) => arg.startsWith('-'));

/** Reads a limit in minutes; null: there is none. @throws {Error} for what is no such number */
function minutesOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  if (!/^[1-9][0-9]{0,3}$/.test(text)) throw new Error(`${MINUTES}${text}: give whole minutes, 1 to 9999`);
  return Number(text);
}

process.exitCode = await withTestDatabase(async (run, workplace) =>
  isWhole ? await runTier(run, workplace) : await runGiven(run, workplace)
);

async function runGiven(run: RunTests, workplace: string): Promise<number> {
  if (!isTogether) return (await run([TIMEOUT, ...given])).code;
  const options = given.filter((arg) => arg.startsWith('-'));
  const files = globSync(given.filter((arg) => !arg.startsWith('-')));
  const bundles = bundleFiles(files, mkdtempSync(join(workplace, 'bundles-')));
  return (await run([BUNDLE_TIMEOUT, ...options, ...bundles])).code;
}

/** Runs the tests of a tier, units first but for the rest, then searches their records for secrets. */
async function runTier(run: RunTests, workplace: string): Promise<number> {
  const records = mkdtempSync(join(workplace, 'records-'));
  const resultsOf = (number: number) => join(workplace, `files-${number}.json`);
  const optionsOf = (number: number) => {
    // Beside what the processes print: a record is a link to it.
    const printed = join(records, `tests-${number}.log`);
    const recording = ['--test-reporter=spec', `--test-reporter-destination=${printed}`];
    const showing = ['--test-reporter=spec', '--test-reporter-destination=stdout'];
    const summing = [`--test-reporter=${FILES_REPORTER}`, `--test-reporter-destination=${resultsOf(number)}`];
    return [BUNDLE_TIMEOUT, ...showing, ...recording, ...summing, ...given];
  };
  const wanted = filesOf(tier, otherFiles());
  console.log(NAMES[tier]);
  const unitCode = tier === 'rest' ? 0 : runUnit(withCoverage);
  // A pattern of names would not match the tests that stand for files.
  const files = given.length === 0 ? bundleTier(wanted, mkdtempSync(join(workplace, 'bundles-'))) : wanted;
  const concurrency = CONCURRENCY[tier];
  const turn =
    minutes === null
      ? { ...(await run([...optionsOf(0), ...files], { concurrency, records })), begun: 1, left: [] }
      : await runTurn(turnOfCommit(files), { run, optionsOf, concurrency, records, minutes });
  const results = Array.from({ length: turn.begun }, (_, number) => resultsOf(number)).filter((path) =>
    existsSync(path)
  );
  const ran = results
    .flatMap((path) => JSON.parse(readFileSync(path, 'utf8') || '[]') as FileResult[])
    .sort((a, b) => b.seconds - a.seconds);
  let { code } = turn;
  const failed = code > 1 ? [] : ran.filter(({ isFailed }) => isFailed).map(({ file }) => file);
  if (failed.length > 0 && failed.length <= TRIED_AGAIN && failed.every((file) => file.endsWith('.test.ts'))) {
    console.log(`trying again, alone: ${failed.join(', ')}`);
    code = (await run([TIMEOUT, ...failed], { records })).code;
    if (code === 0) console.log(`PASSED ONLY WHEN TRIED AGAIN, which is a fault to mend: ${failed.join(', ')}`);
  }
  const last = await run([TIMEOUT, 'test/secrets-in-records.ts'], { records });
  const longest = ran.slice(0, LONGEST).map(({ file, seconds }) => `${seconds.toFixed(0).padStart(5)} s  ${file}\n`);
  console.log(`the longest files:\n${longest.join('')}`);
  if (turn.left.length > 0) {
    const names = new Set(ran.map(({ file }) => file));
    const left = wanted.filter((file) => !names.has(file));
    console.log(`no time within ${minutes} minutes, run by npm run test:rest: ${left.join(', ')}`);
  }
  return unitCode || code || last.code;
}
