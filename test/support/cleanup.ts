import { after } from 'node:test';

const endings: (() => Promise<void>)[] = [];
after(endAll);

/** Runs when the test file ends, newest first, wherever in it this was called: what was started last is ended first. */
export function atEnd(end: () => Promise<void>): void {
  endings.push(end);
}

/** For a program that is no test file: ends now what would be ended after the tests. */
export async function endAll(): Promise<void> {
  for (let end = endings.pop(); end; end = endings.pop()) await end();
}
