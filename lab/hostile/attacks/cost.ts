import assert from 'node:assert/strict';
import { addressOf } from '../../../src/coin/script/address.ts';
import { hash160, payTo } from '../../../src/coin/script/pay-scripts.ts';
import { DEVNET } from '../../../src/devnet/settings.ts';
import type { Attack } from '../attack.ts';
import { issue, sale } from './texts.ts';

const repeat = (count: number, text: (at: number) => string) => Array.from({ length: count }, (_, at) => text(at));
const batch = (texts: readonly string[]) => `BATCH|0|${texts.join(';')}`;
const MANY = 240;
/** As many as a token may have: 10^36. */
const MOST_UNITS = `1${'0'.repeat(36)}`;
/** As many commands as an action holds. */
const SENDS = 86;
/** Coins of one owner: as many transactions in each block. */
const TURNS_AT_ONCE = 24;
/** An address that nobody has the key of. */
const strange = (name: string) =>
  addressOf(payTo({ kind: 'witnessKeyHash', bytes: hash160(Buffer.from(name)) }), DEVNET.addresses)!;

/** Work, rows and memory that others have to pay for. */
export const COST_ATTACKS: readonly Attack[] = [
  {
    name: 'a batch of one-item edits of a list writes the list anew with each',
    async *play(arena) {
      const owner = await arena.person('lists');
      const list = await owner.act(`LIST|0|2||${repeat(MANY, (at) => `^${at + 1}`).join('|')}`);
      yield;
      yield;
      const index = await arena.actionIndex(list);
      const edits = repeat(MANY, (at) => `LIST|1|${2 - (at % 2)}|${index}||^${(at >> 1) + 1}`);
      const edited = [await owner.act(batch(edits)), await owner.act(batch(edits))];
      return async () => {
        assert.deepEqual(await arena.statuses(list), ['valid']);
        for (const txid of edited) assert.ok((await arena.statuses(txid)).length > 0);
      };
    }
  },
  {
    name: "airdrops of nothing to somebody's list and dividends of nothing write a row for each",
    async *play(arena) {
      const [payer, stranger] = await arena.people('airdrops', 'airdrop stranger');
      await payer!.act(issue('DROPPED'));
      const list = await payer!.act(`LIST|0|2||${repeat(MANY, (at) => `^${at + 1}`).join('|')}`);
      yield;
      yield;
      const index = await arena.actionIndex(list);
      const drops = batch(repeat(10, () => `AIRDROP|0|DROPPED|0|${index}`));
      const shares = batch(repeat(10, () => 'DIVIDEND|0|DROPPED|DROPPED|0'));
      const sent = [await stranger!.act(drops), await stranger!.act(shares)];
      return async () => {
        for (const txid of sent) assert.ok((await arena.statuses(txid)).length > 0);
        assert.equal(await arena.supply('DROPPED'), '1000');
      };
    }
  },
  {
    name: 'an airdrop of a token with an allow list looks through the list for each member',
    async *play(arena) {
      const owner = await arena.person('allow list');
      await owner.act(issue('ALLOWED'));
      const members = repeat(140, (at) => strange(`member ${at}`));
      const list = await owner.act(`LIST|0|2||${[owner.address, ...members].join('|')}`);
      yield;
      yield;
      const index = await arena.actionIndex(list);
      await owner.act(`ISSUE|5|ALLOWED|${index}`);
      yield;
      await owner.act(batch(repeat(7, () => `AIRDROP|0|ALLOWED|1|${index}`)));
      const barred = await owner.act(`SEND|0|ALLOWED|1|${strange('an outsider')}`);
      return async () => {
        const held = await Promise.all(members.slice(0, 3).map((address) => arena.balance(address, 'ALLOWED')));
        assert.deepEqual(held, ['7', '7', '7']);
        assert.deepEqual(await arena.statuses(barred), ['invalid: DESTINATION (not authorized)']);
        assert.equal(await arena.supply('ALLOWED'), '1000');
      };
    }
  },
  {
    name: 'mints of a busy address read all that it ever did',
    async *play(arena) {
      const busy = await arena.person('busy');
      await busy.act(issue('BUSY'));
      yield;
      for (let round = 0; round < 3; round++) await busy.act(batch(repeat(100, () => `SEND|0|BUSY|1|${busy.address}`)));
      yield;
      for (let round = 0; round < 3; round++) await busy.act(batch(repeat(MANY, () => 'MINT|0|BUSY|1')));
      yield;
      const minted = await busy.act('MINT|0|BUSY|1');
      return async () => {
        assert.deepEqual(await arena.statuses(minted), ['valid']);
        const held = await arena.balance(busy.address, 'BUSY');
        assert.equal(held, await arena.supply('BUSY'));
        assert.ok(Number(held) > 1_000, 'a full block refuses some of them');
      };
    }
  },
  {
    name: 'an order that takes many small ones sorts the market with each match',
    async *play(arena) {
      const [maker, taker] = await arena.people('makers', 'taker');
      await maker!.act(issue('MADE', '10000'));
      await taker!.act(issue('TAKEN', '10000'));
      yield;
      for (let round = 0; round < 4; round++)
        await maker!.act(batch(repeat(120, () => 'ORDER|0|LTC|MADE|1||LTC|TAKEN|1')));
      yield;
      yield;
      await taker!.act('ORDER|0|LTC|TAKEN|480||LTC|MADE|480');
      return async () => {
        assert.equal(await arena.supply('MADE'), '10000');
        assert.ok(Number(await arena.balance(taker!.address, 'MADE')) <= 480);
      };
    }
  },
  {
    name: 'sends to an address with many dispensers, empty ones too, look at all of them',
    async *play(arena) {
      const [seller, buyer] = await arena.people('many dispensers', 'many buyers');
      await seller!.act(issue('MANYSOLD', '10000'));
      await buyer!.act(issue('MANYPAID', '100000'));
      yield;
      const open = () => `DISPENSER|0|LTC|MANYSOLD|1||1|LTC|MANYPAID|1`;
      for (let round = 0; round < 3; round++) await seller!.act(batch(repeat(150, open)));
      yield;
      yield;
      await buyer!.act(batch(repeat(100, () => `SEND|0|MANYPAID|3|${seller!.address}`)));
      await buyer!.act(batch(repeat(100, () => `SEND|0|MANYPAID|0|${seller!.address}`)));
      return async () => {
        assert.equal(await arena.supply('MANYSOLD'), '10000');
        assert.equal(await arena.supply('MANYPAID'), '100000');
      };
    }
  },
  {
    name: 'a turnover of 10^40 units makes a false alarm of the ledger',
    async *play(arena) {
      const owner = await arena.person('turnover', TURNS_AT_ONCE);
      const issued = await owner.act(`ISSUE|0|TURN|0|0|0||${MOST_UNITS}`);
      yield;
      yield;
      const before = await arena.height();
      const sends = batch(repeat(SENDS, () => `SEND|TURN|${MOST_UNITS}|${owner.address}`));
      for (let sent = 0; sent < 10_000; sent += TURNS_AT_ONCE * SENDS) {
        for (let turn = 0; turn < TURNS_AT_ONCE; turn++) await owner.act(sends);
        yield;
      }
      const after = await arena.height();
      return async () => {
        assert.deepEqual(await arena.statuses(issued), ['valid']);
        const [sent] = await arena.rows<{ count: number }>(
          'indexer',
          `SELECT COUNT(*) AS count FROM credits c JOIN index_tickers t ON t.id = c.tick_id
           WHERE t.tick = 'TURN' AND c.amount = ?`,
          [MOST_UNITS]
        );
        assert.ok(Number(sent!.count) > 10_000, `${sent!.count} times all units are credited`);
        assert.equal(await arena.balance(owner.address, 'TURN'), MOST_UNITS);
        for (const height of [before, after])
          assert.equal(await arena.pastBalance(owner.address, 'TURN', height), MOST_UNITS);
      };
    }
  },
  {
    name: 'payments to very many native dispensers at one address make rows for nothing',
    async *play(arena) {
      const [seller, buyer] = await arena.people('native dispensers', 'native buyer');
      await seller!.act(issue('NATIVE', '10000'));
      yield;
      await seller!.act(batch(repeat(60, () => sale({ tick: 'NATIVE', price: '0.0001', escrow: '1' }))));
      yield;
      await buyer!.pay(repeat(30, () => '').map(() => ({ amount: 30_000n, script: seller!.script })));
      await buyer!.pay([{ amount: 5_000n, script: seller!.script }]);
      return async () => assert.equal(await arena.supply('NATIVE'), '10000');
    }
  }
];
