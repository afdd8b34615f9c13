import { relative, resolve } from 'node:path';
import type { TestEvent } from 'node:test/reporters';
import { ROOT } from '../root.ts';
import { ALONE } from './bundles.ts';

/** Result of a test file. */
export interface FileResult {
  /** Path below the root. */
  readonly file: string;
  /** Sum of its tests. */
  readonly seconds: number;
  readonly isFailed: boolean;
}

/** Reports the test files of a run as JSON, the longest first. */
export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string, void> {
  const results = new Map<string, FileResult>();
  for await (const { type, data } of source) {
    if ((type !== 'test:pass' && type !== 'test:fail') || data.nesting > 0) continue;
    // Of several files that share a process each is a test; so is a file that could not run.
    const [, alone] = data.entryFile?.split(`/${ALONE}/`) ?? [];
    const path = data.name.endsWith('.test.ts') ? data.name : (alone ?? data.entryFile ?? data.file ?? data.name);
    const file = relative(ROOT, resolve(ROOT, path));
    const { seconds = 0, isFailed = false } = results.get(file) ?? {};
    const sum = seconds + data.details.duration_ms / 1_000;
    results.set(file, { file, seconds: sum, isFailed: isFailed || type === 'test:fail' });
  }
  yield JSON.stringify([...results.values()].sort((a, b) => b.seconds - a.seconds));
}
