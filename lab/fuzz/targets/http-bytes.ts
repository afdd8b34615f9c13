import assert from 'node:assert/strict';
import { type AddressInfo, connect } from 'node:net';
import fc from 'fast-check';
import { type FrontDoor, openFrontDoor } from '../../../test/support/sync/front-door.ts';
import { ANSWERS } from '../support/actor-answers.ts';
import { mutated } from '../support/hostile.ts';
import { target } from '../support/target.ts';

const PATIENCE_MS = 10_000;
const HOST = 'Host: a\r\n';
const request = (line: string, fields = '', body = '') => `${line} HTTP/1.1\r\n${HOST}${fields}\r\n${body}`;
const UPGRADE =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
/** A heartbeat as a masked text frame. */
const FRAME = `\x81\xa1\0\0\0\0{"type":"heartbeat","appliedBlock":5}`;
const HEARTBEAT = '{"validator_id":"v","applied_height":5}';

const SPECIMENS = [
  request('GET /status'),
  request(
    'GET /snapshot/indexer/bitcoin/regtest/since/5?until=7&skip_lookups=1',
    'Accept-Encoding: zstd, gzip;q=0.5\r\nRange: bytes=0-\r\n'
  ),
  request(
    'POST /validator-heartbeat/indexer/bitcoin/regtest',
    `Content-Type: application/json\r\nContent-Length: ${HEARTBEAT.length}\r\n`,
    HEARTBEAT
  ),
  request(
    'POST /validator-heartbeat/indexer/bitcoin/regtest',
    'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n',
    '5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n'
  ),
  request('GET /livez') + request('GET /readyz', 'Connection: close\r\n'),
  request('GET /subscribe/indexer/bitcoin/regtest', UPGRADE, FRAME + FRAME),
  request('OPTIONS /status', 'Origin: https://a.example\r\nAccess-Control-Request-Method: GET\r\n'),
  request(
    'GET /digest/indexer/bitcoin/regtest',
    'X-Forwarded-For: 192.0.2.1\r\nContent-Length: 0\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n'
  )
].map((text) => Buffer.from(text, 'latin1'));

let frontDoor: Promise<FrontDoor> | undefined;

async function open(): Promise<FrontDoor> {
  const opened = await openFrontDoor({ config: { TRUST_PROXY: ['127.0.0.1'] }, answers: ANSWERS });
  await opened.app.listen({ host: '127.0.0.1', port: 0 });
  return opened;
}

/** Everything that the server says to these bytes, until it hangs up. */
function say(port: number, bytes: Uint8Array): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect({ port, host: '127.0.0.1' });
  let heard = '';
  const patience = setTimeout(() => {
    socket.destroy();
    reject(new Error(`the connection was open ${PATIENCE_MS} ms later; heard: ${heard}`));
  }, PATIENCE_MS);
  socket.setEncoding('latin1').on('data', (text) => (heard += text));
  socket
    .on('error', () => undefined)
    .on('close', () => {
      clearTimeout(patience);
      resolve(heard);
    });
  socket.end(bytes);
  return promise;
}

/** The answers in what was heard; what follows an upgrade is no answer. @throws for what is none */
function answersIn(heard: string): readonly number[] {
  const statuses: number[] = [];
  for (let rest = heard; rest !== ''; ) {
    const [head, status, fields = ''] = /^HTTP\/1\.1 (\d{3}) [^\r\n]*\r\n((?:[^\r\n]+\r\n)*)\r\n/.exec(rest) ?? [];
    assert.ok(head, `no answer: ${JSON.stringify(rest.slice(0, 200))}`);
    statuses.push(Number(status));
    if (status === '101') break;
    const length = Number(/^content-length: (\d+)/im.exec(fields)?.[1] ?? 0);
    const chunked = /^transfer-encoding: chunked/im.test(fields);
    rest = chunked ? rest.slice(rest.indexOf('0\r\n\r\n') + 5) : rest.slice(head.length + length);
  }
  return statuses;
}

export const httpBytes = target<Buffer>({
  name: 'http-bytes',
  promise:
    'bytes on a connection are answered with whole HTTP answers, none of them a failure of ours, and the connection ends',
  runs: 1_500,
  shortRuns: 150,
  inputs: mutated(fc.constantFrom(...SPECIMENS)),
  check: async (bytes) => {
    frontDoor ??= open();
    const { app } = await frontDoor;
    const { port } = app.server.address() as AddressInfo;
    const isHead = bytes.includes('HEAD ');
    const heard = await say(port, bytes);
    if (isHead) return;
    const statuses = answersIn(heard);
    const requests = bytes.toString('latin1').split('HTTP/1').length;
    assert.ok(statuses.length <= requests, `${statuses.length} answers to ${requests} requests at most: ${heard}`);
    for (const status of statuses)
      assert.ok(status < 500 || status === 505, `answered ${status}: ${heard.slice(0, 300)}`);
  },
  close: async () => {
    await (await frontDoor)?.app.close();
    frontDoor = undefined;
  }
});
