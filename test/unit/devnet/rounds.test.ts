import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mineRound } from '../../../src/devnet/processes/miner.ts';
import { type ErrorCode, PlatformError } from '../../../src/errors.ts';

const PAYMENTS = [{ from: 'a', action: 'SEND|0|TOK|1|b' }];

async function play(fault?: ErrorCode) {
  const done: string[] = [];
  const node = {
    pay: async () => {
      if (fault) throw new PlatformError(fault, { reason: 'Insufficient funds' });
      done.push('pay');
    },
    mineBlocks: async (count: number) => void done.push(`mine ${count}`),
    earn: async () => void done.push('earn')
  };
  await mineRound(node, { payments: PAYMENTS }, (line) => done.push(line));
  return done;
}

test('payments, and the block that holds them', async () => {
  assert.deepEqual(await play(), ['pay', 'mine 1']);
});

test('NODE_REFUSED: a wallet without coins pays nothing, says so, and gets the reward of the block', async () => {
  const [first, ...done] = await play('NODE_REFUSED');
  assert.match(first!, /Insufficient funds/);
  assert.deepEqual(done, ['earn']);
});

test('NODE_UNREACHABLE: is thrown', async () => {
  await assert.rejects(play('NODE_UNREACHABLE'), { code: 'NODE_UNREACHABLE' });
});
