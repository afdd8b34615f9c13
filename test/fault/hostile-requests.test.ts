import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AT, AttackedDoor, get } from '../support/attacked-door.ts';
import { until } from '../support/listener.ts';
import { upgradeRequest } from '../support/raw-client.ts';

const HEARTBEAT = `POST /validator-heartbeat/${AT} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`;

/** By their last label a guard took them for names of one's own. */
const HOSTS = [
  'evil.com/.local',
  'evil.com#.local',
  'evil.com?.local',
  'evil.com%00.local',
  'user@localhost',
  'evil%2ecom',
  'evil.com\\.localhost',
  'evil.com,x.local',
  'evil.com .local',
  'evil\u3002com',
  '127.0.0.1:99999',
  '[::1',
  '::1'
];

describe('HTTP: what breaks a rule is answered once and cut, though its client stays', async () => {
  const fields = (count: number) => Array.from({ length: count }, (_, n) => `a${n}: b\r\n`).join('');
  const chunked = `${HEARTBEAT}Transfer-Encoding: chunked\r\n\r\n`;
  const attack = await AttackedDoor.begin();
  for (const [what, status, reason] of [
    ['no HTTP', 400, '\u0001'.repeat(100)],
    ['TLS', 400, '\u0016\u0003\u0001\u0002\u0000'],
    ['no Host', 400, 'GET /status HTTP/1.1\r\n\r\n'],
    ['HTTP 0.9', 400, 'GET /status\r\n\r\n'],
    ['two hosts', 400, get('/status', 'Host: evil.example\r\n')],
    ['two hosts in an upgrade', 400, upgradeRequest(`/subscribe/${AT}`, 'Host: evil.example\r\n')],
    ...HOSTS.map(
      (host) => [`a host that is none: ${host}`, 400, `GET /status HTTP/1.1\r\nHost: ${host}\r\n\r\n`] as const
    ),
    [
      'another host in its target',
      421,
      'GET http://evil.example/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
    ],
    ['a user in its target', 400, 'GET http://a@localhost/status HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a body that is compressed', 415, `${HEARTBEAT}Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}`],
    ['chunks that are compressed', 501, `${HEARTBEAT}Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`],
    ['two lengths', 400, `${HEARTBEAT}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`],
    ['a length and chunks', 400, `${HEARTBEAT}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`],
    ['a GET with a body', 400, get('/status', 'Content-Length: 1\r\n')],
    ['an upgrade with a body', 400, upgradeRequest(`/subscribe/${AT}`, 'Content-Length: 1\r\n')],
    ['a body that is too long, in chunks', 413, `${chunked}${'1\r\n \r\n'.repeat(5_000)}`],
    ['endless chunk extensions', 400, `${chunked}1${`;a=${'x'.repeat(1_000)}`.repeat(100)}`],
    ['another expectation', 417, get('/status', 'Expect: wonders\r\n')],
    ['a long URL', 431, `GET /${'x'.repeat(20_000)}`],
    ['one long header field', 431, `GET /status HTTP/1.1\r\nHost: x\r\na: ${'x'.repeat(20_000)}`],
    ['many header fields', 431, get('/status', fields(100))],
    ['header fields without end', 431, `GET /status HTTP/1.1\r\nHost: x\r\n${fields(3_000)}`],
    ['a body that is too long', 413, `${HEARTBEAT}Content-Length: 5000\r\n\r\n`],
    ['a body that nobody waits for', 404, 'POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n'],
    ['an upgrade that is refused', 400, get(`/subscribe/${AT}`, 'Connection: Upgrade\r\nUpgrade: websocket\r\n')]
  ] as const)
    test(`${status}: ${what}`, async () => {
      const client = (await attack.open()).say(reason);
      assert.equal(await client.status(), status);
      await client.ended;
      await attack.block();
    });
  test('afterwards the good subscriber has every block, and nothing is left', () => attack.end());
});

test('408: who says nothing, or slowly, is cut; the limits are those that are set', async () => {
  const attack = await AttackedDoor.begin();
  const { server } = attack.frontDoor.app;
  assert.deepEqual([server.headersTimeout, server.requestTimeout, server.timeout], [15_000, 30_000, 240_000]);
  Object.assign(server, { headersTimeout: 100, requestTimeout: 200 });
  const slow = [
    await attack.open(),
    (await attack.open()).say('GET /st'),
    (await attack.open()).say('GET /status HTTP/1.1\r\na: b\r\n'),
    (await attack.open()).say(`${HEARTBEAT}Content-Length: 100\r\n\r\n{`)
  ];
  assert.deepEqual(await Promise.all(slow.map((client) => client.status())), [408, 408, 408, 408]);
  await Promise.all(slow.map(({ ended }) => ended));
  await attack.end();
});

test('one request of a connection is answered at a time: eight more wait, a further one ends it', async () => {
  let asked = 0;
  let answer: (() => void) | undefined;
  const attack = await AttackedDoor.begin({
    answers: {
      'schema.read': async () => {
        asked++;
        await new Promise<void>((resolve) => {
          answer = resolve;
        });
        return { body: '{}', fingerprint: 'f' };
      }
    }
  });
  const patient = (await attack.open()).say(get(`/schema/${AT}`).repeat(9));
  for (let n = 1; n <= 9; n++) {
    await until(() => asked === n, `request ${n} is asked`);
    answer?.();
    assert.equal(await patient.status(), 200);
  }
  patient.socket.destroy();
  const greedy = (await attack.open()).say(get(`/schema/${AT}`).repeat(10));
  await greedy.ended;
  await attack.end();
});

test('an upgrade that comes while an earlier request has no answer is no WebSocket, and ends nothing', async () => {
  const answer = Promise.withResolvers<{ body: string; fingerprint: string }>();
  const attack = await AttackedDoor.begin({ answers: { 'schema.read': () => answer.promise } });
  const client = (await attack.open()).say(get(`/schema/${AT}`) + upgradeRequest(`/subscribe/${AT}`));
  await attack.block();
  answer.resolve({ body: '{}', fingerprint: 'f' });
  assert.deepEqual([await client.status(), await client.status()], [200, 400]);
  await client.upgrade(`/subscribe/${AT}`);
  client.socket.destroy();
  await attack.end();
});
