import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pool } from 'mysql2/promise';
import { CoinReader, type CoinView } from '../../../src/tracker/coins/coin-reader.ts';

test('each part of many outpoints is looked up within a time limit of its own', async () => {
  const parts: number[] = [];
  class CountedReader extends CoinReader {
    override async look<T>(read: (coins: CoinView) => Promise<T>): Promise<T> {
      const owners = async (outpoints: readonly Buffer[]) => {
        parts.push(outpoints.length);
        return outpoints.map((outpoint) => ({ outpoint, scriptHash: outpoint, value: 1n }));
      };
      return await read({ owners } as unknown as CoinView);
    }
  }
  const reader = new CountedReader({} as Pool, 1);
  const outpoints = Array.from({ length: 12_001 }, (_, at) => Buffer.alloc(36, at % 256));
  assert.equal((await reader.owners(outpoints)).length, outpoints.length);
  assert.deepEqual(parts, [5_000, 5_000, 2_001]);
  assert.deepEqual(await reader.owners([]), []);
  assert.equal(parts.length, 3, 'nothing is looked up for nothing');
});
