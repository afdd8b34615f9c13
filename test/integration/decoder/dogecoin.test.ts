import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blocks } from 'doge-test-data';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { encodePayload } from '../../../src/coin/payload/payload.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { returnScript } from '../../support/coin/carriers.ts';
import { SIGNED, writeBlock, writeTransaction } from '../../support/coin/raw-writer.ts';
import { startRecordedNode } from '../../support/coin/recorded-node.ts';
import { query, startLoop } from '../../support/decoder/loop.ts';
import { createDatabase } from '../../support/mariadb.ts';

const NETWORK = chainNetwork('dogecoin', 'mainnet');
const MAGIC = 'TEST';
/** The last blocks that were mined alone, and the first one that was merge-mined. */
const FIRST = 371_335;
const LAST = 371_337;

const recorded = new Map(blocks.map(({ blockNumber, rawBlock }) => [blockNumber, Buffer.from(rawBlock, 'hex')]));
const keyScript = Buffer.from(`76a914${'aa'.repeat(20)}88ac`, 'hex');
const spend = (txid: string) => [{ txid, vout: 0, script: SIGNED }];

/** A merge-mined block on top of the recorded ones that says something. */
function speakingBlock() {
  const output = { amount: 5n, script: keyScript };
  const paid = { inputs: spend('cd'.repeat(32)), outputs: [output], witnesses: [] };
  const { txid } = writeTransaction(paid);
  const payload = returnScript(encodePayload(txid, 'SEND|0|much', { magic: MAGIC }));
  const payment = { inputs: spend(txid), outputs: [{ amount: 0n, script: payload }], witnesses: [] };
  const previousHash = blocks.find(({ blockNumber }) => blockNumber === LAST)!.blockHash;
  return writeBlock({ previousHash, time: 1_410_000_000, transactions: [paid, payment], isMergeMined: true });
}

test('a recorded Dogecoin node, which refuses printed blocks, is decoded to its tip', async () => {
  const top = speakingBlock();
  const chain = new Map<number, Buffer>([0, FIRST, FIRST + 1, LAST].map((height) => [height, recorded.get(height)!]));
  const { url } = await startRecordedNode(chain.set(LAST + 1, top.bytes));
  const database = await createDatabase('decoder_doge');
  const node = { url, user: 'u', password: 'p' };
  const loop = startLoop({ database, node, network: NETWORK, magic: MAGIC, startBlock: FIRST });
  await loop.reach(LAST + 1, top.hash);
  await loop.stop();
  const rows = await query(
    database,
    `SELECT block_index, data, address FROM transactions JOIN index_addresses ON id = source_id`
  );
  assert.deepEqual(rows, [
    { block_index: LAST + 1, data: 'SEND|0|much', address: addressOf(keyScript, NETWORK.addresses) }
  ]);
  const stored = await query(
    database,
    'SELECT hash FROM blocks JOIN index_transactions ON id = block_hash_id ORDER BY 1'
  );
  const hashes = blocks
    .filter(({ blockNumber }) => blockNumber >= FIRST && blockNumber <= LAST)
    .map((each) => each.blockHash);
  assert.deepEqual(new Set(stored.map(({ hash }) => hash)), new Set([...hashes, top.hash]));
});
