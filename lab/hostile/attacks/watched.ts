import assert from 'node:assert/strict';
import type { Attack } from '../attack.ts';
import { issue, sale } from './texts.ts';

/** Satoshis. */
const PAYMENT = 5_000n;
const PRICE = '0.00005';
const PAYMENTS = 2_000;
/** Payments for which a decoder watches a dispenser, whatever a ledger says to it. */
const MOST = 6_000;
/** In the year 33658. */
const END = '999999999999';

/** Rows of payments to an address in the decoder's database. */
const PAID = `SELECT h.hash FROM transaction_outputs o JOIN index_addresses a ON a.id = o.destination_id
  JOIN transactions t ON t.tx_index = o.tx_index JOIN index_transactions h ON h.id = t.tx_hash_id WHERE a.address = ?`;

/** Dispensers that make every decoder store what others are paid. */
export const WATCHED_ATTACKS: readonly Attack[] = [
  {
    name: 'a dispenser of no token until the year 33658 makes decoders store all payments to a stranger',
    async *play(arena) {
      const [seller, stranger] = await arena.people('sells nothing', 'is watched');
      const payer = await arena.person('pays who is watched', 6);
      await stranger!.act('BROADCAST|0|I am here');
      yield;
      const opened = await seller!.act(
        sale({ tick: 'NOSUCHTOKEN', price: PRICE, at: stranger!.address, expiration: END })
      );
      yield;
      const payments = Array.from({ length: PAYMENTS }, () => ({ amount: PAYMENT, script: stranger!.script }));
      const paid: string[] = [];
      for (let round = 0; round < 5; round++) {
        paid.push(await payer.pay(payments));
        yield;
      }
      return async () => {
        assert.deepEqual(await arena.statuses(opened), ['invalid: GIVE_TICK (unknown)']);
        const stored = await arena.rows<{ hash: string }>('decoder', PAID, [stranger!.address]);
        const ofEach = paid.map((txid) => stored.filter(({ hash }) => hash === txid).length);
        assert.ok(stored.length <= MOST, `${stored.length} payments are stored: ${ofEach.join(', ')}`);
        assert.deepEqual(ofEach.slice(-2), [0, 0], 'what is paid later is not stored');
      };
    }
  },
  {
    name: 'a BATCH of dispensers at strangers makes decoders store their payments',
    async *play(arena) {
      const [seller, stranger, other, buyer] = await arena.people(
        'sells a lot',
        'stranger 1',
        'stranger 2',
        'pays both'
      );
      await seller!.act(issue('ATMANY'));
      for (const person of [stranger!, other!]) await person.act('BROADCAST|0|I am here');
      yield;
      const offers = [stranger!, other!].map(({ address }) => sale({ tick: 'ATMANY', price: PRICE, at: address }));
      const opened = await seller!.act(`BATCH|0|${offers.join(';')}`);
      yield;
      await buyer!.pay([stranger!, other!].map(({ script }) => ({ amount: PAYMENT, script })));
      return async () => {
        const refusals = (await arena.statuses(opened)).filter((status) => /GET_ADDRESS/.test(status));
        assert.equal(refusals.length, 2);
        for (const { address } of [stranger!, other!])
          assert.deepEqual(await arena.rows('decoder', PAID, [address]), [], 'decoders watch none of them');
        assert.equal(await arena.balance(buyer!.address, 'ATMANY'), '0');
      };
    }
  }
];
