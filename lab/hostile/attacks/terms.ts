import assert from 'node:assert/strict';
import type { Attack } from '../attack.ts';
import { issue, sale } from './texts.ts';

const PRICE = '0.001';
const PRICE_SATOSHIS = 100_000n;
/** Seconds. */
const TERM = 1_800;
const HOUR = 3_600;

/** Dispensers whose term ends, or is said to. They set the clock of the node forward. */
export const TERM_ATTACKS: readonly Attack[] = [
  {
    name: "a dispenser whose term lies between its block's own time and the median takes coins and gives nothing",
    async *play(arena) {
      const [seller, buyer] = await arena.people('seller at the median', 'buyer at the median');
      await seller!.act(issue('ATMEDIAN'));
      yield;
      const term = (await arena.time()) + TERM;
      await seller!.act(sale({ tick: 'ATMEDIAN', price: PRICE, expiration: String(term) }));
      yield;
      yield;
      await arena.later(term + 60);
      const paid = await buyer!.pay([{ amount: PRICE_SATOSHIS, script: seller!.script }]);
      return async () => {
        const { time, mediantime } = await arena.blockOf(paid);
        assert.ok(time > term);
        // A reorg may have given the blocks before it the late time, too.
        assert.equal(await arena.balance(buyer!.address, 'ATMEDIAN'), mediantime > term ? '0' : '1');
      };
    }
  },
  {
    name: 'a dispenser that is swept and expires within its hour pays the swept address',
    async *play(arena) {
      const [opener, receiver] = await arena.people('swept opener', 'heir of a dispenser');
      await opener!.act(issue('SWEPTSALE'));
      yield;
      const term = (await arena.time()) + TERM;
      const opened = await opener!.act(sale({ tick: 'SWEPTSALE', price: PRICE, expiration: String(term) }));
      yield;
      yield;
      const swept = await opener!.act(`SWEEP|0|${receiver!.address}|0|0|0|0|1`);
      yield;
      await arena.later(term + 2 * HOUR);
      return async () => {
        assert.deepEqual([await arena.statuses(opened), await arena.statuses(swept)], [['valid'], ['valid']]);
        const held = [];
        for (const { address } of [opener!, receiver!]) held.push(await arena.balance(address, 'SWEPTSALE'));
        // A reorg may have ended the dispenser before it was swept.
        assert.deepEqual(held, (await arena.blockOf(swept)).mediantime > term ? ['1000', '0'] : ['990', '10']);
      };
    }
  },
  {
    name: 'a dispenser that was extended by the address at which it is paid takes coins and gives nothing',
    async *play(arena) {
      const [seller, till, buyer] = await arena.people('seller at a till', 'till', 'buyer at a till');
      await seller!.act(issue('ATTILL'));
      await till!.act('ADDRESS|0|||2');
      yield;
      const term = (await arena.time()) + TERM;
      const opened = await seller!.act(
        sale({ tick: 'ATTILL', price: PRICE, at: till!.address, expiration: String(term) })
      );
      yield;
      yield;
      const edited = await till!.act(`DISPENSER|2|${await arena.actionIndex(opened)}||${term + 100 * HOUR}`);
      yield;
      await arena.later(term + 3 * HOUR);
      for (let block = 0; block < 8; block++) yield;
      await buyer!.pay([{ amount: PRICE_SATOSHIS, script: till!.script }]);
      return async () => {
        // A reorg may have ended the dispenser before it was extended.
        const isLate = (await arena.blockOf(edited)).mediantime > term;
        assert.equal((await arena.statuses(edited)).join() === 'valid', !isLate);
        assert.equal(await arena.balance(buyer!.address, 'ATTILL'), isLate ? '0' : '1');
      };
    }
  }
];
