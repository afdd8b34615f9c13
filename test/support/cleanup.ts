import { after } from 'node:test';

const endings: (() => Promise<void>)[] = [];
after(async () => {
  for (const end of endings.reverse()) await end();
});

/** Runs when the test file ends, newest first, wherever in it this was called: what was started last is ended first. */
export function atEnd(end: () => Promise<void>): void {
  endings.push(end);
}
