import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Listener, listen, subscribe, until } from '../../../support/listener.ts';
import {
  type FrontDoorOptions,
  INDEXER,
  INDEXER_HASHES,
  openFrontDoor as openBareFrontDoor
} from '../../../support/sync/front-door.ts';
import { AT, BASE_HEIGHT, behind, block, heights, range, word, words } from '../../../support/sync/stream-messages.ts';
import { type FedFrontDoor, testLiveStream } from './live-stream.ts';

/** The front door of a server, fed as its sources feed it. */
async function openFrontDoor(options: FrontDoorOptions = {}): Promise<FedFrontDoor> {
  const frontDoor = await openBareFrontDoor(options);
  return {
    ...frontDoor,
    send: (messages) => {
      const height = messages.at(-1)?.height ?? BASE_HEIGHT;
      return frontDoor.fanOut.broadcast(INDEXER, messages, { height, blockTime: 1, hashes: INDEXER_HASHES });
    }
  };
}

testLiveStream(openFrontDoor);

test('a message that not even its source could make ends its subscribers', async () => {
  const frontDoor = await openFrontDoor();
  const place = await listen(frontDoor);
  const [full, infra] = [
    await subscribe(place),
    await subscribe(place, `/subscribe/indexer/${AT}?sync_mode=infra-only`)
  ];
  await frontDoor.send([{ ...block(8), bytes: new Uint8Array(0) }]);
  assert.equal((await full.closed).code, 1008);
  await until(() => heights(infra).length === 1, 'the other has it');
});

test('a batch accepted before a subscriber came is not sent to it, though it is still being sent to others', async () => {
  const frontDoor = await openFrontDoor();
  const place = await listen(frontDoor);
  const early = await Promise.all(range(1, 5).map(() => subscribe(place)));
  const sending = frontDoor.send(range(8, 2000).map((height) => block(height)));
  const late = subscribe(place);
  await sending;
  const listener = await late;
  await frontDoor.send([block(2001)]);
  await until(() => [...early, listener].every(({ heard }) => heard.at(-1)?.block_index === 2001), 'the last block');
  assert.equal(listener.heard[0]?.block_height, 2000);
  assert.deepEqual(heights(listener), [2001]);
  for (const one of early) assert.deepEqual(heights(one), range(8, 2001));
});

test('a subscriber without amendments that was cut counts as one that comes back', async () => {
  const frontDoor = await openFrontDoor();
  const place = await listen(frontDoor);
  assert.equal(frontDoor.fanOut.hasPlain(INDEXER), false);
  const plain = await subscribe(place);
  plain.socket.terminate();
  await until(() => frontDoor.fanOut.subscribers(INDEXER).length === 0, 'it left');
  assert.equal(frontDoor.fanOut.hasPlain(INDEXER), true);
});

test('amendments go to those that ask for them, also to those that come after them; a block ends them', async () => {
  const frontDoor = await openFrontDoor();
  const place = await listen(frontDoor);
  const plain = await subscribe(place);
  const asking = await subscribe(place, `/subscribe/indexer/${AT}?amendments=1`);
  assert.equal(frontDoor.fanOut.hasPlain(INDEXER), true);
  await frontDoor.send([block(8)]);
  await frontDoor.send([word('amendment', 8), word('settled', 8)]);
  const late = await subscribe(place, `/subscribe/indexer/${AT}?amendments=1`);
  await until(() => asking.heard.length === 4 && late.heard.length === 3, 'all that was sent');
  await frontDoor.send([block(9)]);
  const last = await subscribe(place, `/subscribe/indexer/${AT}?amendments=1`);
  await until(() => plain.heard.length === 3 && last.heard.length === 1, 'the next block');
  assert.deepEqual(heights(plain), [8, 9]);
  await frontDoor.app.close();
});

test('a status says what the source learned, to who comes and at once to who is there', async () => {
  const frontDoor = await openFrontDoor();
  const place = await listen(frontDoor);
  const point = { height: BASE_HEIGHT, blockTime: 1, hashes: INDEXER_HASHES };
  const early = await subscribe(place);
  const words = ({ heard }: Listener) =>
    heard
      .filter(({ type }) => type === 'status')
      .map((message) => (message as { learned?: { readonly id: string } }).learned?.id ?? null);
  await until(() => words(early).length === 1, 'a status');
  for (const id of ['one', 'one', 'two'])
    frontDoor.fanOut.setPoint(INDEXER, { ...point, learned: { height: BASE_HEIGHT, id } });
  const late = await subscribe(place);
  await until(() => words(early).length >= 3 && words(late).length === 1, 'what was learned');
  assert.deepEqual([words(early), words(late)], [[null, 'one', 'two'], ['two']]);
});

test('a status says which starts of its source continue each other, and another one at once', async () => {
  const frontDoor = await openFrontDoor();
  const place = await listen(frontDoor);
  const point = { height: BASE_HEIGHT, blockTime: 1, hashes: INDEXER_HASHES };
  const early = await subscribe(place);
  const words = ({ heard }: Listener) =>
    heard
      .filter(({ type }) => type === 'status')
      .map((message) =>
        (message as { lives?: readonly { readonly id: string }[] }).lives?.map(({ id }) => id).join(' ')
      );
  await until(() => words(early).length === 1, 'a status');
  const lives = ['one', 'two'].map((id) => ({ id, from: BASE_HEIGHT }));
  // A point that says nothing of them is of the same start.
  for (const known of [{ lives: lives.slice(0, 1) }, {}, { lives: lives.slice(0, 1) }, { lives }])
    frontDoor.fanOut.setPoint(INDEXER, { ...point, ...known });
  const late = await subscribe(place);
  await until(() => words(early).length >= 3 && words(late).length === 1, 'another start');
  assert.deepEqual([words(early), words(late)], [[undefined, 'one', 'one two'], ['one two']]);
});

test('after=: amendments go again to who asks for them; who does not, and misses some that no block repeats, gets 4409', async () => {
  const frontDoor = await openFrontDoor();
  const place = await listen(frontDoor);
  await frontDoor.send([block(8), block(9)]);
  await frontDoor.send([word('amendment', 9)]);
  const asking = await subscribe(place, behind(9, { also: '&amendments=1' }));
  await until(() => asking.heard.length === 3, 'the amendment');
  assert.deepEqual(words(asking), ['status', 'amendment 9', 'status']);
  assert.equal((await (await subscribe(place, behind(8))).closed).code, 4409);
  const plain = await subscribe(place);
  await frontDoor.send([block(10), word('amendment', 10), block(11)]);
  plain.socket.terminate();
  const again = await subscribe(place, behind(10));
  await until(() => again.heard.length === 3, 'what followed');
  assert.deepEqual(words(again), ['status', 'block 11', 'status']);
});
