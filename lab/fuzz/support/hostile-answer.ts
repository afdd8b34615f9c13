import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { hostileText, jsonLike, mutated } from './hostile.ts';

const FIELDS = [
  'retry-after',
  'etag',
  'content-range',
  'x-block-height',
  'x-ledger-hash',
  'x-block-hash',
  'x-snapshot-schema-version',
  'x-whole-tables',
  'x-rows',
  'content-encoding',
  'content-length',
  'transfer-encoding',
  'location',
  '__proto__'
];

const field = fc.oneof(
  hostileText,
  fc.constantFrom(
    '"tag"',
    'W/"tag"',
    '7',
    '3',
    'gzip',
    'zstd',
    'chunked',
    'Sat, 21 Nov 2026 19:00:00 GMT',
    'bytes 0-1/2'
  )
);
/** Returns a field's value without characters that no server's library would send. */
const plain = (text: string) => text.replaceAll(/[\r\n\0]/g, ' ').slice(0, 2_000);

/** An HTTP answer, byte by byte: a body nearly as it should be under a head that may say anything of it. */
export const hostileAnswer = (specimen: unknown): fc.Arbitrary<Buffer> => {
  const whole = fc
    .record({
      status: fc.oneof(
        { weight: 6, arbitrary: fc.constant(200) },
        fc.constantFrom(204, 206, 301, 304, 400, 401, 404, 413, 416, 429, 500, 503, 599, 999)
      ),
      body: jsonLike(fc.constant(specimen)),
      form: fc.constantFrom('plain', 'plain', 'plain', 'gzip', 'liar', 'short', 'long', 'chunked'),
      fields: fc.array(fc.tuple(fc.constantFrom(...FIELDS), field), { maxLength: 3 })
    })
    .map(({ status, body, form, fields }) => {
      const text = Buffer.from(body);
      const bytes = form === 'gzip' ? gzipSync(text) : text;
      const length =
        form === 'short' ? bytes.length + 9 : form === 'long' ? Math.max(0, bytes.length - 1) : bytes.length;
      const lines = [
        `HTTP/1.1 ${status} x`,
        'content-type: application/json',
        ...(form === 'chunked' ? ['transfer-encoding: chunked'] : [`content-length: ${length}`]),
        ...(form === 'gzip' || form === 'liar' ? ['content-encoding: gzip'] : []),
        ...fields.map(([name, value]) => `${name}: ${plain(value)}`)
      ];
      const chunk =
        form === 'chunked'
          ? [Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n0\r\n\r\n')]
          : [bytes];
      return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), ...chunk]);
    });
  return fc.oneof({ weight: 9, arbitrary: whole }, mutated(whole));
};
