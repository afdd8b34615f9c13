import assert from 'node:assert/strict';
import { createCipheriv } from 'node:crypto';
import { test } from 'node:test';
import { ACTIONS } from '../../../src/coin/action/names.ts';
import { chunkScripts, envelopeScript, markerScript, multisigScripts } from '../../../src/coin/payload/lane-writer.ts';
import { findCarried } from '../../../src/coin/payload/lanes.ts';
import { encodePayload, encryptPayload, MAX_ACTION_DATA_LENGTH, readFrame } from '../../../src/coin/payload/payload.ts';
import type { RawTransaction } from '../../../src/coin/raw/raw-transaction.ts';
import { pushSize, readScript, writePush } from '../../../src/coin/script/script.ts';
import { carry, payloadOf, returnScript } from '../../support/coin/carriers.ts';
import fc from '../../support/fast-check.ts';
import VECTORS from './payload-vectors.json' with { type: 'json' };

const TXID = '00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff';
const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

/** A transaction with one OP_RETURN output for each payload. */
const carryPayloads = (payloads: readonly Uint8Array[], txid = TXID) =>
  carry([Buffer.from('0014', 'hex'), ...payloads.map(returnScript)], { txid });

const txid = fc.uint8Array({ minLength: 32, maxLength: 32 }).map(hexOf);
const action = fc
  .tuple(fc.constantFrom(...ACTIONS), fc.string({ unit: 'grapheme', maxLength: 700 }))
  .map(([name, rest]) => `${name}|${rest}`);
const rawData = fc.option(fc.uint8Array({ minLength: 1, maxLength: 3000 }));
const magic = fc.stringMatching(/^[!-~]{4}$/);

test('every payload is found as it was encoded', () => {
  fc.assert(
    fc.property(txid, action, rawData, magic, (firstInput, text, raw, mark) => {
      fc.pre(!/^0+$/.test(firstInput));
      const found = payloadOf(
        carryPayloads([encodePayload(firstInput, text, { rawData: raw, magic: mark })], firstInput),
        mark
      );
      assert.equal(found?.action, text);
      assert.deepEqual(found.rawData && hexOf(found.rawData), raw && hexOf(raw));
    })
  );
});

test('golden vectors: encodePayload writes the bytes that openssl does, and the reader finds it', () => {
  assert.ok(VECTORS.length >= 5);
  for (const { firstInputTxid, action: text, rawDataHex, magic: mark, payloadHex } of VECTORS) {
    const raw = rawDataHex === null ? null : Buffer.from(rawDataHex, 'hex');
    assert.equal(hexOf(encodePayload(firstInputTxid, text, { rawData: raw, magic: mark })), payloadHex);
    const found = payloadOf(carryPayloads([Buffer.from(payloadHex, 'hex')], firstInputTxid), mark);
    assert.deepEqual(
      { action: found?.action, raw: found?.rawData ? hexOf(found.rawData) : null },
      { action: text, raw: rawDataHex }
    );
  }
});

test('arbitrary scripts never throw and say nothing', () => {
  fc.assert(
    fc.property(txid, fc.array(fc.uint8Array({ maxLength: 100 })), (firstInput, scripts) => {
      assert.equal(payloadOf(carry(scripts, { txid: firstInput })), undefined);
      for (const script of scripts) readScript(script);
    })
  );
});

test('arbitrary frames behind the magic never throw', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (frame) => {
      payloadOf(carryPayloads([encodeRaw(frame)]));
    })
  );
});

test('several OP_RETURN outputs are one payload, in the order of the outputs', () => {
  const text = `FILE|0|${'x'.repeat(100)}`;
  const whole = writePush(Buffer.from(text));
  const parts = [whole.subarray(0, 40), whole.subarray(40)].map((part) => encodeRaw(part));
  assert.equal(payloadOf(carryPayloads(parts))?.action, text);
  assert.equal(payloadOf(carryPayloads(parts.reverse())), undefined);
});

