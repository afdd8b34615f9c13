import assert from 'node:assert/strict';
import fc from 'fast-check';
import { ACTIONS } from '../../../src/coin/action/names.ts';
import { toBaseUnits, toDecimal } from '../../../src/coin/amount.ts';
import { parseExactJson } from '../../../src/coin/node/exact-json.ts';
import { encodePayload } from '../../../src/coin/payload/payload.ts';
import { readScript, writePush } from '../../../src/coin/script/script.ts';
import { carry, payloadOf, returnScript } from '../../../test/support/coin/carriers.ts';
import { hostileJson, hostileText, mutated, ODD_NUMBERS } from '../support/hostile.ts';
import { target } from '../support/target.ts';

const TXID = 'ab'.repeat(32);
const actions = fc.oneof(
  fc
    .tuple(fc.constantFrom(...ACTIONS, 'transfer', ' send ', 'ſend', '__proto__', 'constructor'), hostileText)
    .map(([name, rest]) => `${name}|${rest}`),
  hostileText
);

interface Transaction {
  /** Scripts of its outputs. */
  readonly scripts: readonly Uint8Array[];
  readonly json: string;
  readonly amount: string;
}

const scripts = fc.tuple(actions, fc.option(fc.uint8Array({ maxLength: 300 }))).map(([action, rawData]) => {
  const payload = encodePayload(TXID, action.slice(0, 2_000), { rawData });
  return returnScript(payload);
});

/** Splits encoded payloads over outputs, in the frames' own order. */
const find = (list: readonly Uint8Array[]) => payloadOf(carry(list, { txid: TXID }));
const one = (script: Uint8Array): Transaction => ({ scripts: [script], json: '0', amount: '0' });

export const payloads = target<Transaction>({
  name: 'payloads',
  promise: 'what a transaction carries is a known action or nothing; amounts and numbers keep every digit',
  runs: 15_000,
  shortRuns: 2_000,
  inputs: fc.record({
    scripts: fc.array(fc.oneof(scripts, mutated(scripts), fc.uint8Array({ maxLength: 100 })), {
      minLength: 1,
      maxLength: 3
    }),
    json: hostileJson,
    amount: fc.oneof(hostileText, fc.constantFrom(...ODD_NUMBERS), fc.double().map(String))
  }),
  check: ({ scripts: list, json, amount }) => {
    const found = find(list);
    if (found?.action != null) {
      assert.ok(ACTIONS.has(found.action.split('|', 1)[0]!), found.action.slice(0, 100));
      const { length } = list.reduce((sum, script) => Buffer.concat([sum, script]), Buffer.alloc(0));
      assert.ok(found.action.length + (found.rawData?.length ?? 0) <= length);
      const again = encodePayload(TXID, found.action, { rawData: found.rawData });
      if (found.action.isWellFormed())
        assert.deepEqual(find([returnScript(again)]), { ...found, written: found.action, isUtf8: true });
    }
    for (const script of list) {
      const bytes = (readScript(script) ?? []).reduce((sum, { data }) => sum + (data?.length ?? 0), 0);
      assert.ok(bytes <= script.length);
    }
    let units: bigint | null = null;
    try {
      units = toBaseUnits(amount);
    } catch (caught) {
      assert.ok(caught instanceof RangeError && caught.message.length < 200);
    }
    if (units !== null) assert.equal(toBaseUnits(toDecimal(units % 10n ** 25n)), units % 10n ** 25n);
    if (json.length < 1_000) assert.equal(typeof parseExactJson(`{"v":${json}}`), 'object');
  },
  growing: {
    'a script of empty pushes': (length) => one(Buffer.alloc(length)),
    'a script of pushes': (length) => one(Buffer.alloc(length, 1)),
    'a push': (length) => one(Buffer.concat([Buffer.from([0x6a]), writePush(Buffer.alloc(Math.min(length, 65_535)))])),
    digits: (length) => ({ ...one(Buffer.alloc(1)), amount: '1'.repeat(length) }),
    'a small amount': (length) => ({ ...one(Buffer.alloc(1)), amount: `0.${'0'.repeat(length)}1` })
  }
});
