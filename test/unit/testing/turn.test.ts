import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inTurn, runTurn } from '../../../scripts/testing/turn.ts';

const MODULES = ['a', 'b', 'c', 'd', 'e'];

test('each commit has all files in a turn of its own, those of recent commits first', () => {
  assert.deepEqual(
    inTurn(MODULES, '00000002ff', () => false),
    ['c', 'd', 'e', 'a', 'b']
  );
  assert.deepEqual(
    inTurn(MODULES, '00000003ff', () => false),
    ['d', 'e', 'a', 'b', 'c']
  );
  assert.deepEqual(
    inTurn(MODULES, '00000002ff', (module) => module === 'b'),
    ['b', 'd', 'e', 'a', 'c']
  );
  assert.deepEqual(
    inTurn(MODULES, '', () => false),
    MODULES
  );
  assert.deepEqual(
    inTurn([], '00000002ff', () => false),
    []
  );
});

test('files without time are named, and one failure is that of the whole turn', async () => {
  const ran: string[] = [];
  const run = async (args: readonly string[]) => {
    ran.push(args.at(-1)!);
    return { code: args.at(-1) === 'b' ? 1 : 0, output: 'ℹ tests 2\nℹ pass 2\n' };
  };
  const options = { run, optionsOf: () => [], concurrency: 2, records: '' };
  assert.deepEqual(await runTurn(MODULES, { ...options, minutes: 1 }), { code: 1, begun: 5, left: [] });
  assert.deepEqual(ran.sort(), MODULES);
  assert.deepEqual(await runTurn(MODULES, { ...options, minutes: 0 }), { code: 0, begun: 0, left: MODULES });
});