test('aliases get their full names, unknown names nothing', () => {
  const read = (text: string) => payloadOf(carryPayloads([encodePayload(TXID, text)]))?.action;
  assert.equal(read('transfer|0|A'), 'SEND|0|A');
  assert.equal(read(' drop |0'), 'AIRDROP|0');
  assert.equal(read('CAST'), 'BROADCAST');
  assert.equal(read('MSG|MSG'), 'MESSAGE|MSG');
  assert.equal(read('ADDR|1'), 'ADDRESS|1');
  for (const text of ['STEAL|0', '|SEND', 'constructor|0', 'SENDX|']) assert.equal(read(text), null, text);
  assert.equal(read(''), undefined);
});

test('a coinbase, another key, another magic and a truncated push say nothing', () => {
  const payload = encodePayload(TXID, 'SEND|0');
  assert.equal(payloadOf(carryPayloads([payload], '0'.repeat(64))), undefined);
  assert.equal(payloadOf(carryPayloads([payload], 'ff'.repeat(32))), undefined);
  assert.equal(payloadOf(carryPayloads([payload]), 'OTHR'), undefined);
  assert.equal(payloadOf(carryPayloads([payload.subarray(0, -1)])), undefined);
  assert.equal(payloadOf(carryPayloads([encodeRaw(Buffer.from([0x51]))])), undefined);
});

test('text that is no UTF-8 arrives with replacement characters', () => {
  const frame = writePush(Buffer.concat([Buffer.from('SEND|'), Buffer.from([0xff, 0x41])]));
  const { action, isUtf8 } = payloadOf(carryPayloads([encodeRaw(frame)]))!;
  assert.deepEqual({ action, isUtf8 }, { action: 'SEND|\ufffdA', isUtf8: false });
  assert.equal(payloadOf(carryPayloads([encodePayload(TXID, 'SEND|\ufffdA')]))?.isUtf8, true);
});

test('MAX_ACTION_DATA_LENGTH is 8192 with the prefix of the push; one byte more is refused on both ways', () => {
  assert.equal(MAX_ACTION_DATA_LENGTH, 8192);
  const longest = `FILE|${'x'.repeat(8192 - 3 - 5)}`;
  assert.equal(payloadOf(carryPayloads([encodePayload(TXID, longest)]))?.action, longest);
  assert.throws(() => encodePayload(TXID, `${longest}x`), RangeError);
  assert.equal(payloadOf(carryPayloads([encodeRaw(writePush(Buffer.from(`${longest}x`)))])), undefined);
});

test('the bound holds in every lane', () => {
  const key = Buffer.alloc(33, 2);
  const input = { txid: TXID, vout: 0, script: Buffer.alloc(0) };
  const lanes: Readonly<Record<string, (frame: Uint8Array) => RawTransaction>> = {
    OP_RETURN: (frame) => carry([returnScript(encryptPayload(TXID, frame, 'PNOD'))], { txid: TXID }),
    'bare multisig': (frame) => carry(multisigScripts(TXID, frame, key, 'PNOD'), { txid: TXID }),
    P2SH: (frame) =>
      carry([markerScript(TXID, 'p2sh', 'PNOD')], {
        inputs: chunkScripts(frame, key.subarray(13)).map((redeem) => ({
          ...input,
          script: Buffer.concat([Buffer.alloc(71), key, redeem].map(writePush))
        }))
      }),
    P2WSH: (frame) => {
      const chunks = chunkScripts(frame, key.subarray(13));
      return carry([markerScript(TXID, 'p2wsh', 'PNOD')], {
        inputs: chunks.map(() => input),
        witnesses: chunks.map((chunk) => [Buffer.alloc(71), key, chunk])
      });
    },
    taproot: (frame) =>
      carry([Buffer.alloc(22)], {
        inputs: [input],
        witnesses: [[Buffer.alloc(64), envelopeScript(frame, key.subarray(1), 'PNOD'), Buffer.alloc(33, 0xc0)]]
      })
  };
  for (const [lane, carrying] of Object.entries(lanes)) {
    const longest = `FILE|${'x'.repeat(8192 - 3 - 5)}`;
    assert.equal(payloadOf(carrying(writePush(Buffer.from(longest))))?.action, longest, lane);
    assert.equal(payloadOf(carrying(writePush(Buffer.from(`${longest}x`)))), undefined, lane);
  }
});

