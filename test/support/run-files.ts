import { type TestContext, test } from 'node:test';
import { asFile, endAll } from './cleanup.ts';

/** Limit for one file: the longest takes three minutes. */
const TIMEOUT_MS = 480_000;

/**
 * Runs test files one after the other in this process, which loads their modules once. Each is a test with those of the
 * file within it, so that its hooks are its own, and ends what it started before the next one is loaded.
 *
 * @param files URL of each module, by name
 */
export function runFiles(files: Readonly<Record<string, string>>): void {
  // All at once: where no test is left the process may end.
  for (const [name, url] of Object.entries(files)) void test(name, { timeout: TIMEOUT_MS }, (t) => runFile(t, url));
}

async function runFile(t: TestContext, url: string): Promise<void> {
  const endings: (() => Promise<void>)[] = [];
  try {
    await asFile(endings, () => import(url));
  } finally {
    // As a test it waits for all that the file has declared.
    await t.test('ends what it started', () => endAll(endings));
  }
}
