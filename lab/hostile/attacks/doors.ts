import assert from 'node:assert/strict';
import type { Attack } from '../attack.ts';
import type { Person } from '../person.ts';

/** Each of 0.5 LTC. */
const VICTIM_COINS = 12;
/** Satoshis for which all coins of a victim are needed. */
const ALMOST_ALL = 590_000_000;
/** Satoshis for which one coin is enough. */
const LITTLE = 100_000;
const STRANGERS = 10;

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
      const victims: Person[] = [];
      for (const name of ['reserved 1', 'reserved 2', 'reserved 3'])
        victims.push(await arena.person(name, VICTIM_COINS));
      const honest = await arena.person('honest', 1);
      const most = VICTIM_COINS * victims.length;
      const encoder = await arena.beside.start('encoder', {
        name: 'full',
        variables: { ENCODER_MAX_RESERVATIONS: String(most) }
      });
      yield;
      yield;
      const create = async (person: Person, from: string, value: number) => {
        const customOutputs = [{ address: honest.address, value }];
        const request = { pubkey: person.address, data: 'BROADCAST|0|mine', encoding: 'OP_RETURN', feePerKb: 20_000 };
        return (await arena.call(encoder.url, 'create_tx', { ...request, customOutputs }, from)).body;
      };
      const reserved: string[] = [];
      for (let stranger = 2; stranger < 2 + STRANGERS; stranger++)
        for (const victim of victims) reserved.push(await create(victim, `127.0.0.${stranger}`, ALMOST_ALL));
      const answers = [await create(honest, '127.0.0.200', LITTLE)];
      for (const [at, victim] of victims.entries()) answers.push(await create(victim, `127.0.0.${201 + at}`, LITTLE));
      await encoder.stop();
      return () => {
        const made = reserved.filter((body) => body.includes('"psbt"')).length;
        assert.ok(made >= victims.length, `${made} calls of strangers reserve ${VICTIM_COINS} coins each, of ${most}`);
        for (const body of answers) assert.match(body, /"psbt"/);
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
