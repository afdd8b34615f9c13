import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import fc from 'fast-check';
import { codingOf, readSnapshotHead } from '../../../src/replication/client/snapshot-head.ts';
import { readRetryAfter } from '../../../src/replication/client/source-connection.ts';
import { answerRange, firstByte, ifRangeHolds, noneMatchHits } from '../../../src/replication/snapshot/byte-range.ts';
import { createAddressReader } from '../../../src/service/callers/address.ts';
import { createAuthenticator } from '../../../src/service/callers/auth.ts';
import { chooseCoding, chooseOptionalCoding } from '../../../src/sync/http/content-coding.ts';
import { hostileText, mutatedText, ODD_NUMBERS } from '../support/hostile.ts';
import { outcome, target } from '../support/target.ts';

const KEYS = ['first-key', 'second-key'];
const authenticator = createAuthenticator({ readers: KEYS });
const addressOf = createAddressReader(['10.0.0.0/8', '::1', 'fd00::/8']);
const ETAG = '"abc"';
const HOUR_S = 3_600;

/** By header: what is true of all that is read from it. */
const READERS: Readonly<Record<string, (value: string) => void | Promise<void>>> = {
  range: (value) => {
    for (const [size, complete] of [
      [0, true],
      [1, false],
      [1_000, true],
      [1_000, false]
    ] as const) {
      const answer = answerRange(value, size, complete);
      if (answer.kind !== 'part') continue;
      const { start, end } = answer;
      assert.ok(Number.isSafeInteger(start) && 0 <= start && start <= end && end < size, JSON.stringify(answer));
      const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(value) ?? assert.fail('a part of what asks for none');
      if (first !== '') assert.equal(start, Number(first));
      else assert.equal(end - start + 1, Math.min(size, Number(last)));
    }
    const first = firstByte(value);
    assert.ok(first === null || (Number.isSafeInteger(first) && first >= 0));
  },
  'if-range': (value) => assert.equal(ifRangeHolds(value, ETAG), value.trim() === ETAG),
  'if-none-match': (value) => {
    const tags = value.split(',').map((tag) => tag.trim());
    assert.equal(
      noneMatchHits(value, ETAG),
      tags.some((tag) => ['*', ETAG, `W/${ETAG}`].includes(tag))
    );
  },
  'accept-encoding': (value) => {
    const coding = chooseOptionalCoding(value);
    assert.ok(coding === null || coding === chooseCoding(value));
    if (!/[a-z*]/i.test(value)) assert.equal(coding, null);
  },
  authorization: (value) => {
    const admitted = KEYS.some((key) => new RegExp(`^bearer +${key} *$`, 'i').test(value) && value.includes(key));
    assert.equal(authenticator.admits({ authorization: value }, false), admitted);
  },
  'sec-websocket-protocol': (value) => {
    const offered = value.split(',').map((each) => each.trim());
    const tokens = offered
      .filter((each) => each.startsWith('bearer.'))
      .map((each) => Buffer.from(each.slice(7), 'base64url').toString());
    const headers = { 'sec-websocket-protocol': value };
    assert.equal(authenticator.admits(headers, false), false);
    if (authenticator.admits(headers, true))
      assert.ok(KEYS.includes(tokens[0]!) && offered.includes('platform-sync.v1'));
  },
  'x-forwarded-for': (value) => {
    for (const remoteAddress of ['10.0.0.1', '::1', '::ffff:10.0.0.1', '192.0.2.1', '2001:db8::1', undefined]) {
      const read = addressOf({
        socket: { remoteAddress },
        headers: { 'x-forwarded-for': value }
      } as unknown as IncomingMessage);
      assert.ok(read === '' || isIP(read.replace(/\/64$/, '')), read);
      if (remoteAddress === '192.0.2.1') assert.equal(read, remoteAddress);
    }
  },
  'retry-after': (value) => {
    const seconds = readRetryAfter(value);
    assert.ok(
      seconds === undefined || (Number.isInteger(seconds) && seconds >= 0 && seconds <= HOUR_S),
      String(seconds)
    );
  },
  'x-block-height': (value) => checkHead({ 'x-block-height': value }),
  'x-snapshot-schema-version': (value) => checkHead({ 'x-snapshot-schema-version': value }),
  'x-whole-tables': (value) => checkHead({ 'x-whole-tables': value }),
  etag: (value) => checkHead({ etag: value }),
  'content-encoding': async (value) => {
    const found = await outcome(() => codingOf({ 'content-encoding': value }), ['SOURCE_INVALID']);
    assert.ok('refused' in found || ['gzip', 'zstd'].includes(found.value));
  }
};

async function checkHead(changed: Readonly<Record<string, string>>): Promise<void> {
  const headers = { 'x-block-height': '5', 'content-encoding': 'gzip', ...changed };
  const found = await outcome(() => readSnapshotHead(headers, 'indexer'), ['SOURCE_INVALID']);
  if ('refused' in found) return;
  const { height, etag, whole } = found.value;
  assert.ok(Number.isSafeInteger(height) && height >= 0);
  assert.ok(etag === null || /^"[^"]+"$/.test(etag));
  assert.ok([...whole].every((name) => name !== ''));
}

const SPECIMENS = [
  'bytes=0-',
  'bytes=5-9',
  'bytes=-5',
  'bytes=0-0,5-6',
  ETAG,
  `W/${ETAG}, "x"`,
  '*',
  'gzip',
  'zstd, gzip;q=0.5',
  'gzip;q=0, *;q=1',
  'Bearer first-key',
  'bearer  second-key ',
  'Basic Zmlyc3Qta2V5',
  `platform-sync.v1, bearer.${Buffer.from('first-key').toString('base64url')}`,
  '192.0.2.1',
  '10.0.0.2, 192.0.2.1',
  '::ffff:192.0.2.1',
  'fe80::1%eth0',
  '2001:db8::1, 10.0.0.5',
  '5',
  'Sat, 21 Nov 2026 19:00:00 GMT',
  '7'
];

interface Header {
  readonly name: string;
  readonly value: string;
}

const header =
  (name: string, part: string) =>
  (length: number): Header => ({ name, value: part.repeat(length / part.length) });

export const httpHeaders = target<Header>({
  name: 'http-headers',
  promise: 'a header means what its specification says, or nothing',
  runs: 40_000,
  shortRuns: 4_000,
  inputs: fc.record({
    name: fc.constantFrom(...Object.keys(READERS)),
    value: fc.oneof(
      mutatedText(fc.constantFrom(...SPECIMENS)),
      hostileText,
      fc.constantFrom(...ODD_NUMBERS).map((number) => `bytes=${number}-${number}`),
      fc.tuple(fc.constantFrom(...SPECIMENS), fc.constantFrom(...SPECIMENS)).map((both) => both.join(', '))
    )
  }),
  check: ({ name, value }) => READERS[name]!(value),
  growing: {
    'spaces of a key': header('authorization', ' '),
    'spaces behind Bearer': (length) => ({ name: 'authorization', value: `Bearer${' '.repeat(length)}` }),
    protocols: header('sec-websocket-protocol', 'bearer.a, '),
    hops: header('x-forwarded-for', '10.0.0.1, '),
    tags: header('if-none-match', 'W/"a", '),
    codings: header('accept-encoding', 'gzip;q=0.1, '),
    digits: (length) => ({ name: 'range', value: `bytes=${'1'.repeat(length)}-` }),
    tables: header('x-whole-tables', 'a,'),
    'a date': header('retry-after', 'Sat, ')
  }
});
