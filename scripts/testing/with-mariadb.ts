import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RunTests, withTestDatabase } from './test-run.ts';

/** No test file may take longer. */
const TIMEOUT = '--test-timeout=300000';

const given = process.argv.slice(2);
const isWhole = given.every((arg) => arg.startsWith('-'));

process.exitCode = await withTestDatabase(async (run) =>
  isWhole ? await runAll(run) : (await run([TIMEOUT, ...given])).code
);

/** Every test; then the one that searches what they recorded for secrets. */
async function runAll(run: RunTests): Promise<number> {
  const records = mkdtempSync(join(tmpdir(), 'platform-test-records-'));
  const recording = ['--test-reporter=spec', `--test-reporter-destination=${join(records, 'tests.log')}`];
  const showing = ['--test-reporter=spec', '--test-reporter-destination=stdout'];
  try {
    const { code } = await run([TIMEOUT, ...showing, ...recording, ...given, 'test/**/*.test.ts'], { records });
    const last = await run([TIMEOUT, 'test/secrets-in-records.ts'], { records });
    return code || last.code;
  } finally {
    rmSync(records, { recursive: true, force: true });
  }
}
