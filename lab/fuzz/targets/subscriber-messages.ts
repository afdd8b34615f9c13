import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import WebSocket from 'ws';
import { signingKey, signTime } from '../../../src/consensus/auth-signature.ts';
import { type FrontDoor, INDEXER, openFrontDoor } from '../../../test/support/sync/front-door.ts';
import { jsonLike, mutated } from '../support/hostile.ts';
import { target } from '../support/target.ts';

/** Longer ones end the connection. */
const MAX_BYTES = 4_096;
const TOO_BIG = 1009;
const NOT_UTF8 = 1007;
const KEY = signingKey('11'.repeat(32));

const auth = (ts: number) => ({ type: 'auth', pubkey: KEY.pubkey, sig: signTime(ts, KEY), ts });
const specimens = fc.oneof(
  fc.nat().map((appliedBlock) => ({ type: 'heartbeat', appliedBlock })),
  fc.integer({ min: 0, max: 600 }).map((ago) => auth(Math.floor(Date.now() / 1000) - ago))
);
const texts = fc.oneof(
  { weight: 4, arbitrary: jsonLike(specimens) },
  specimens.map((message) => JSON.stringify(message))
);
const messages = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: texts.map((text): Buffer | string => text) },
    { weight: 1, arbitrary: mutated(texts.map((text) => Buffer.from(text))) }
  ),
  { maxLength: 12 }
);

let frontDoor: Promise<FrontDoor> | undefined;

async function open(): Promise<FrontDoor> {
  // What it sends breaks rules again and again: only a proxy's connections are not counted.
  const opened = await openFrontDoor({ config: { TRUST_PROXY: ['127.0.0.1'] } });
  await opened.app.listen({ host: '127.0.0.1', port: 0 });
  return opened;
}

/** The height that the last heartbeat among these names: what the contract calls one, read a second time. */
function lastHeight(sent: readonly (Buffer | string)[]): number | null {
  const heights = sent.flatMap((message) => {
    if (typeof message !== 'string') return [];
    try {
      const { type, appliedBlock } = Object(JSON.parse(message)) as Record<string, unknown>;
      const isHeight = Number.isSafeInteger(appliedBlock) && (appliedBlock as number) >= 0;
      return type === 'heartbeat' && isHeight ? [appliedBlock as number] : [];
    } catch {
      return [];
    }
  });
  return heights.at(-1) ?? null;
}

export const subscriberMessages = target<readonly (Buffer | string)[]>({
  name: 'subscriber-messages',
  promise: 'what subscribers say is a heartbeat, a proof of who they are, or ignored; no more is said to them for it',
  runs: 800,
  shortRuns: 40,
  inputs: messages,
  check: async (sent) => {
    frontDoor ??= open();
    const { app, fanOut } = await frontDoor;
    const { port } = app.server.address() as AddressInfo;
    const socket = new WebSocket(`ws://127.0.0.1:${port}/subscribe/indexer/bitcoin/regtest`);
    let heard = 0;
    socket.on('message', () => heard++).on('error', () => undefined);
    const closed = once(socket, 'close') as Promise<[number]>;
    await once(socket, 'open');
    for (const message of sent) socket.send(message);
    socket.ping();
    const answered = await Promise.race([once(socket, 'pong').then(() => true), closed.then(() => false)]);
    const isTooBig = sent.some((message) => Buffer.byteLength(message) > MAX_BYTES);
    if (answered) {
      assert.equal(isTooBig, false);
      const views = fanOut.subscribers(INDEXER);
      assert.equal(views.length, 1);
      assert.equal(views[0]!.appliedBlock, lastHeight(sent));
      assert.equal(heard, 1, 'the status alone');
      for (const [name] of fanOut.validators.list(INDEXER))
        assert.ok(name === KEY.pubkey || /^ws-[0-9a-f]{12}$/.test(name));
    } else assert.ok(isTooBig, 'the connection was ended');
    socket.terminate();
    const [code] = await closed;
    assert.ok([1006, TOO_BIG, NOT_UTF8].includes(code), `closed with ${code}`);
    while (fanOut.subscribers(INDEXER).length > 0) await new Promise((resolve) => setImmediate(resolve));
  },
  close: async () => {
    await (await frontDoor)?.app.close();
    frontDoor = undefined;
  }
});
