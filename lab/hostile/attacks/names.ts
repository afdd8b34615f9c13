import assert from 'node:assert/strict';
import type { Attack } from '../attack.ts';
import { issue } from './texts.ts';

const [ONE, OTHER] = ['A', 'B'].map((end) => 'TWIN'.padEnd(200, 'X') + end) as [string, string];
const MEMOS = [
  'e',
  'E',
  'é',
  'e\u0301',
  'e ',
  ' e',
  '𝔢',
  '😀'.repeat(60),
  '\u{10FFFF}',
  "'; DROP TABLE sends; --",
  '\\',
  '\u0000'
];

/** Texts that a table could refuse, or take for one another. */
export const NAME_ATTACKS: readonly Attack[] = [
  {
    name: 'two tickers with the same first 200 characters stop every indexer',
    async *play(arena) {
      const [first, second] = await arena.people('twin 1', 'twin 2');
      const one = await first!.act(issue(ONE));
      yield;
      const other = await second!.act(issue(OTHER));
      return async () => {
        assert.deepEqual(await arena.statuses(one), ['valid']);
        const [status] = await arena.statuses(other);
        assert.match(String(status), /first 200 characters/);
      };
    }
  },
  {
    name: 'a ticker that goes on with spaces stops every indexer',
    async *play(arena) {
      const owner = await arena.person('spaced ticker', 3);
      const issued = await owner.act(issue('SPACED'));
      yield;
      const others = ['SPACED', 'NOTSPACED'].map((begin) => `${begin.padEnd(220)}X`);
      const sent: string[] = [];
      for (const tick of ['NOTSPACED', ...others]) sent.push(await owner.act(`SEND|0|${tick}|1|${owner.address}`));
      return async () => {
        assert.deepEqual(await arena.statuses(issued), ['valid']);
        for (const txid of sent) assert.deepEqual(await arena.statuses(txid), ['invalid: TICK (unknown)']);
      };
    }
  },
  {
    name: "somebody issues another chain's coin, or names a token by its id with zeros in front",
    async *play(arena) {
      const owner = await arena.person('reserved');
      await owner.act(issue('BYITSID'));
      const dash = await owner.act(issue('DASH'));
      yield;
      const zeros = await owner.act(`SEND|0|^01|1|${owner.address}`);
      const batch = await owner.act(
        `BATCH|0|SEND|0|BYITSID|1|${owner.address};XBRIDGE|0|1;SEND|0|BYITSID|1|${owner.address}`
      );
      return async () => {
        assert.match(String(await arena.statuses(dash)), /^invalid: TICK \(reserved\)/);
        assert.deepEqual(await arena.statuses(zeros), ['invalid: TICK (unknown)']);
        const statuses = (await arena.statuses(batch)).filter((status) => status === 'valid');
        assert.ok(statuses.length >= 2, 'a command that is not built refuses itself alone');
      };
    }
  },
  {
    name: 'memos that differ in case, accent, space or plane are one, or are refused by a table',
    async *play(arena) {
      const sender = await arena.person('memos');
      const issued = await sender.act(issue('MEMOTEST'));
      yield;
      const sent = await sender.act(
        `BATCH|0|${MEMOS.map((memo) => `SEND|0|MEMOTEST|1|${sender.address}|${memo}`).join(';')}`
      );
      const single: string[] = [];
      for (const memo of MEMOS) single.push(await sender.act(`SEND|0|MEMOTEST|1|${sender.address}|${memo}`));
      return async () => {
        assert.deepEqual(await arena.statuses(issued), ['valid']);
        assert.ok((await arena.statuses(sent)).length > 0);
        for (const txid of single) assert.equal((await arena.statuses(txid)).length, 1);
        assert.equal(await arena.balance(sender.address, 'MEMOTEST'), '1000');
      };
    }
  },
  {
    name: 'the longest and oddest texts of every field stop an indexer',
    async *play(arena) {
      const odd = await arena.person('odd texts', 4);
      const emoji = '🦊'.repeat(62);
      const texts = [
        `ISSUE|0|ODDONE|18446744073709551615|18446744073709551615|0|${emoji}||18446744073709551615||${odd.address}|${emoji}`,
        `ISSUE|0|ODDTWO|${'9'.repeat(40)}|${'9'.repeat(300)}|18|x|${'0'.repeat(500)}1`,
        `ISSUE|0|${'\u{1F98A}'.repeat(62)}|1|1|0||1`,
        `BROADCAST|1|${emoji}|${'9'.repeat(250)}|${'9'.repeat(11)}|${emoji}`,
        `MESSAGE|0|${odd.address}|${'m'.repeat(7_000)}`,
        `LIST|0|2|${emoji}|${'^'.repeat(200)}|${'é'.repeat(130)}|^012|^00|^-1|^1e3|^${'9'.repeat(60)}`,
        `SEND|0|ODDONE|${'9'.repeat(90)}.${'9'.repeat(90)}|^012`,
        `SEND|${'9'.repeat(30)}|ODDONE|1|${odd.address}`,
        `ADDRESS|0|${'1'.repeat(40)}|-0|+1`,
        `FILE|0|${'n'.repeat(300)}|${'t'.repeat(300)}|${emoji}`,
        `ORDER|1|${'9'.repeat(40)}`,
        `COINPAY|0|${'9'.repeat(40)}`,
        `DISPENSER|2|${'9'.repeat(40)}|${'9'.repeat(40)}|${'9'.repeat(40)}`
      ];
      const ids: string[] = [];
      for (const [at, text] of texts.entries()) {
        ids.push(await odd.act(text));
        if (at % 5 === 4) yield;
      }
      return async () => {
        for (const [at, txid] of ids.entries())
          assert.ok((await arena.statuses(txid)).length > 0 || /^COINPAY/.test(texts[at]!), texts[at]!.slice(0, 40));
      };
    }
  }
];
