import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { describe, test } from 'node:test';
import type { WebSocket } from 'ws';
import { Timeline } from '../../../../actors/runtime/supervision/timeline.ts';
import { actorViewOf, INDEXER, openFrontDoor, reportOf } from '../../../support/sync/front-door.ts';

const BEARER = { authorization: 'Bearer k1' };
const AT = 'bitcoin/regtest';

/** The server's end of a connection on which nothing is heard. */
class DeafSocket extends EventEmitter {
  readonly OPEN = 1;
  readonly readyState = 1;
  send(): void {
    this.emit('sent');
  }
  close(): void {
    this.emit('close');
  }
}

test('202: an operator kills and restarts actors; 404 for a database that is not there', async () => {
  const { app, acts } = await openFrontDoor({ config: { SYNC_API_KEY: 'k1' } });
  const post = async (path: string) => app.inject({ method: 'POST', url: `/debug/actors/${path}`, headers: BEARER });
  assert.equal((await post(`indexer/${AT}/kill`)).statusCode, 202);
  assert.equal((await post(`indexer/${AT}/restart`)).statusCode, 202);
  assert.equal((await post(`indexer/${AT}/pause`)).statusCode, 202);
  assert.equal((await post(`indexer/${AT}/verify`)).statusCode, 403);
  assert.equal((await post(`indexer/litecoin/regtest/kill`)).statusCode, 404);
  assert.deepEqual(acts, [`kill indexer/${AT}`, `restart indexer/${AT}`, `pause indexer/${AT}`]);
});

test('200: /debug/live tells actors, reports and subscribers, and what happened after an entry; 400 for no number', async () => {
  const timeline = new Timeline(2);
  for (const generation of [1, 2, 3, 4]) timeline.add(INDEXER, { kind: 'start', at: generation, generation });
  const { app } = await openFrontDoor({ timeline, reports: [reportOf(INDEXER)] });
  const live = (await app.inject('/debug/live')).json();
  assert.equal(live.seq, 4);
  assert.deepEqual(
    live.entries.map(({ seq, generation }: { seq: number; generation: number }) => [seq, generation]),
    [
      [3, 3],
      [4, 4]
    ] // what is older is no longer kept
  );
  assert.equal(live.databases[0].key, `indexer/${AT}`);
  assert.equal(live.databases[0].report.height, 7);
  assert.equal('transitions' in live.databases[0], false);
  assert.deepEqual((await app.inject('/debug/live?after=3')).json().entries.length, 1);
  assert.deepEqual((await app.inject('/debug/live?after=4')).json().entries, []);
  assert.equal((await app.inject('/debug/live?after=-1')).statusCode, 400);
});

test('/debug/live: many subscribers and entries are told in part, one look serves everybody for a moment, 429 beyond 600 a minute', async () => {
  const timeline = new Timeline();
  for (let generation = 1; generation <= 1_500; generation++)
    timeline.add(INDEXER, { kind: 'start', at: generation, generation });
  let looks = 0;
  const frontDoor = await openFrontDoor({
    timeline,
    reports: [reportOf(INDEXER)],
    actorsView: () => {
      looks++;
      return [actorViewOf(INDEXER)];
    }
  });
  for (let n = 0; n < 300; n++) {
    frontDoor.fanOut.subscribe(INDEXER, new DeafSocket() as unknown as WebSocket, {
      infraOnly: false,
      address: `10.0.0.${n}`,
      sendBuffer: () => ({ waitingBytes: n, takenBytes: 0 })
    });
  }
  const ask = async (after: number) => (await frontDoor.app.inject(`/debug/live?after=${after}`)).json();
  const { seq, entries, databases } = await ask(0);
  assert.deepEqual([seq, entries.length, entries[0].seq], [1_000, 1_000, 1]);
  assert.deepEqual([databases[0].subscriber_count, databases[0].subscribers.length], [300, 200]);
  assert.equal(databases[0].subscribers[0].bufferedBytes, 299, 'the slowest are told');
  const rest = await ask(seq);
  assert.deepEqual([rest.seq, rest.entries.length], [1_500, 500]);
  assert.ok(looks <= 2, `${looks} looks`);
  for (let n = 2; n < 600; n++) await ask(9_999);
  assert.equal((await frontDoor.app.inject('/debug/live')).statusCode, 429);
  assert.equal((await frontDoor.app.inject({ url: '/debug/live', remoteAddress: '10.0.0.1' })).statusCode, 200);
});

describe('POST /halt/clear', async () => {
  const halt = { block_index: 5, reason: 'hash mismatch', mismatches: {}, sources: [], detected_at: '2026-01-02' };
  let was: unknown = halt;
  const { app } = await openFrontDoor({
    config: { SYNC_MODE: 'client', SYNC_API_KEY: 'k1' },
    reports: [reportOf(INDEXER)],
    clearHalt: async () => ({ was })
  });
  const clear = async (database: string, headers: object = BEARER) =>
    app.inject({ method: 'POST', url: `/halt/clear/${database}`, headers: { ...headers } });

  test('200 with what was cleared', async () => {
    assert.deepEqual((await clear(`indexer/${AT}`)).json(), {
      ok: true,
      cleared: true,
      was: halt,
      note: 'restart the service for a clean catch-up'
    });
  });

  test('200 and halted: false when it was not halted', async () => {
    was = null;
    assert.deepEqual((await clear(`indexer/${AT}`)).json(), {
      ok: true,
      halted: false,
      message: 'the replica was not halted'
    });
  });

  test('401 without the key, 400 dbType, 404 combination', async () => {
    assert.equal((await clear(`index/${AT}`, {})).statusCode, 401);
    assert.equal((await clear(`index/${AT}`)).statusCode, 400);
    assert.equal((await clear(`decoder/${AT}`)).statusCode, 404);
  });

  test('403 in server mode, after 400 and before 404', async () => {
    const server = await openFrontDoor({ config: { SYNC_API_KEY: 'k1' } });
    const post = async (database: string) =>
      server.app.inject({ method: 'POST', url: `/halt/clear/${database}`, headers: BEARER });
    assert.equal((await post(`indexer/${AT}`)).statusCode, 403);
    assert.equal((await post(`indexer/no/where`)).statusCode, 403);
    assert.equal((await post(`index/${AT}`)).statusCode, 400);
  });
});
