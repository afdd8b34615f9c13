import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import scanBlocks from '../../../workers/decoder/scan-blocks.ts';
import { startSpentOutputsNode } from '../../support/coin/spent-outputs-node.ts';
import { scanRules } from '../../support/decoder/loop.ts';
import { startTestLitecoind } from '../../support/litecoin.ts';

const MAGIC = 'TEST';

test('sources come from what a node says that a block spends, without a transaction being asked for', async () => {
  const { node } = await startTestLitecoind({ magic: MAGIC });
  await node.fund(20);
  const from = await node.height();
  const paid = [await node.pay({ action: 'SEND|0|A|1|x' }), await node.pay({ action: 'BROADCAST|0|two' })];
  await node.mine(1);
  paid.push(await node.pay({ action: 'SEND|0|B|1|x' }));
  await node.mine(1);

  const { url, asked, blocks } = await startSpentOutputsNode(node);
  const { user, password } = node;
  const range = { from: from + 1, count: 2, isSmall: false, wanted: new Uint32Array() };
  const rules = scanRules(chainNetwork('litecoin', 'regtest'), MAGIC);
  const scanned = await scanBlocks({ node: { url, user, password }, range, rules });
  const found = scanned.blocks.flatMap(({ transactions }) => transactions);
  const sourceOf = (txid: string) => found.find(({ hash }) => hash === txid)?.source;
  assert.equal(found.length, 3);
  for (const { txid, source } of paid) assert.equal(sourceOf(txid), source);
  assert.deepEqual([blocks.length, asked], [2, []]);
});
