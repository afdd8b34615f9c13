import { writeFileSync } from 'node:fs';

type Value = string | number | bigint | readonly Value[] | { readonly [name: string]: Value };

const RECORD_BYTES = 4;
/** Separator of the tree and the data. */
const SEPARATOR = Buffer.alloc(16);
const METADATA = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1');
const TEXT = 2;
const UINT16 = 5;
const UINT32 = 6;
const MAP = 7;
const UINT64 = 9;
const ARRAY = 11;

/** Writes a database of IPv4 addresses in which one network has a record. @see https://maxmind.github.io/MaxMind-DB/ */
export function writeAddressDatabase(path: string, network: string, record: Value): void {
  const [address = '', length = ''] = network.split('/');
  const bits = address.split('.').flatMap((part) => [...Number(part).toString(2).padStart(8, '0')].map(Number));
  const count = Number(length);
  const tree = Buffer.alloc(count * 2 * RECORD_BYTES);
  for (let node = 0; node < count; node++) {
    const isLast = node === count - 1;
    const [taken, other] = [isLast ? count + SEPARATOR.length : node + 1, count]; // `count` itself: no record
    tree.writeUInt32BE(bits[node] === 0 ? taken : other, node * 2 * RECORD_BYTES);
    tree.writeUInt32BE(bits[node] === 0 ? other : taken, (node * 2 + 1) * RECORD_BYTES);
  }
  const metadata = {
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: 1_700_000_000n,
    database_type: 'Test-City',
    description: { en: 'one network' },
    ip_version: 4,
    languages: ['en'],
    node_count: count,
    record_size: RECORD_BYTES * 8
  };
  writeFileSync(path, Buffer.concat([tree, SEPARATOR, encode(record), METADATA, encode(metadata)]));
}

function encode(value: Value): Buffer {
  if (typeof value === 'string') return Buffer.concat([control(TEXT, Buffer.byteLength(value)), Buffer.from(value)]);
  if (typeof value === 'bigint') return number(UINT64, value, 8);
  if (typeof value === 'number')
    return number(value < 2 ** 16 ? UINT16 : UINT32, BigInt(value), value < 2 ** 16 ? 2 : 4);
  if (Array.isArray(value)) return Buffer.concat([control(ARRAY, value.length), ...value.map(encode)]);
  const entries = Object.entries(value);
  return Buffer.concat([control(MAP, entries.length), ...entries.flatMap((entry) => entry.map(encode))]);
}

/** @param size below 29 */
const control = (type: number, size: number) =>
  type < 8 ? Buffer.from([(type << 5) | size]) : Buffer.from([size, type - 7]);

function number(type: number, value: bigint, bytes: number): Buffer {
  return Buffer.concat([control(type, bytes), Buffer.from(value.toString(16).padStart(bytes * 2, '0'), 'hex')]);
}
