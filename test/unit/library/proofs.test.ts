import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { test } from 'node:test';
import { canonicalJson } from '../../../src/consensus/canonical-json.ts';
import { epochRoot, inclusionProof, leafHash } from '../../../src/consensus/epoch-tree.ts';
import { verifyBlock, verifyCheckpoint } from '../../../src/library/proofs.ts';

const hashesOf = (height: number) => ({ ledger_hash: `a${height}`, actions_hash: `b${height}`, contract_hash: null });

test('a block is in its epoch by its own hashes, and by no others', () => {
  const leaves = [1, 2, 3, 4, 5].map((height) => leafHash(hashesOf(height)));
  const proof = { proof: inclusionProof(leaves, 2) };
  assert.equal(verifyBlock(hashesOf(3), proof, epochRoot(leaves)), true);
  assert.equal(verifyBlock(hashesOf(4), proof, epochRoot(leaves)), false);
  assert.equal(verifyBlock(hashesOf(3), proof, epochRoot(leaves.slice(1))), false);
});

test('a checkpoint holds when more than two thirds of the weight signed it as it is', () => {
  const keys = ['a', 'b', 'c'].map((source) => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const pubkey = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex');
    return { privateKey, validator: { pubkey, weight: 1, source } };
  });
  const record = {
    chain: 'litecoin',
    network: 'regtest',
    block_index: 9,
    block_hash: null,
    ledger_hash: 'aa',
    actions_hash: null,
    contract_hash: null,
    checkpoint_seq: null,
    snapshot_block: null,
    state_root: 'bb',
    state_root_version: null,
    block_merkle_root: null,
    block_merkle_version: null
  };
  const message = Buffer.from(canonicalJson(record));
  const signatures = keys.map(({ privateKey, validator }) => ({
    pubkey: validator.pubkey,
    sig: sign(null, message, privateKey).toString('hex')
  }));
  const validators = keys.map(({ validator }) => validator);
  const signed = (count: number) => ({ ...record, validator_signatures: signatures.slice(0, count) });
  assert.equal(verifyCheckpoint(signed(3), validators), true);
  assert.equal(verifyCheckpoint(signed(2), validators), false);
  assert.equal(verifyCheckpoint({ ...signed(3), state_root: 'cc' }, validators), false);
});
