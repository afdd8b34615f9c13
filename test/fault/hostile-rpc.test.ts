import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { createDecoderApp } from '../../src/decoder/app.ts';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import { service } from '../../src/hub/service.ts';
import { startHub } from '../../src/hub/start.ts';
import { silentLogger } from '../../src/log.ts';
import { atEnd } from '../support/cleanup.ts';
import { definitionOf, FRAME_CONFIG } from '../support/frame.ts';
import { hubConfigOf } from '../support/hub-config.ts';
import { RawClient } from '../support/raw-client.ts';
import { eventually } from '../support/sync/sync-process.ts';

describe('callers of JSON-RPC meet the same limits', () => {
  const post = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
  const inChunks = `${post}Transfer-Encoding: chunked\r\n\r\n`;

  /** @param port of a service that takes 100,000 bytes */
  async function besiege(port: number): Promise<void> {
    for (const [status, answer] of [
      [400, '\u0001'],
      [400, `GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n`],
      [400, `${inChunks}1${`;a=${'x'.repeat(1_000)}`.repeat(100)}`],
      [413, `${inChunks}${'1\r\n \r\n'.repeat(100_001)}`],
      [413, `${post}Content-Length: 100001\r\n\r\n`],
      [431, `${post}a: ${'x'.repeat(20_000)}`]
    ] as const) {
      const client = (await RawClient.open(`127.0.0.1:${port}`)).say(answer);
      assert.equal(await client.status(), status);
      await client.ended;
    }
    // A body need not say how long it is.
    const call = [...'{"jsonrpc":"2.0","id":1,"method":"nothing"}'].map((byte) => `1\r\n${byte}\r\n`).join('');
    const client = await RawClient.open(`127.0.0.1:${port}`);
    assert.equal(await client.say(`${inChunks}${call}0\r\n\r\n`).status(), 200);
    client.socket.destroy();
  }

  test('the decoder', async () => {
    const app = createDecoderApp({
      ...definitionOf(),
      config: {
        ...FRAME_CONFIG,
        DECODER_API_KEY: undefined,
        DECODER_RATE_LIMIT_RPM: 100,
        DECODER_STALL_ALERT_MS: 1_000,
        DECODER_STALL_FETCH_ATTEMPTS: 20
      },
      view: () => assert.fail('nobody gets so far'),
      serves: () => false
    });
    atEnd(() => app.close());
    await app.listen({ host: '127.0.0.1', port: 0 });
    await besiege((app.server.address() as AddressInfo).port);
  });

  test('the hub, while it waits for its database', async () => {
    const [port, nobody] = [await freePort(), await freePort()];
    const enough = new AbortController();
    const database = { host: '127.0.0.1', port: nobody, name: 'x', user: 'x', pass: 'x' };
    const config = hubConfigOf(database, { HUB_PORT: String(port), HUB_API_KEY: 'k', HUB_RATE_LIMIT_RPM: '100' });
    const starting = startHub({ service, config, log: silentLogger }, enough.signal);
    const listens = () => RawClient.open(`127.0.0.1:${port}`).then(({ socket }) => socket.destroy());
    await eventually('it listens', () =>
      listens().then(
        () => true,
        () => false
      )
    );
    await besiege(port);
    enough.abort();
    await assert.rejects(starting);
  });
});
