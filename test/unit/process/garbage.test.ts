import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

const MODULE = new URL('../../../src/process/garbage.ts', import.meta.url).href;

/** Keeps some 40 MB, makes objects that die old, and prints how large its heap was at most. */
const PROGRAM = `
const { boundGarbage } = await import(process.argv[1]);
if (process.argv[2] === 'bounded') boundGarbage();
const kept = Array.from({ length: 200_000 }, (_, n) => ({ n, text: 'x' + n, list: [n] }));
let ring = [];
let most = 0;
for (let turn = 0; turn < 150; turn++) {
  for (let n = 0; n < 20_000; n++) ring.push({ n, text: 'y'.repeat(10) + n, list: new Array(10).fill(n) });
  if (ring.length > 100_000) ring = ring.slice(50_000);
  most = Math.max(most, process.memoryUsage().heapTotal);
  await new Promise(setImmediate);
}
console.log(kept.length && most);
`;

function mostHeap(how: string): number {
  const args = ['--max-semi-space-size=8', '--input-type=module', '-e', PROGRAM, MODULE, how];
  return Number(execFileSync(process.execPath, args, { encoding: 'utf8', timeout: 60_000 }));
}

test('bounded garbage makes a heap clearly smaller', () => {
  const [free, bounded] = [mostHeap('free'), mostHeap('bounded')];
  assert.ok(bounded < 0.75 * free, `${Math.round(bounded / 1e6)} MB, and ${Math.round(free / 1e6)} MB without`);
});
