import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { epochRoot, inclusionProof, leafHash, verifyProof } from '../../../src/consensus/epoch-tree.ts';
import { hasCode } from '../../../src/errors.ts';
import fc from '../../support/fast-check.ts';

const sha256 = (text: string) => createHash('sha256').update(text, 'ascii').digest('hex');
const leavesOf = (count: number) => Array.from({ length: count }, (_, index) => sha256(`leaf ${index}`));
const leaves = fc.integer({ min: 1, max: 130 }).map(leavesOf);

test('a leaf is the hash of the three texts, a missing one is empty', () => {
  const hashes = { ledger_hash: 'aa', actions_hash: null, contract_hash: 'CC' };
  assert.equal(leafHash(hashes), sha256('aacc'));
  assert.equal(leafHash({ ledger_hash: null, actions_hash: null, contract_hash: null }), sha256(''));
});

// Printed by: printf '%s' ... | sha256sum, pair by pair.
test('golden roots', () => {
  const [a, b, c] = [sha256('a'), sha256('b'), sha256('c')];
  assert.equal(a, 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb');
  assert.equal(epochRoot([a]), a);
  assert.equal(epochRoot([a, b]), '62af5c3cb8da3e4f25061e829ebeea5c7513c54949115b1acc225930a90154da');
  assert.equal(epochRoot([a, b, c]), sha256(sha256(a + b) + sha256(c + c)));
});

test('a step for an odd node repeats its own hash on the right', () => {
  const [a, b, c] = [sha256('a'), sha256('b'), sha256('c')];
  assert.deepEqual(inclusionProof([a, b, c], 2), [
    { hash: c, position: 'right' },
    { hash: sha256(a + b), position: 'left' }
  ]);
});

test('every leaf is proved against the root, and no other leaf by its proof', () => {
  fc.assert(
    fc.property(leaves, fc.nat(), fc.nat(), (list, chosen, other) => {
      const [index, wrong] = [chosen % list.length, other % list.length];
      const root = epochRoot(list);
      const proof = inclusionProof(list, index);
      assert.ok(verifyProof(list[index]!, proof, root));
      assert.equal(verifyProof(list[wrong]!, proof, root), index === wrong);
      assert.equal(verifyProof(list[index]!, proof, sha256(root)), false);
    })
  );
});

test('a changed leaf changes the root', () => {
  fc.assert(
    fc.property(leaves, fc.nat(), (list, chosen) => {
      const index = chosen % list.length;
      assert.notEqual(epochRoot(list.with(index, sha256('another'))), epochRoot(list));
    })
  );
});

test('EPOCH_EMPTY', () => {
  assert.throws(
    () => epochRoot([]),
    (error) => hasCode(error, 'EPOCH_EMPTY')
  );
});

test('LEAF_UNKNOWN', () => {
  for (const index of [-1, 3, 0.5]) {
    assert.throws(
      () => inclusionProof(leavesOf(3), index),
      (error) => hasCode(error, 'LEAF_UNKNOWN')
    );
  }
});
