import assert from 'node:assert/strict';
import { test } from 'node:test';
import nacl from 'tweetnacl';
import { canonicalJson } from '../../../../src/consensus/canonical-json.ts';
import { freePort } from '../../../../src/devnet/processes/free-port.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { sql } from '../../../support/sql.ts';
import { appendBlocks, createIndexer } from '../../../support/sync/generated-indexer.ts';
import { startLyingSource } from '../../../support/sync/lying-source.ts';
import { ReplicaThread } from '../../../support/sync/replica-thread.ts';
import { PAIR_KEY, startTestHub } from '../../../support/sync/sync-pair.ts';
import { eventually, startSyncProcess, temporaryDirectory } from '../../../support/sync/sync-process.ts';

const source = await createDatabase('checkpoints');
await createIndexer(source, { seed: 'checkpoints', blocks: 10, rows: 300 });
const server = await startSyncProcess({
  HUB_API_HOST: '127.0.0.1',
  HUB_PORT: await startTestHub([['indexer', source]]),
  SYNC_API_KEY: PAIR_KEY,
  SYNC_MODE: 'server',
  SYNC_API_PORT: await freePort(),
  SYNC_STATE_DIR: temporaryDirectory('server-state'),
  BLOCK_POLL_INTERVAL: 30,
  SNAPSHOT_RATE_FULL: 1000
});

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const KEYS = [1, 2, 3].map((seed) => nacl.sign.keyPair.fromSeed(new Uint8Array(32).fill(seed)));
const validators = KEYS.map(({ publicKey }, index) => ({ pubkey: hex(publicKey), weight: 1, source: `v${index}` }));

/** Records a checkpoint of a block in the source, signed by the first keys. */
async function checkpoint(height: number, signers: number, falsified = ''): Promise<void> {
  await sql(
    source,
    `INSERT INTO state_checkpoints (chain, network, block_index, checkpoint_seq, ledger_hash, actions_hash, block_hash, contract_hash, snapshot_block, validator_signatures)
     SELECT 'LTC', 'regtest', b.block_index, b.block_index, CONCAT('${falsified}', SUBSTR(l.hash, ${falsified.length + 1})), a.hash, '', c.hash, 0, '[]' FROM blocks b
     JOIN index_transactions c ON c.id = b.contract_hash_id JOIN index_transactions l ON l.id = b.ledger_hash_id JOIN index_transactions a ON a.id = b.actions_hash_id
     WHERE b.block_index = ${height}`
  );
  let body: Record<string, unknown> = {};
  await eventually('the server offers the checkpoint', async () => {
    const answer = await server.get(`/checkpoint/indexer/litecoin/regtest/${height}`);
    body = answer.body;
    return answer.status === 200;
  });
  const { validator_signatures: _, ...record } = body;
  const text = Buffer.from(canonicalJson(record));
  const signatures = KEYS.slice(0, signers).map(({ publicKey, secretKey }) => ({
    pubkey: hex(publicKey),
    sig: hex(nacl.sign.detached(text, secretKey))
  }));
  await sql(
    source,
    `UPDATE state_checkpoints SET validator_signatures = '${JSON.stringify(signatures)}' WHERE block_index = ${height}`
  );
}

test('checkpoints that a quorum signed anchor the replica; one without a quorum proves nothing; one that differs halts', async () => {
  await checkpoint(109, 3);
  const replica = new ReplicaThread(await createDatabase('checkpoints_replica'), 'indexer', [server.url], {
    verifyHashes: false,
    hashConfirmTimeoutMs: 300,
    checkpoints: { interval: 2, validators }
  });
  const anchoredAt = (height: number) =>
    replica.until(`anchored at ${height}`, (report) => report.replica!.checkpointHeight === height);
  await anchoredAt(109);
  await checkpoint(await appendBlocks(source, 2, 'two of three'), 2, 'f0');
  await replica.isLiveAt(await appendBlocks(source, 2, 'more'));
  assert.equal(replica.report!.replica!.halt, null);
  await checkpoint(113, 3);
  await appendBlocks(source, 2, 'and more');
  await anchoredAt(113);
  const tip = await appendBlocks(source, 1, 'the last good one');
  await checkpoint(tip, 3, 'f1');
  await appendBlocks(source, 2, 'beyond it');
  await replica.until('halted', ({ phase }) => phase === 'halted');
  const halt = replica.report!.replica!.halt!;
  assert.deepEqual([halt.block_index, halt.reason, halt.sources], [tip, 'checkpoint-mismatch', [server.url]]);
  assert.deepEqual(Object.keys(halt.mismatches as object), ['ledger_hash']);
  await replica.end();
});

test('two sources of an indexer agree on its blocks; an index of addresses that differs from the source is counted, and stops nothing', async () => {
  const falsify = (_: string, body: Record<string, unknown>) =>
    body['index_map'] ? { ...body, index_map: { ...body['index_map'], sha256: '0'.repeat(64) } } : body;
  const liar = await startLyingSource(server.url, falsify);
  const follow = async (...urls: string[]) =>
    new ReplicaThread(await createDatabase('index_map_replica'), 'indexer', urls, { checksIndexMap: true });
  const [equal, differing] = await Promise.all([follow(server.url, liar.url), follow(liar.url, server.url)]);
  await differing.until('counted', ({ replica }) => (replica!.indexMapMismatches ?? 0) > 0);
  await differing.isLiveAt(await appendBlocks(source, 1, 'after it'));
  assert.equal(differing.report!.replica!.halt, null);
  await equal.until('compared', (report) => report.replica!.indexMapMismatches === 0);
  await Promise.all([equal.end(), differing.end()]);
});
