import { withTestDatabase } from './test-run.ts';

/** No test file may take longer. */
const TEST_TIMEOUT_MS = 300_000;

const given = process.argv.slice(2);
const files = given.some((arg) => !arg.startsWith('-')) ? given : [...given, 'test/**/*.test.ts'];

process.exitCode = await withTestDatabase(
  async (run) => (await run([`--test-timeout=${TEST_TIMEOUT_MS}`, ...files])).code
);
