import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import scanBlocks from '../../../workers/decoder/scan-blocks.ts';
import { scanRules } from '../../support/decoder/loop.ts';
import { startTestLitecoind } from '../../support/litecoin.ts';

const MAGIC = 'TEST';
const NETWORK = chainNetwork('litecoin', 'regtest');
const RULES = scanRules(NETWORK, MAGIC);

test('blocks that turn out to be large are asked for one by one: they are the same', async () => {
  const { node } = await startTestLitecoind({ magic: MAGIC });
  await node.fund(250);
  const from = (await node.height()) - 20;
  for (let block = 0; block < 2; block++) {
    // A wallet's payment to 2,500 addresses is some 85 KB.
    for (let payment = 0; payment < 8; payment++) await node.rpc.call('sendmany', ['', paidAddresses(2_500)]);
    await node.mine(1);
  }
  const range = { from, count: 23, wanted: new Uint32Array() };
  const [asSmall, oneByOne] = await Promise.all(
    [true, false].map((isSmall) => scanBlocks({ node, range: { ...range, isSmall }, rules: RULES }))
  );
  assert.ok(asSmall!.sizeBytes > 1_100_000, `${asSmall!.sizeBytes} bytes`);
  assert.deepEqual(asSmall, oneByOne);
});

/** Amounts by address, as `sendmany` takes them. */
const paidAddresses = (count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => {
      const script = Buffer.alloc(22, 7);
      script.set([0, 20]);
      script.writeUInt32LE(index, 4);
      return [addressOf(script, NETWORK.addresses)!, '0.00003'];
    })
  );
