import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PlatformError } from '../../../../src/errors.ts';
import type { Checkpoint } from '../../../../src/wire/log/checkpoint.ts';
import { openFrontDoor } from '../../../support/sync/front-door.ts';

const AT = 'bitcoin/regtest';
const CHECKPOINT: Checkpoint = {
  chain: 'bitcoin',
  network: 'regtest',
  block_index: 50,
  block_hash: null,
  ledger_hash: 'aa',
  actions_hash: 'bb',
  contract_hash: null,
  checkpoint_seq: 1,
  snapshot_block: 40,
  state_root: 'cc',
  state_root_version: 1,
  block_merkle_root: 'dd',
  block_merkle_version: null,
  validator_signatures: [{ pubkey: '01', sig: '02' }]
};

test('200 for the latest and one by height; 404 where there is none; 400 for what is no height, and for a decoder', async () => {
  const asked: unknown[] = [];
  const { app } = await openFrontDoor({
    answers: {
      'checkpoint.read': ({ height }: { height: number | null }) => {
        asked.push(height);
        if (height === 51) throw new PlatformError('RECORD_UNKNOWN', { reason: 'block 51 has no checkpoint' });
        return { ...CHECKPOINT, secret: 'x' };
      }
    }
  });
  const get = async (tail: string) => app.inject(`/checkpoint/${tail}`);
  for (const tail of ['latest', '50']) {
    const answer = await get(`indexer/${AT}/${tail}`);
    assert.equal(answer.statusCode, 200);
    assert.deepEqual(answer.json(), CHECKPOINT);
  }
  const missing = await get(`indexer/${AT}/51`);
  assert.equal(missing.statusCode, 404);
  assert.equal(missing.json().error, 'block 51 has no checkpoint');
  assert.deepEqual(asked, [null, 50, 51]);
  for (const bad of ['x', '-1', '1.5']) assert.equal((await get(`indexer/${AT}/${bad}`)).statusCode, 400, bad);
  assert.equal((await get(`decoder/${AT}/latest`)).json().error, 'checkpoints are indexer-only');
  assert.equal((await get(`indexer/no/where/latest`)).statusCode, 404);
});

test('403 in client mode', async () => {
  const { app } = await openFrontDoor({ config: { SYNC_MODE: 'client' } });
  assert.equal((await app.inject(`/checkpoint/indexer/${AT}/latest`)).statusCode, 403);
});
