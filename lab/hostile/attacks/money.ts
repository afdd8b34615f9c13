import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { createBase58check } from '@scure/base';
import { OP_CHECKSIG, writePush } from '../../../src/coin/script/script.ts';
import { publicKeyOf } from '../../../test/support/encoder/signer.ts';
import type { Attack } from '../attack.ts';
import { issue, sale } from './texts.ts';

const base58check = createBase58check((bytes: Uint8Array) => hash('sha256', bytes, 'buffer'));
const PRICE = '0.001';
const PRICE_SATOSHIS = 100_000n;

/** Each is a dispenser to the ledger, in spellings of its own. */
const ODD_SALES: readonly ((tick: string, address: string) => string)[] = [
  (tick) => sale({ tick, price: PRICE, version: '' }),
  (tick) => sale({ tick, price: PRICE, version: '00' }),
  (tick) => sale({ tick, price: PRICE, version: '"0"' }),
  (tick) => sale({ tick, price: PRICE, version: ' 0' }),
  (tick) => sale({ tick, price: PRICE, coin: 'ltc' }),
  (tick) => sale({ tick, price: PRICE, coin: ' LTC ' }),
  (tick) => sale({ tick, price: PRICE }).toLowerCase().replace(tick.toLowerCase(), tick),
  (tick) => ` ${sale({ tick, price: PRICE })}`,
  (tick) => sale({ tick, price: ` ${PRICE}` }),
  (tick) => `BATCH|0|${sale({ tick, price: PRICE })}`,
  (tick, address) => sale({ tick, price: PRICE, at: `${address} ` })
];

