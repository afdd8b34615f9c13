import assert from 'node:assert/strict';
import { test } from 'node:test';
import { balanceLeaf } from '../../../../src/consensus/balance-leaf.ts';
import { BalanceTree } from '../../../../src/consensus/balance-tree.ts';
import { CommitmentHashes } from '../../../../src/consensus/commitment-hashes.ts';
import { FollowedTree } from '../../../../src/replication/commitment/followed-tree.ts';

const hashes = new CommitmentHashes('PLATFORM');
const names = { chain: 'litecoin', network: 'regtest' } as const;
const leaf = (address: string) => balanceLeaf(hashes, names, { address, tick: 'TOKA', amount: '1' });

/** A tree of block 100, and the root after each of two groups: up to 105, and up to 116. */
async function follow() {
  const tree = new FollowedTree(100, () => undefined);
  tree.setTree(new BalanceTree(hashes));
  const roots: (string | null)[] = [];
  for (const [base, last] of [
    [100, 105],
    [105, 116]
  ] as const) {
    roots.push(await tree.advance({ base, last, changes: [leaf(`A${last}`)], claimed: null }));
    await tree.settle(true);
  }
  return { tree, roots };
}

test('a rollback to the end of a group leaves the tree of that block', async () => {
  const { tree, roots } = await follow();
  assert.equal(await tree.rollBack(105), 'there');
  assert.equal(await tree.advance({ base: 105, last: 106, changes: [leaf('A116')], claimed: null }), roots[1]);
});

test('a rollback into the middle of a group is told: the tree lacks the blocks of it that stay', async () => {
  const { tree } = await follow();
  assert.equal(await tree.rollBack(115), 'below');
});

test('a rollback below the first group is nowhere', async () => {
  const { tree } = await follow();
  assert.equal(await tree.rollBack(99), 'nowhere');
});

test('a rollback above the newest group changes nothing', async () => {
  const { tree } = await follow();
  assert.equal(await tree.rollBack(116), 'there');
  assert.equal(tree.height, 116);
});
