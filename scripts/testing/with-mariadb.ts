import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type RunTests, withTestDatabase } from './test-run.ts';
import { otherFiles, runUnit } from './unit.ts';

/** Limit for one test file: the longest takes three minutes. */
const TIMEOUT = '--test-timeout=480000';

/** Most failed files that are tried again. A busy machine may break a deadline of one file; a fault of the product breaks more. */
const TRIED_AGAIN = 2;

const given = process.argv.slice(2);
const isWhole = given.every((arg) => arg.startsWith('-'));

process.exitCode = await withTestDatabase(async (run, workplace) =>
  isWhole ? await runAll(run, workplace) : (await run([TIMEOUT, ...given])).code
);

/** Runs all tests, units first, then searches their records for secrets. */
async function runAll(run: RunTests, workplace: string): Promise<number> {
  // Beside what the processes print: a record is a link to it.
  const records = mkdtempSync(join(workplace, 'records-'));
  const printed = join(records, 'tests.log');
  const recording = ['--test-reporter=spec', `--test-reporter-destination=${printed}`];
  const showing = ['--test-reporter=spec', '--test-reporter-destination=stdout'];
  const unitCode = runUnit(true);
  let { code } = await run([TIMEOUT, ...showing, ...recording, ...given, ...otherFiles()], { records });
  const failed = code === 1 ? failedFiles(readFileSync(printed, 'utf8')) : [];
  if (failed.length > 0 && failed.length <= TRIED_AGAIN && failed.every((file) => file.endsWith('.test.ts'))) {
    console.log(`trying again, alone: ${failed.join(', ')}`);
    code = (await run([TIMEOUT, ...failed], { records })).code;
    if (code === 0) console.log(`PASSED ONLY WHEN TRIED AGAIN, which is a fault to mend: ${failed.join(', ')}`);
  }
  const last = await run([TIMEOUT, 'test/secrets-in-records.ts'], { records });
  return unitCode || code || last.code;
}

/** Returns the files of failed tests from the last part of a reporter's text. */
function failedFiles(printed: string): string[] {
  return [...new Set(printed.matchAll(/^test at (.+):\d+:\d+$/gm).map(([, file]) => file ?? ''))];
}
