import assert from 'node:assert/strict';
import { test } from 'node:test';
import { balanceLeaf, type LeafChange, plainAmount } from '../../../src/consensus/balance-leaf.ts';
import { BalanceTree, computeTops } from '../../../src/consensus/balance-tree.ts';
import { blockRoot, type LedgerLeaf, stateRoot } from '../../../src/consensus/block-root.ts';
import { CommitmentHashes, toHex } from '../../../src/consensus/commitment-hashes.ts';
import fc from '../../support/fast-check.ts';
import VECTORS from './state-commitment-vectors.json' with { type: 'json' };

const hashes = new CommitmentHashes('PLATFORM');
const EMPTY_ROOT = toHex(hashes.empty[256]!);

function treeOf(leaves: readonly LeafChange[], own = hashes): BalanceTree {
  const tree = new BalanceTree(own);
  tree.apply(leaves);
  return tree;
}

/** As a first tree is made: loaded without hashing, then bucket by bucket. */
function loaded(leaves: readonly LeafChange[]): BalanceTree {
  const tree = new BalanceTree(hashes, leaves.length);
  tree.load(leaves);
  for (const { from, batch } of tree.batches(7)) {
    const copy = { ...batch, records: Uint8Array.from(batch.records) };
    computeTops(hashes, copy);
    tree.finish(from, copy);
  }
  return tree;
}

test('golden vectors: balances_root by all 256 levels', () => {
  for (const [domain, chain, network, balances, root] of VECTORS.balances as [
    string,
    string,
    string,
    string[][],
    string
  ][]) {
    const own = new CommitmentHashes(domain);
    const leaves = balances.map(([address = '', tick = '', amount = '']) =>
      balanceLeaf(own, { chain, network }, { address, tick, amount })
    );
    assert.equal(toHex(treeOf(leaves, own).root), root, `${domain} ${chain} ${balances.length}`);
  }
});

test('golden vectors: state_root, with and without a state hash', () => {
  for (const [domain, balancesRoot, blockMerkleRoot, ledger, actions, contract, state, root] of VECTORS.states as [
    ...[string, string, string, string, string, string],
    string | null,
    string
  ][]) {
    const parts = { balancesRoot, blockMerkleRoot, ledger, actions, contract, state };
    assert.equal(toHex(stateRoot(new CommitmentHashes(domain), parts)), root);
  }
});

test('golden vectors: block_merkle_root', () => {
  for (const [domain, ledger, actions, root] of VECTORS.blocks as [
    string,
    Record<string, unknown[][]>,
    unknown[][],
    string
  ][]) {
    const rows = (kind: string): LedgerLeaf[] =>
      (ledger[kind] ?? []).map(([index, address, tick, amount]) => ({
        actionIndex: BigInt(index as number).toString(),
        address: String(address),
        tick: String(tick),
        amount: String(amount)
      }));
    const block = {
      credits: rows('credits'),
      debits: rows('debits'),
      escrows: rows('escrows'),
      actions: actions.map(([index, tx, action]) => ({
        actionIndex: String(index),
        txIndex: tx === null ? null : String(tx),
        action: String(action)
      }))
    };
    assert.equal(toHex(blockRoot(new CommitmentHashes(domain), block)), root);
  }
});

const zeros = '0'.repeat(2 ** 20);

test('amounts are plain decimals with exactly 18 fractional digits; zero has no leaf', () => {
  assert.equal(plainAmount('1'), '1.000000000000000000');
  assert.equal(plainAmount('0021.50'), '21.500000000000000000');
  assert.equal(plainAmount('0.0000000000000000010000'), '0.000000000000000001');
  assert.equal(plainAmount('5.'), '5.000000000000000000');
  for (const zero of ['0', '000', '0.0', '0.000000000000000000000']) assert.equal(plainAmount(zero), null);
  assert.equal(plainAmount(`${zeros}7.5${zeros}`), '7.500000000000000000');
});

test('STATE_UNENCODABLE: an amount that is negative, finer than 18 places or no decimal, and a zero byte in a field', () => {
  for (const bad of ['-1', '0.0000000000000000001', '1e5', '', '.5', ' 1', 'NaN'])
    assert.throws(() => plainAmount(bad), { code: 'STATE_UNENCODABLE' }, bad);
  for (const endless of [`${zeros}x`, `1.${zeros}x`, `1.${zeros}1`])
    assert.throws(() => plainAmount(endless), { code: 'STATE_UNENCODABLE' });
  const names = { chain: 'litecoin', network: 'regtest' };
  assert.throws(() => balanceLeaf(hashes, names, { address: 'a\0b', tick: 't', amount: '1' }), {
    code: 'STATE_UNENCODABLE'
  });
});

/** Paths that share long beginnings with each other, as someone might search for, and ones that do not. */
const path = fc
  .tuple(fc.constantFrom(0, 0, 8, 100, 200, 255), fc.array(fc.nat(255), { minLength: 32, maxLength: 32 }))
  .map(([shared, bytes]) => {
    const bits = Buffer.from(bytes);
    for (let bit = 0; bit < shared; bit++) bits[bit >> 3]! &= ~(128 >> (bit & 7));
    return bits.toString('latin1');
  });
const amount = fc.option(fc.bigInt({ min: 1n, max: 10n ** 30n }), { freq: 3 });
const changes = fc
  .tuple(
    fc.uniqueArray(path, { minLength: 1, maxLength: 80, size: 'max' }),
    fc.array(fc.tuple(fc.nat(), amount), { maxLength: 150, size: 'max' })
  )
  .map(([paths, list]) =>
    list.map(
      ([at, value]): LeafChange => ({
        path: paths[at % paths.length]!,
        value: value === null ? null : hashes.leaf(`${value}.${'0'.repeat(18)}`)
      })
    )
  );

test('any sequence of changes leads to the root of what is left, in any order, also by a first load', () => {
  fc.assert(
    fc.property(changes, fc.integer({ min: 1, max: 50 }), (list, step) => {
      const tree = new BalanceTree(hashes);
      for (let at = 0; at < list.length; at += step) tree.apply(list.slice(at, at + step));
      const left = new Map(list.map(({ path, value }) => [path, value]));
      const leaves = [...left].flatMap(([path, value]) => (value === null ? [] : [{ path, value }]));
      assert.equal(tree.size, leaves.length);
      assert.equal(toHex(tree.root), leaves.length === 0 ? EMPTY_ROOT : toHex(treeOf(leaves.toReversed()).root));
      assert.equal(toHex(loaded(leaves).root), toHex(tree.root));
    }),
    { numRuns: 60 }
  );
});

test('a change returns the change that takes it back', () => {
  fc.assert(
    fc.property(changes, changes, (before, list) => {
      const tree = treeOf(before);
      const [root, size] = [tree.root, tree.size];
      const inverse = tree.apply(list);
      tree.apply(inverse);
      assert.deepEqual([tree.root, tree.size], [root, size]);
    }),
    { numRuns: 40 }
  );
});

test('a tree that outgrows its buckets keeps its root', () => {
  const leaves = Array.from({ length: 3000 }, (_, index) =>
    balanceLeaf(hashes, { chain: 'c', network: 'n' }, { address: `${index}`, tick: 't', amount: `${index + 1}` })
  );
  const tree = new BalanceTree(hashes);
  for (let at = 0; at < leaves.length; at += 100) tree.apply(leaves.slice(at, at + 100));
  assert.equal(toHex(tree.root), toHex(loaded(leaves).root));
  tree.apply(leaves.map(({ path }) => ({ path, value: null })));
  assert.equal(toHex(tree.root), EMPTY_ROOT);
});
