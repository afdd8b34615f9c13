import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSignedWhole } from '../../../src/coin/payload/signed-whole.ts';
import { payTo, payToScript, type ScriptKind } from '../../../src/coin/script/pay-scripts.ts';
import { writePush } from '../../../src/coin/script/script.ts';
import { carry } from '../../support/coin/carriers.ts';

const ecdsa = (type: number, length = 71) => Buffer.from([0x30, length - 3, ...Buffer.alloc(length - 3, 2), type]);
const schnorr = (type?: number) => Buffer.from([...Buffer.alloc(64, 3), ...(type === undefined ? [] : [type])]);
const KEY = Buffer.from([2, ...Buffer.alloc(32, 5)]);
const paid = (kind: ScriptKind, bytes: number) => payTo({ kind, bytes: Buffer.alloc(bytes, 7) });
const [OLD, NEW, TAPROOT] = [paid('keyHash', 20), paid('witnessKeyHash', 20), paid('taproot', 32)] as const;

/** Whether an input with these pushes and this witness signs the whole. */
function signs(spent: Uint8Array, pushes: readonly Uint8Array[], witness: readonly Buffer[] = []): boolean {
  const script = Buffer.concat(pushes.map(writePush));
  return isSignedWhole(
    carry([], { inputs: [{ txid: 'ab'.repeat(32), vout: 0, script }], witnesses: [witness] }),
    spent
  );
}

test('a signature of any length counts by its last byte', () => {
  for (const length of [9, 70, 71, 72, 73]) {
    assert.ok(signs(OLD, [ecdsa(1, length), KEY]));
    assert.ok(signs(NEW, [], [ecdsa(1, length), KEY]));
    for (const type of [0, 2, 3, 0x81, 0x82, 0x83]) {
      assert.ok(!signs(OLD, [ecdsa(type, length), KEY]));
      assert.ok(!signs(NEW, [], [ecdsa(type, length), KEY]));
    }
  }
});

test('a signature beside an open one does not stand in for it, wherever it is', () => {
  const [open, whole] = [ecdsa(0x83), ecdsa(1)];
  assert.ok(!signs(OLD, [whole, open, KEY]));
  const shared = Buffer.from([0x52, ...writePush(KEY), ...writePush(KEY), 0x52, 0xae]);
  for (const [first, second] of [[open, whole] as const, [whole, open] as const]) {
    assert.ok(!signs(payToScript(shared, 'p2sh'), [Buffer.alloc(0), first, second, shared]));
    assert.ok(!signs(payToScript(shared, 'p2wsh'), [], [Buffer.alloc(0), first, second, shared]));
  }
  assert.ok(signs(payToScript(shared, 'p2wsh'), [], [Buffer.alloc(0), whole, whole, shared]));
  assert.ok(!signs(TAPROOT, [], [schnorr(), schnorr(0x83), Buffer.alloc(34), Buffer.alloc(33, 0xc0)]));
});

test('a spender without a signature is no source: anybody spends a script that asks for none', () => {
  const preimage = Buffer.alloc(32, 9);
  const locked = Buffer.from([0xa8, ...writePush(preimage), 0x87]);
  assert.ok(!signs(payToScript(locked, 'p2wsh'), [], [preimage, locked]));
  assert.ok(!signs(payToScript(locked, 'p2sh'), [preimage, locked]));
  assert.ok(!signs(TAPROOT, [], []));
  assert.ok(!signs(Buffer.from([0x52, 32, ...Buffer.alloc(32)]), [], [ecdsa(1), schnorr()]), 'of no known version');
  assert.ok(!signs(Buffer.from([0x51]), [ecdsa(1), KEY]), 'an output that anybody spends');
});

test('an annex and the way to a leaf are no signatures', () => {
  const annex = Buffer.from([0x50, ...Buffer.alloc(63)]);
  assert.ok(signs(TAPROOT, [], [schnorr(), annex]));
  assert.ok(signs(TAPROOT, [], [schnorr(1), annex]));
  assert.ok(!signs(TAPROOT, [], [schnorr(0x83), annex]));
  const [leaf, way] = [Buffer.alloc(64, 1), Buffer.from([0xc0, ...Buffer.alloc(64)])];
  assert.ok(signs(TAPROOT, [], [schnorr(), leaf, way]));
  assert.ok(!signs(TAPROOT, [], [schnorr(0x83), leaf, way]));
  assert.ok(!signs(TAPROOT, [], [leaf, way]), 'nobody signed');
});