/** Tokens and coins that come to the wrong one, or to nobody. */
export const MONEY_ATTACKS: readonly Attack[] = [
  {
    name: 'a payment from a script without an address credits nobody, or stops the indexer',
    async *play(arena) {
      const [seller, buyer] = await arena.people('address seller', 'no address');
      await seller!.act(issue('NOBODY'));
      yield;
      await seller!.act(sale({ tick: 'NOBODY', price: PRICE }));
      const key = publicKeyOf(buyer!.key);
      const script = Buffer.concat([writePush(key), Buffer.from([OP_CHECKSIG])]);
      const funded = await buyer!.pay([
        { amount: 2_000_000n, script },
        { amount: 2_000_000n, script }
      ]);
      yield;
      yield;
      const wif = base58check.encode(Buffer.concat([Buffer.from([0xef]), buyer!.key, Buffer.from([1])]));
      for (const vout of [0, 1]) {
        const raw = await arena.rpc.call('createrawtransaction', [
          [{ txid: funded, vout }],
          { [seller!.address]: '0.019' }
        ]);
        const previous = { txid: funded, vout, scriptPubKey: script.toString('hex'), amount: '0.02' };
        const { hex } = (await arena.rpc.call('signrawtransactionwithkey', [raw, [wif], [previous]])) as {
          hex: string;
        };
        await arena.rpc.call('sendrawtransaction', [hex]);
        yield;
      }
      return async () => {
        assert.equal(await arena.balance(seller!.address, 'NOBODY'), '990');
        assert.equal(await arena.supply('NOBODY'), '1000');
      };
    }
  },
  ...ODD_SALES.map((open, at): Attack => {
    const tick = `ODDSALE${at}`;
    return {
      name: `a dispenser spelled ${JSON.stringify(open('T', 'A'))} takes coins and gives nothing`,
      async *play(arena) {
        const [seller, buyer] = await arena.people(`odd seller ${at}`, `odd buyer ${at}`);
        await seller!.act(issue(tick));
        yield;
        const opened = await seller!.act(open(tick, seller!.address));
        yield;
        yield;
        await buyer!.pay([{ amount: PRICE_SATOSHIS, script: seller!.script }]);
        return async () => {
          const isOpen = (await arena.statuses(opened)).every((status) => status === 'valid');
          assert.equal(await arena.balance(buyer!.address, tick), isOpen ? '1' : '0');
        };
      }
    };
  }),
  {
    name: 'a dispenser that costs a currency opens where the ledger has no prices, and takes coins for nothing',
    async *play(arena) {
      const [seller, buyer] = await arena.people('currency seller', 'currency buyer');
      await seller!.act(issue('FIATSALE'));
      yield;
      const opened = await seller!.act('DISPENSER|0|LTC|FIATSALE|1||10|LTC||||USD|0.01');
      yield;
      yield;
      await buyer!.pay([{ amount: PRICE_SATOSHIS, script: seller!.script }]);
      return async () => {
        const refusal = 'invalid: FIAT_CODE (no price snapshot in the settlement window)';
        assert.deepEqual(await arena.statuses(opened), [refusal]);
        assert.equal(await arena.balance(seller!.address, 'FIATSALE'), '1000');
        assert.equal(await arena.balance(buyer!.address, 'FIATSALE'), '0');
      };
    }
  },
  {
    name: 'a seller blinds the decoder by an edit that the ledger refuses',
    async *play(arena) {
      const [seller, buyer] = await arena.people('blinding', 'blinded');
      await seller!.act(issue('BLIND'));
      yield;
      const opened = await seller!.act(sale({ tick: 'BLIND', price: PRICE }));
      yield;
      yield;
      const index = await arena.actionIndex(opened);
      for (const edit of [
        `DISPENSER|2|${index}||1`,
        `dispenser| 2|${index}||1`,
        `DISPENSER|02|${index}||"1"`,
        `DISPENSER|2|^${index}||1`
      ])
        await seller!.act(edit);
      yield;
      await buyer!.pay([{ amount: PRICE_SATOSHIS, script: seller!.script }]);
      return async () => assert.equal(await arena.balance(buyer!.address, 'BLIND'), '1');
    }
  },
  {
    name: 'coins that a BATCH of COINPAY pays are lost',
    async *play(arena) {
      const [seller, buyer] = await arena.people('coin seller', 'coin buyer');
      await seller!.act(issue('PAIDFOR'));
      yield;
      await seller!.act('ORDER|0|LTC|PAIDFOR|10||LTC||0.01');
      yield;
      const bought = await buyer!.act('ORDER|0|LTC||0.01||LTC|PAIDFOR|10');
      yield;
      yield;
      const match = String(Number(await arena.actionIndex(bought)) + 1);
      const pay = await buyer!.act(`BATCH|0|COINPAY|0|${match}`, [{ amount: 1_000_000n, script: seller!.script }]);
      return async () => {
        assert.ok((await arena.statuses(pay)).length > 0);
        assert.equal(await arena.balance(buyer!.address, 'PAIDFOR'), '10');
      };
    }
  },
  {
    name: 'an order that is swept while a payment is awaited takes it from the buyer, or pays the swept address',
    async *play(arena) {
      const [seller, buyer, receiver] = await arena.people('swept seller', 'buyer meanwhile', 'heir');
      await seller!.act(issue('SWEPTORDER'));
      yield;
      await seller!.act('ORDER|0|LTC|SWEPTORDER|10||LTC||0.01');
      yield;
      const bought = await buyer!.act('ORDER|0|LTC||0.004||LTC|SWEPTORDER|4');
      yield;
      yield;
      await seller!.act(`SWEEP|0|${receiver!.address}|0|0|1`);
      yield;
      yield;
      const match = String(Number(await arena.actionIndex(bought)) + 1);
      await buyer!.act(`COINPAY|0|${match}`, [{ amount: 400_000n, script: seller!.script }]);
      return async () => {
        const held = [];
        for (const { address } of [buyer!, receiver!, seller!]) held.push(await arena.balance(address, 'SWEPTORDER'));
        assert.deepEqual(held, ['4', '6', '990']);
      };
    }
  },
  {
    name: 'a locked cap rises as the decimals change',
    async *play(arena) {
      const owner = await arena.person('cap');
      await owner.act('ISSUE|0|CAPPED|1.5|1.5|1');
      yield;
      await owner.act('ISSUE|3|CAPPED|1');
      yield;
      await owner.act('ISSUE|0|CAPPED|||0');
      yield;
      const minted = [await owner.act('MINT|0|CAPPED|1'), await owner.act('MINT|0|CAPPED|1')];
      yield;
      return async () => {
        assert.ok(Number(await arena.supply('CAPPED')) <= 1.5);
        for (const txid of minted) assert.equal((await arena.statuses(txid)).length, 1);
      };
    }
  },
  {
    name: "a dispenser at a stranger's address makes everybody store the stranger's payments",
    async *play(arena) {
      const [seller, stranger, buyer] = await arena.people('at others', 'an other', 'their buyer');
      await seller!.act(issue('ATOTHERS'));
      await stranger!.act('BROADCAST|0|I am here');
      yield;
      const opened = await seller!.act(sale({ tick: 'ATOTHERS', price: PRICE, at: stranger!.address }));
      yield;
      await buyer!.pay([{ amount: PRICE_SATOSHIS, script: stranger!.script }]);
      return async () => {
        assert.match(String(await arena.statuses(opened)), /GET_ADDRESS/);
        assert.equal(await arena.balance(buyer!.address, 'ATOTHERS'), '0');
      };
    }
  },
  {
    name: 'a cancelled dispenser that expires within its hour pays another than who cancelled it',
    async *play(arena) {
      const [opener, holder] = await arena.people('opener', 'holder');
      await opener!.act(issue('RETURNED'));
      yield;
      const term = (await arena.time()) + 1_800;
      const opened = await opener!.act(
        sale({ tick: 'RETURNED', price: PRICE, at: holder!.address, expiration: String(term) })
      );
      yield;
      yield;
      await holder!.act(`DISPENSER|1|${await arena.actionIndex(opened)}`);
      yield;
      await arena.later(term + 5_400);
      return async () => {
        const [there, here] = [
          await arena.balance(holder!.address, 'RETURNED'),
          await arena.balance(opener!.address, 'RETURNED')
        ];
        assert.deepEqual(
          [there, here],
          (await arena.statuses(opened)).join() === 'valid' ? ['10', '990'] : ['0', '1000']
        );
      };
    }
  }
];
