import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { signingKey, signTime } from '../../../../src/consensus/auth-signature.ts';
import { Heartbeats } from '../../../../src/replication/client/heartbeats.ts';
import { SourceClient } from '../../../../src/replication/client/source-client.ts';
import { Subscription } from '../../../../src/replication/client/subscription.ts';
import { authMessage, validatorIdentity } from '../../../../src/replication/client/validator-identity.ts';
import type { Broadcast } from '../../../../src/wire/data/broadcast.ts';
import { type Listener, listen, subscribe, until } from '../../../support/listener.ts';
import { type FrontDoor, INDEXER, INDEXER_HASHES, openFrontDoor } from '../../../support/sync/front-door.ts';

const KEY = signingKey('33'.repeat(32));
const STRANGER = signingKey('44'.repeat(32));
const now = () => Math.floor(Date.now() / 1000);

const say = ({ socket }: Listener, message: unknown) => socket.send(JSON.stringify(message));
const auth = (ts: number, key = KEY, sig = signTime(ts, key)) => ({ type: 'auth', pubkey: key.pubkey, sig, ts });
const beat = (appliedBlock: number) => ({ type: 'heartbeat', appliedBlock });

async function validators(
  frontDoor: FrontDoor
): Promise<Record<string, { applied_height: number; lag_blocks: number }>> {
  return (await frontDoor.app.inject('/validator-status/indexer/bitcoin/regtest')).json().validators;
}

/** Returns the book's answer once it holds this height. */
async function heardOf(frontDoor: FrontDoor, height: number): Promise<string> {
  const find = () =>
    frontDoor.fanOut.validators.list(INDEXER).find(([, { appliedHeight }]) => appliedHeight === height);
  await until(() => find() !== undefined, `a heartbeat of ${height}`);
  return find()![0];
}

test('heartbeats are listed under the public key after a valid auth, else under ws-<connection id>', async () => {
  const frontDoor = await openFrontDoor({ config: { VALIDATOR_PUBKEYS: [KEY.pubkey] } });
  const place = await listen(frontDoor);
  const [validator, plain] = [await subscribe(place), await subscribe(place)];
  say(validator, auth(now()));
  say(validator, beat(6));
  say(plain, beat(5));
  assert.equal(await heardOf(frontDoor, 6), KEY.pubkey);
  const [, { id: plainId } = {}] = frontDoor.fanOut.subscribers(INDEXER);
  assert.equal(await heardOf(frontDoor, 5), `ws-${plainId}`);
  assert.deepEqual(Object.keys(await validators(frontDoor)).sort(), [KEY.pubkey, `ws-${plainId}`].sort());
  const { applied_height, lag_blocks } = (await validators(frontDoor))[KEY.pubkey]!;
  assert.deepEqual({ applied_height, lag_blocks }, { applied_height: 6, lag_blocks: 1 });
});

test('an auth that is invalid, stale, used before, of a key not listed or of another shape is ignored', async () => {
  const frontDoor = await openFrontDoor({ config: { VALIDATOR_PUBKEYS: [KEY.pubkey] } });
  const place = await listen(frontDoor);
  const first = await subscribe(place);
  const used = auth(now() - 10);
  say(first, used);
  say(first, beat(1));
  assert.equal(await heardOf(frontDoor, 1), KEY.pubkey);

  const second = await subscribe(place);
  const ts = now() - 20;
  for (const wrong of [
    used,
    auth(now() - 400),
    auth(now() + 400),
    auth(ts, STRANGER),
    auth(ts, KEY, signTime(ts, STRANGER)),
    { ...auth(ts), sig: 'zz' },
    { ...auth(ts), ts: String(ts) }
  ])
    say(second, wrong);
  say(second, beat(2));
  assert.match(await heardOf(frontDoor, 2), /^ws-/);
  say(second, auth(ts));
  say(second, beat(3));
  assert.equal(await heardOf(frontDoor, 3), KEY.pubkey, 'what was ignored does not stand in the way');
});

test('validators are written first, and stay listed for their lifetime when they leave', async () => {
  const frontDoor = await openFrontDoor();
  const place = await listen(frontDoor);
  const plain = await subscribe(place);
  const validator = await subscribe(place);
  say(validator, auth(now()));
  say(validator, beat(4));
  await heardOf(frontDoor, 4);
  const [first, second] = frontDoor.fanOut.subscribers(INDEXER);
  assert.deepEqual([first?.appliedBlock, second?.appliedBlock], [4, null]);
  const bytes = new TextEncoder().encode('{"type":"block","block_index":8}');
  const block: Broadcast = { type: 'block', height: 8, bytes, infraBytes: null };
  await frontDoor.fanOut.broadcast(INDEXER, [block], { height: 8, blockTime: 1, hashes: INDEXER_HASHES });
  await until(() => [plain, validator].every(({ heard }) => heard.at(-1)?.block_index === 8), 'both have the block');
  validator.socket.close();
  await validator.closed;
  await until(() => frontDoor.fanOut.subscribers(INDEXER).length === 1, 'a validator that left is gone');
  assert.equal((await validators(frontDoor))[KEY.pubkey]?.applied_height, 4, 'its entry stays for its lifetime');
});

