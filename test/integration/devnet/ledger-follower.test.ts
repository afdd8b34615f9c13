import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, rows } from '../../../src/db/core/connection.ts';
import { startLedgerFollower } from '../../../src/devnet/ledger/follower.ts';
import { silentLogger } from '../../../src/log.ts';
import type { DatabaseCoordinates } from '../../../src/wire/database.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { appendBlocks, createDecoder, reorg } from '../../support/sync/generated-decoder.ts';

const DEADLINE_MS = 20_000;

function follow(decoder: DatabaseCoordinates, indexer: DatabaseCoordinates): () => Promise<void> {
  const stop = new AbortController();
  const { signal } = stop;
  const done = startLedgerFollower({ decoder, indexer, seed: 's', pollMs: 10, log: silentLogger, signal });
  return async () => {
    stop.abort();
    await done;
  };
}

/** The hash of the chain's block at every height, as each database has it. */
async function chains(decoder: DatabaseCoordinates, indexer: DatabaseCoordinates): Promise<[string, string]> {
  const connection = await connect(decoder);
  try {
    const theirs = await rows(
      connection,
      'SELECT block_index AS height, hash FROM blocks JOIN index_transactions ON id = block_hash_id ORDER BY 1'
    );
    const ours = await rows(
      connection,
      `SELECT b.block_index AS height, JSON_VALUE((SELECT data FROM \`${indexer.name}\`.events e WHERE code = 'BLOCK'
         AND data LIKE CONCAT('{"block_index":', b.block_index, ',%') ORDER BY e.id DESC LIMIT 1), '$.block_hash') AS hash
       FROM \`${indexer.name}\`.blocks b ORDER BY 1`
    );
    return [JSON.stringify(theirs), JSON.stringify(ours)];
  } finally {
    await connection.end();
  }
}

async function untilEqual(decoder: DatabaseCoordinates, indexer: DatabaseCoordinates): Promise<void> {
  for (const deadline = Date.now() + DEADLINE_MS; ; await sleep(20)) {
    const [theirs, ours] = await chains(decoder, indexer).catch((caught: Error) => ['', caught.message]);
    if (theirs === ours) return;
    if (Date.now() > deadline) assert.equal(ours, theirs);
  }
}

test('the ledger follows a decoder, through reorgs seen and missed, stops and restarts', async () => {
  const decoder = await createDatabase('decoder');
  const indexer = { ...decoder, name: `${(await createDatabase('indexer')).name}` };
  await createDecoder(decoder, { seed: 'f', blocks: 40, rows: 2_000 });
  let stop = follow(decoder, indexer);
  await untilEqual(decoder, indexer);
  await appendBlocks(decoder, 5, 'live');
  await reorg(decoder, 6, 7, 'seen');
  await untilEqual(decoder, indexer);
  await stop();
  await reorg(decoder, 10, 4, 'missed, and shorter');
  stop = follow(decoder, indexer);
  await untilEqual(decoder, indexer);
  for (let at = 0; at < 5; at++) {
    await stop(); // in the middle of whatever it does
    await appendBlocks(decoder, 3, `restart ${at}`);
    stop = follow(decoder, indexer);
  }
  await untilEqual(decoder, indexer);
  await stop();
});

test('the ledger waits for a decoder that is not there yet', async () => {
  const decoder = await createDatabase('decoder');
  const indexer = await createDatabase('indexer');
  const stop = follow(decoder, indexer);
  await sleep(100);
  await createDecoder(decoder, { seed: 'late', blocks: 5, rows: 100 });
  await untilEqual(decoder, indexer);
  await stop();
});
