import assert from 'node:assert/strict';
import { constants } from 'node:buffer';
import { test } from 'node:test';
import { encodeMessage } from '../../../src/wire/data/block.ts';
import type { BlockMessage, WireRows } from '../../../src/wire/data/messages.ts';
import fc from '../../support/fast-check.ts';

const HEAD = { type: 'block', chain: 'c', network: 'n', dbType: 'indexer', schema_version: 7 } as const;

function messageOf(data: WireRows, more: Partial<BlockMessage> = {}): BlockMessage {
  return { ...HEAD, block_index: 1, block_time: null, data, ...more };
}

test('the bytes are those of JSON.stringify, whatever the rows', () => {
  const rows = fc.dictionary(
    fc.string(),
    fc.array(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), { maxLength: 150 }),
    { maxKeys: 4, noNullPrototype: true }
  );
  fc.assert(
    fc.property(rows, fc.option(rows, { nil: undefined }), (data, updated_rows) => {
      const ranges = { t: { column: null, spans: [[1, 2] as [number, number]], rows: data['t'] ?? [{}] } };
      const more = updated_rows ? { updated_rows, ranges } : {};
      const message = messageOf(data, { ...more, previous_hash: { ledger_hash: 'é' } });
      assert.equal(Buffer.from(encodeMessage(message)).toString(), Buffer.from(JSON.stringify(message)).toString());
    }),
    { numRuns: 20 }
  );
  const long = messageOf({ t: Array.from({ length: 300 }, (_, id) => ({ id, text: 'é'.repeat(20_000) })) });
  assert.equal(Buffer.from(encodeMessage(long)).toString(), JSON.stringify(long));
});

test('a message that is larger than clients take has no bytes; one of exactly that length has', () => {
  const message = messageOf({ t: [{ text: 'é'.repeat(1_000) }] });
  const { length } = Buffer.from(JSON.stringify(message));
  assert.equal(encodeMessage(message, length).length, length);
  assert.equal(encodeMessage(message, length - 1).length, 0);
});

test('a message that is longer than any string has no bytes either, and is not made first', () => {
  const row = { text: 'x'.repeat(4_000_000) };
  const rows = Array.from({ length: 150 }, () => row);
  assert.ok(rows.length * row.text.length > constants.MAX_STRING_LENGTH);
  const message = messageOf({ t: rows });
  assert.equal(encodeMessage(message, 2 ** 24).length, 0);
});