test('a client names the server that it signs for, and no other server believes what it signed', async () => {
  const [here, there] = [
    await openFrontDoor(),
    await openFrontDoor({ config: { SYNC_PUBLIC_HOSTS: ['there.example'] } })
  ];
  const place = await listen(here);
  const client = new SourceClient(`http://${place}`, undefined, INDEXER);
  const subscription = await Subscription.open(client);
  assert.equal(subscription.serverName, place);
  const signed = authMessage(validatorIdentity('33'.repeat(32)), subscription.serverName);
  subscription.send(signed);
  subscription.send({ type: 'heartbeat', appliedBlock: 5 });
  await until(() => here.fanOut.validators.list(INDEXER).length === 1, 'the heartbeat');
  assert.equal(here.fanOut.validators.list(INDEXER)[0]?.[0], signed.pubkey);
  const repeated = new WebSocket(`ws://${await listen(there)}/subscribe/indexer/bitcoin/regtest`, {
    headers: { host: place }
  });
  await once(repeated, 'open');
  repeated.send(JSON.stringify(signed));
  repeated.send(JSON.stringify({ type: 'heartbeat', appliedBlock: 5 }));
  await until(() => there.fanOut.validators.list(INDEXER).length === 1, 'the heartbeat');
  assert.match(there.fanOut.validators.list(INDEXER)[0]![0], /^ws-/);
  repeated.terminate();
  subscription.close();
  await client.close();
});

test('an auth later than five seconds after connecting is ignored', async (t) => {
  const frontDoor = await openFrontDoor();
  const late = await subscribe(await listen(frontDoor));
  const clock = performance.now.bind(performance);
  t.mock.method(performance, 'now', () => clock() + 5_000);
  say(late, auth(now()));
  say(late, beat(3));
  assert.match(await heardOf(frontDoor, 3), /^ws-/);
});

test('many tiny frames end the connection that sends them, with the reason; others go on', async () => {
  const frontDoor = await openFrontDoor();
  const place = await listen(frontDoor);
  const good = await subscribe(place);
  const flood = await subscribe(place);
  for (let n = 0; n < 1_100 && flood.socket.readyState === WebSocket.OPEN; n++) flood.socket.send('{}');
  assert.deepEqual(await flood.closed, { code: 1008, reason: 'more than 1000 messages in 10 s' });
  const pongs = await subscribe(place);
  for (let n = 0; n < 1_100; n++) pongs.socket.pong();
  assert.equal((await pongs.closed).code, 1008);
  for (const frames of [(socket: WebSocket) => socket.pong(), (socket: WebSocket) => socket.ping()]) {
    const deaf = await subscribe(place);
    for (let n = 0; n < 2_100; n++) frames(deaf.socket);
    await deaf.closed;
  }
  const pieces = await subscribe(place);
  for (let n = 0; n < 20; n++) pieces.socket.send('', { fin: false });
  assert.equal((await pieces.closed).code, 1008, 'a message in many pieces');
  say(good, beat(7));
  assert.match(await heardOf(frontDoor, 7), /^ws-/);
  assert.equal(frontDoor.fanOut.subscribers(INDEXER).length, 1);
});

test('a client is one entry, by its stream and, while that is down, by REST', async () => {
  const frontDoor = await openFrontDoor({ config: { SYNC_API_KEY: 'k1' } });
  const place = await listen(frontDoor);
  const identity = validatorIdentity('66'.repeat(32));
  const source = new SourceClient(`http://${place}`, 'k1', INDEXER);
  let applied = { height: 3, blockTime: 1_700_000_000 };
  let stream: Subscription | undefined = await Subscription.open(source);
  const faults: unknown[] = [];
  const heartbeats = new Heartbeats({
    identity,
    applied: () => applied,
    stream: () => stream,
    source: () => source,
    onFault: (fault) => faults.push(fault)
  });
  heartbeats.tick();
  assert.equal(await heardOf(frontDoor, 3), identity.id);
  stream.close();
  stream = undefined;
  await new Promise((resolve) => setTimeout(resolve, 500)); // the server learns that it left
  applied = { height: 6, blockTime: 1_700_000_600 };
  heartbeats.tick(performance.now() + 5_000);
  assert.equal(await heardOf(frontDoor, 6), identity.id);
  assert.equal(frontDoor.fanOut.validators.list(INDEXER)[0]?.[1].appliedBlockTime, 1_700_000_600);
  assert.deepEqual([frontDoor.fanOut.validators.list(INDEXER).length, faults], [1, []]);
  const refused = { validator_id: '', applied_height: 1 };
  await assert.rejects(source.heartbeat(refused), { code: 'SOURCE_REFUSED', message: /answered 400/ });
  heartbeats.close();
  await source.close();
});