test('a push of 256 to 65535 bytes has three bytes in front, as written and as counted', () => {
  for (const [prefix, lengths] of Object.entries({ 1: [1, 75], 2: [76, 255], 3: [256, 8189, 65_535] }))
    for (const length of lengths) {
      assert.equal(writePush(Buffer.alloc(length)).length, length + Number(prefix));
      assert.equal(pushSize(length), length + Number(prefix));
    }
  assert.throws(() => writePush(Buffer.alloc(65_536)), RangeError);
});

test('no chunk is of one byte, which nodes relay as a number only, and no push has more bytes in front than it needs', () => {
  for (let length = 2; length < 1_500; length++) {
    const frame = Buffer.from(Array.from({ length }, (_, at) => 1 + (at % 16)));
    const chunks = chunkScripts(frame, Buffer.alloc(20, 1)).map((script) => readScript(script)![0]!.data!);
    assert.deepEqual(Buffer.concat(chunks), frame);
    for (const chunk of chunks) assert.ok(chunk.length > 1, `${chunk.length} of ${length} bytes`);
  }
});

/** A payload around any frame, also one that `encodePayload` would not make. */
function encodeRaw(frame: Uint8Array): Uint8Array {
  const [key, counter] = [TXID.slice(0, 16), TXID.slice(16, 32)];
  return createCipheriv('aes-128-ctr', key, counter).update(Buffer.concat([Buffer.from('PNOD'), frame]));
}

test('many markers cost as much as one: chunks are read once, and no frame is longer than a transaction', () => {
  const witness = [
    Buffer.of(1),
    Buffer.of(1),
    Buffer.concat([writePush(new Uint8Array(510).fill(7)), Buffer.of(0x75, 0x6d, 0x51)])
  ];
  const inputs = Array.from({ length: 286 }, (_, vout) => ({ txid: TXID, vout, script: Buffer.alloc(0) }));
  const witnesses = inputs.map(() => witness);
  const carriedBy = (markers: number, count: number) =>
    findCarried(
      carry(
        Array.from({ length: markers }, () => markerScript(TXID, 'p2wsh', 'PNOD')),
        {
          inputs: inputs.slice(0, count),
          witnesses: witnesses.slice(0, count)
        }
      ),
      { magic: 'PNOD', isEnvelopeActive: false }
    );
  assert.equal(carriedBy(2, 3)?.frame.length, 2 * 3 * 510, 'two markers tell the chunks twice');
  const began = process.memoryUsage().arrayBuffers;
  const many = carriedBy(2_600, inputs.length);
  assert.deepEqual([many?.lane, many?.frame.length], ['chunks', 0], 'no decoder reads so much');
  assert.ok(process.memoryUsage().arrayBuffers - began < 50_000_000);
});

test('a frame as long as a transaction costs no more than its bytes: only the pushes that count are taken out of it', () => {
  let taken = 0;
  /** Bytes that count what is taken out of them. */
  class Watched extends Uint8Array<ArrayBuffer> {
    override subarray(from: number, to: number): Uint8Array<ArrayBuffer> {
      taken += 1;
      return new Uint8Array(this.buffer, this.byteOffset + from, to - from);
    }
  }
  const [action, rawData] = ['SEND|0', new Uint8Array(8)];
  const pushes = Buffer.concat([action, rawData].map((part) => writePush(Buffer.from(part))));
  const frame = new Watched(new ArrayBuffer(4_000_000)).fill(1); // pushes of one byte, up to the end
  frame.set(pushes);
  assert.deepEqual(readFrame(frame), { action, written: action, isUtf8: true, rawData });
  assert.equal(taken, 2);
  frame[frame.length - 2] = 75;
  assert.equal(readFrame(frame), undefined, 'a push that passes the end, however far behind');
});
