import { AsyncLocalStorage } from 'node:async_hooks';
import { after } from 'node:test';

type Ending = () => Promise<void>;

const ofProcess: Ending[] = [];
/** Endings of the test file that is running, where several run in one process. */
const ofFile = new AsyncLocalStorage<Ending[]>();
after(() => endAll(ofProcess));

/** Runs when the test file ends, newest first, wherever in it this was called: what was started last is ended first. */
export function atEnd(end: Ending): void {
  (ofFile.getStore() ?? ofProcess).push(end);
}

/** For a program that is no test file: ends now what would be ended after the tests. */
export async function endAll(endings = ofFile.getStore() ?? ofProcess): Promise<void> {
  for (let end = endings.pop(); end; end = endings.pop()) await end();
}

/** Runs `work` as a test file of its own. @param endings gets what it passes to `atEnd` */
export function asFile<Result>(endings: Ending[], work: () => Result): Result {
  return ofFile.run(endings, work);
}
