import assert from 'node:assert/strict';
import type { Attack } from '../attack.ts';

const ROUNDS = 12;

/** Requests of strangers to the services while blocks come. */
export const DOOR_ATTACKS: readonly Attack[] = [
  {
    name: 'anybody pays himself the reward pool, or writes configuration',
    async *play(arena) {
      const thief = await arena.person('pool thief', 1);
      const reward = { rewards: [{ address: thief.address, amount: '900', validator: thief.address, round: 1 }] };
      const answers = [
        await arena.call(arena.doors.indexer.url, 'pushvalidatorrewards', reward),
        await arena.call(arena.doors.hub, 'pushvalidatorrewards', reward),
        await arena.call(arena.doors.hub, 'updateconfig', { coin: 'LTC', network: 'regtest', db_host: 'evil.example' })
      ];
      yield;
      return () => {
        for (const { status, body } of answers)
          assert.ok(status >= 400 || /"error"/.test(body), `${status} ${body.slice(0, 200)}`);
        return Promise.resolve();
      };
    }
  },
  {
    name: "strangers reserve everybody's coins, and the encoder answers nobody else",
    async *play(arena) {
      const [victim, honest] = await arena.people('reserved', 'honest');
      yield;
      yield;
      const create = (pubkey: string) =>
        arena.call(arena.doors.encoder, 'create_tx', {
          pubkey,
          data: 'BROADCAST|0|mine',
          encoding: 'OP_RETURN',
          feePerKb: 20_000
        });
      for (let round = 0; round < ROUNDS; round++) await create(victim!.address);
      const { status, body } = await create(honest!.address);
      return () => {
        assert.equal(status, 200);
        assert.match(body, /"psbt"/);
        return Promise.resolve();
      };
    }
  },
  {
    name: 'batches of heavy questions silence the tracker',
    async *play(arena) {
      yield;
      const honest = await arena.person('tracker neighbour', 2);
      const ask = (address: string) => ({ jsonrpc: '2.0', id: 1, method: 'get_utxos', params: { address } });
      const { addresses } = (await arena.rpc.call('decodescript', [`0014${'00'.repeat(20)}`])) as {
        addresses: string[];
      };
      const heavy = Array.from({ length: 50 }, () => ask(addresses[0]!));
      const post = (body: unknown) =>
        fetch(arena.doors.tracker, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
          signal: AbortSignal.timeout(30_000)
        });
      yield;
      const crowd = Array.from({ length: 6 }, async () => await (await post(heavy)).arrayBuffer());
      const answer = await post(ask(honest.address));
      const text = await answer.text();
      await Promise.all(crowd);
      return () => {
        assert.equal(answer.status, 200, text.slice(0, 200));
        return Promise.resolve();
      };
    }
  },
  {
    name: 'a page of another name reads services of the loopback',
    async *play(arena) {
      const { request } = await import('node:http');
      const statuses: number[] = [];
      for (const door of [
        arena.doors.hub,
        arena.doors.explorer,
        arena.doors.tracker,
        arena.doors.encoder,
        arena.doors.indexer.url
      ]) {
        const asked = Promise.withResolvers<number>();
        request(door, { method: 'GET', headers: { host: 'evil.example' } }, (response) => {
          response.resume();
          asked.resolve(response.statusCode ?? 0);
        })
          .on('error', asked.reject)
          .end();
        statuses.push(await asked.promise);
      }
      yield;
      return () => {
        assert.deepEqual([...new Set(statuses)], [421]);
        return Promise.resolve();
      };
    }
  }
];
