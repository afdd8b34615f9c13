import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PlatformError } from '../../../../src/errors.ts';
import { ReplicaOutcomes } from '../../../../src/replication/replica/outcomes.ts';
import { ReplicaLost } from '../../../../src/replication/replica/parts/replica-lost.ts';

const DONE = { kind: 'done' } as const;
const FIRST = 'http://first';
const SECOND = 'http://second';

/** Lets sources be followed in turn, each of which contradicts the replica or fits. @returns what came of the last one, and who was left */
async function play(turns: readonly (readonly [url: string, does: 'contradicts' | 'fits'])[]) {
  const client = { url: '' };
  const left: string[] = [];
  const leave = (fault: PlatformError) => {
    left.push(client.url);
    return fault;
  };
  const replica = {
    sources: { client, leave },
    store: { state: { phase: 'following' } },
    log: { error: () => undefined },
    drop: (fault: unknown) => fault,
    open: async () => undefined
  };
  const parts = { replica, audit: { scheduleNow: () => undefined } };
  const outcomes = new ReplicaOutcomes(parts as unknown as ConstructorParameters<typeof ReplicaOutcomes>[0]);
  let last = '';
  for (const [url, does] of turns) {
    client.url = url;
    const lost = new ReplicaLost(new PlatformError('ROW_CONTRADICTION', { reason: 'another value under an id' }));
    const work = does === 'fits' ? Promise.resolve(DONE) : Promise.reject(lost);
    last = await outcomes.orLost(work as Promise<typeof DONE>).then(
      ({ kind }) => kind,
      (caught) => outcomes.toFault(caught).code
    );
  }
  return { last, left };
}

test('one contradiction empties no replica: the next source is followed', async () => {
  assert.deepEqual(await play([[FIRST, 'contradicts']]), { last: 'ROW_CONTRADICTION', left: [FIRST] });
});

test('one of several sources that contradicts again and again empties no replica', async () => {
  const turns = [
    [FIRST, 'contradicts'],
    [SECOND, 'fits']
  ] as const;
  const { last, left } = await play([...turns, ...turns, [FIRST, 'contradicts']]);
  assert.equal(last, 'ROW_CONTRADICTION');
  assert.deepEqual(left, [FIRST, FIRST, FIRST]);
});

test('a replica that two sources contradict, or the only one that can be followed, is loaded again', async () => {
  for (const second of [SECOND, FIRST]) {
    const { last } = await play([
      [FIRST, 'contradicts'],
      [second, 'contradicts']
    ]);
    assert.equal(last, 'lost', second);
  }
});
