import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toDecimal } from '../../../src/coin/amount.ts';
import { printId } from '../../../src/coin/raw/hash-id.ts';
import { JsonResult } from '../../../src/service/rpc/json-result.ts';
import { CoinJson, coinBytes } from '../../../src/tracker/coins/coin-json.ts';
import fc from '../../support/fast-check.ts';

const coins = fc.array(
  fc.record({
    id: fc.uint8Array({ minLength: 32, maxLength: 32 }),
    vout: fc.nat({ max: 2 ** 32 - 1 }),
    value: fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.bigInt({ min: 0n, max: 10n ** 9n })),
    height: fc.option(fc.nat({ max: 2 ** 32 - 1 })),
    coinbase: fc.boolean()
  }),
  { maxLength: 80 }
);

test('coins that are written as bytes are those that JSON would have', () => {
  fc.assert(
    fc.property(coins, fc.stringMatching(/^([0-9a-f]{2}){0,60}$/), fc.string(), (list, script, tail) => {
      const json = new CoinJson('{"coins":[', script, list.length);
      for (const { id, vout, value, height, coinbase } of list) {
        const outpoint = Buffer.alloc(36);
        outpoint.set(id);
        outpoint.writeUInt32LE(vout, 32);
        json.add(0, coinBytes(outpoint, value), height, vout, coinbase);
      }
      const shown = list.map(({ id, vout, value, height, coinbase }) => ({
        txid: printId(id),
        fullTxid: printId(id),
        vout,
        value: String(value),
        height,
        coinbase,
        confirmations: vout,
        amount: toDecimal(value),
        scriptPubKey: script
      }));
      assert.deepEqual(JSON.parse(String(json.finish(`],"tail":${JSON.stringify(tail)}}`))), { coins: shown, tail });
    })
  );
});

test('a result that was written elsewhere is sent as it is, and is a value in a batch', async () => {
  const result = new JsonResult(Buffer.from('{"a": [1]}'));
  const { bytes, coding } = await result.between('{"result":', ',"id":7}');
  assert.deepEqual([bytes.toString(), coding], ['{"result":{"a": [1]},"id":7}', 'identity']);
  assert.equal(JSON.stringify([{ result }]), '[{"result":{"a":[1]}}]');
});
