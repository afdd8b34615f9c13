import { frame } from '../../../../test/support/raw-client.ts';

/** Behaviour of one hostile connection. */
export interface Attack {
  readonly name: string;
  /** `stay`: so many connections are there at once; `return`: so many a second come, and go when the server ends them. */
  readonly kind: 'stay' | 'return';
  /** Said at once; `{etag}` stands for a snapshot's, `{offset}` for a number of the connection's own. */
  readonly first: string | Buffer;
  /** Said as a WebSocket, after the upgrade that `first` asks for. */
  readonly then?: Buffer;
  /** `once` is the default; `slowly`: one each second, `endlessly`: as often as it is taken, `piecemeal`: byte by byte. */
  readonly more?: { readonly how: 'slowly' | 'endlessly' | 'piecemeal'; readonly bytes: string | Buffer };
  /** Nothing is read but the answer to an upgrade. */
  readonly deaf?: true;
  /** It is looked at how long it is let stay; `stopped`: while its process stands still. */
  readonly ends?: 'slow' | 'stopped';
  /** Its cost is for all connections together, however many they are. */
  readonly inAll?: true;
  /** Connections, or connections a second; default: those of the run. */
  readonly count?: number;
}

const HOST = 'Host: x\r\n';
const BASE = 'decoder/litecoin/regtest';
const POST = `POST /validator-heartbeat/${BASE} HTTP/1.1\r\n${HOST}Content-Type: application/json\r\n`;
const CHUNKED = 'Transfer-Encoding: chunked\r\n\r\n';
const UPGRADE = upgrade('dGhlIHNhbXBsZSBub25jZQ==');

function upgrade(key: string): string {
  return `GET /subscribe/${BASE} HTTP/1.1\r\n${HOST}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`;
}

function get(path: string, headers = ''): string {
  return `GET ${path} HTTP/1.1\r\n${HOST}${headers}\r\n`;
}

const stay = (name: string, first: string | Buffer, rest: Partial<Attack> = {}): Attack => ({
  name,
  kind: 'stay',
  first,
  ...rest
});
const socket = (name: string, then: Buffer, rest: Partial<Attack> = {}): Attack =>
  stay(name, UPGRADE, { then, ...rest });
const refused = (name: string, first: string, then?: Buffer): Attack => ({
  name,
  kind: 'return',
  first,
  ...(then ? { then } : {})
});

const PING = frame(0x89, Buffer.alloc(125));

export const ATTACKS: readonly Attack[] = [
  stay('connects and says nothing', '', { ends: 'slow' }),
  stay('request line, slowly', 'GET /st', { ends: 'slow', more: { how: 'slowly', bytes: 'a' } }),
  stay('headers, slowly', `GET /status HTTP/1.1\r\n${HOST}`, {
    ends: 'slow',
    more: { how: 'slowly', bytes: 'a: b\r\n' }
  }),
  stay('body, slowly', `${POST}Content-Length: 1000\r\n\r\n`, { ends: 'slow', more: { how: 'slowly', bytes: ' ' } }),
  stay('3000 header fields', `GET /status HTTP/1.1\r\n${HOST}${'a:b\r\n'.repeat(3_000)}`),
  stay('one header field of 16 KB', `GET /status HTTP/1.1\r\n${HOST}a: ${'x'.repeat(16_000)}`),
  stay('a URL of 16 KB', `GET /${'x'.repeat(16_000)}`),
  stay('a body in chunks of one byte', `${POST}${CHUNKED}${'1\r\n \r\n'.repeat(16_000)}`),
  stay('a body that nobody reads', get(`/snapshot/${BASE}`, CHUNKED) + '1\r\n \r\n'.repeat(60_000), { deaf: true }),
  stay('endless chunk extensions', `${POST}${CHUNKED}1`, {
    more: { how: 'endlessly', bytes: `;a=${'x'.repeat(1_000)}` }
  }),
  stay('endless trailers', `${POST}${CHUNKED}1\r\n \r\n0\r\n`, {
    more: { how: 'endlessly', bytes: `a: ${'x'.repeat(1_000)}\r\n` }
  }),
  stay('requests without end, no answer read', '', {
    deaf: true,
    more: { how: 'endlessly', bytes: get('/status').repeat(100) }
  }),
  stay('8 times /openapi.json, not read', get('/openapi.json').repeat(8), { deaf: true }),
  stay(
    'a snapshot, not read, each from another byte on',
    get(`/snapshot/${BASE}`, 'If-Range: {etag}\r\nRange: bytes={offset}-\r\n'),
    { deaf: true }
  ),
  stay('a page of a table, not read', get(`/snapshot-rows/${BASE}/index_transactions`), {
    deaf: true,
    inAll: true,
    count: 100
  }),
  socket('a subscriber who reads nothing', Buffer.alloc(0), { deaf: true, ends: 'stopped' }),
  socket('a frame of 4 KiB, byte by byte', frame(0x81, Buffer.alloc(4_000)).subarray(0, 8), {
    more: { how: 'piecemeal', bytes: Buffer.alloc(3_900) }
  }),
  socket(
    'a message in two pieces with much between them',
    Buffer.concat([
      frame(0x01, Buffer.alloc(100)),
      ...Array.from({ length: 50 }, () => PING),
      frame(0x00, Buffer.alloc(100)),
      Buffer.from([0x80])
    ])
  ),
  socket('half a close frame', frame(0x88, Buffer.from([3, 0xe8])).subarray(0, 3), { ends: 'slow' }),
  socket('pings without end, no pong read', PING, { deaf: true, more: { how: 'endlessly', bytes: PING } }),
  refused(
    'tiny frames without end',
    UPGRADE,
    Buffer.concat(Array.from({ length: 5_000 }, () => frame(0x81, Buffer.from('{'))))
  ),
  refused(
    'empty continuations without end',
    UPGRADE,
    Buffer.concat([frame(0x01), ...Array.from({ length: 5_000 }, () => frame(0x00))])
  ),
  refused('a frame of 2^63 bytes', UPGRADE, Buffer.from([0x81, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
  refused('RSV bits', UPGRADE, frame(0xf1)),
  refused('an unmasked frame', UPGRADE, frame(0x81, Buffer.from('{}'), false)),
  refused('a bad opcode', UPGRADE, frame(0x83)),
  refused('text that is no UTF-8', UPGRADE, frame(0x81, Buffer.from([0xff]))),
  refused('upgrades that are refused', upgrade('no key')),
  refused('requests that are no HTTP', `${'\u0001'.repeat(1_000)}`)
];

/** Each attack has its own, for an address that did wrong is not served; none is that of the good clients. */
export function addressOf(attack: Attack): string {
  return `127.0.0.${2 + ATTACKS.indexOf(attack)}`;
}
