import assert from 'node:assert/strict';
import type { Arena } from '../arena.ts';
import type { Attack } from '../attack.ts';
import type { Person } from '../person.ts';

/** Blocks that a poll is open. */
const OPEN = 12;

/** Issues a token with one decimal, that has no unit yet. */
const divisible = (tick: string) => `ISSUE|0|${tick}|1000|1000|1`;
/** Takes its decimal away, and makes ten units. */
const INDIVISIBLE = (tick: string) => `ISSUE|0|${tick}|1000|1000|0||10`;

async function verdicts(arena: Arena, txids: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const txid of txids) found.push((await arena.statuses(txid)).join(' / '));
  return found;
}

async function held(arena: Arena, tick: string, ...people: readonly Person[]): Promise<string[]> {
  const found: string[] = [];
  for (const { address } of people) found.push(await arena.balance(address, tick));
  return found;
}

/** Amounts that wait, of a token that becomes indivisible meanwhile. */
export const HALF_ATTACKS: readonly Attack[] = [
  {
    name: 'a dispenser that is refilled sells half a unit of a token without decimals',
    async *play(arena) {
      const [seller, buyer] = await arena.people('half refiller', 'half refilled');
      await seller!.act(divisible('HALFREFILL'));
      yield;
      const opened = await seller!.act('DISPENSER|0|LTC|HALFREFILL|0.5||0|LTC||0.001');
      yield;
      yield;
      const index = await arena.actionIndex(opened);
      const lowered = await seller!.act(INDIVISIBLE('HALFREFILL'));
      yield;
      const refilled = await seller!.act(`DISPENSER|2|${index}|1`);
      yield;
      await buyer!.pay([{ amount: 100_000n, script: seller!.script }]);
      return async () => {
        const found = await verdicts(arena, [opened, lowered, refilled]);
        assert.deepEqual(found, ['valid', 'valid', 'invalid: GIVE_AMOUNT (format)']);
        assert.deepEqual(await held(arena, 'HALFREFILL', seller!, buyer!), ['10', '0']);
      };
    }
  },
  ...(['ORDER', 'SWAP'] as const).map((offer): Attack => {
    const [half, paid] = [`HALF${offer}`, `PAID${offer}`];
    return {
      name: `${offer} of half a unit is matched when its token has no decimals any more`,
      async *play(arena) {
        const [seller, buyer] = await arena.people(`half seller of ${offer}`, `half buyer of ${offer}`);
        await seller!.act(divisible(half));
        await buyer!.act(`ISSUE|0|${paid}|1000|1000|0||10`);
        yield;
        const wanted = await buyer!.act(`${offer}|0|LTC|${paid}|5|0|LTC|${half}|0.5`);
        yield;
        const lowered = await seller!.act(INDIVISIBLE(half));
        yield;
        const offered = await seller!.act(`${offer}|0|LTC|${half}|1|0|LTC|${paid}|5`);
        const halved = await seller!.act(`${offer}|0|LTC|${half}|0.5|0|LTC|${paid}|5`);
        return async () => {
          const found = await verdicts(arena, [wanted, lowered, offered, halved]);
          assert.deepEqual(found, ['valid', 'valid', 'valid', 'invalid: GIVE_AMOUNT (format)']);
          assert.deepEqual(await held(arena, half, seller!, buyer!), ['9', '0'], 'the whole unit waits');
          assert.deepEqual(await held(arena, paid, seller!, buyer!), ['0', '5'], 'and so do the five');
        };
      }
    };
  }),
  {
    name: 'a CALLBACK pays half units of a token without decimals',
    async *play(arena) {
      const [owner, payer, holder] = await arena.people('half caller', 'half payer', 'half holder');
      await payer!.act(divisible('HALFPAID'));
      await owner!.act('ISSUE|0|HALFBOND|1000|1000|0||10');
      yield;
      const due = (await arena.height()) + 1;
      const terms = await owner!.act(`ISSUE|4|HALFBOND|${due}|HALFPAID|0.5`);
      yield;
      const lowered = await payer!.act(INDIVISIBLE('HALFPAID'));
      await owner!.act(`SEND|0|HALFBOND|3|${holder!.address}`);
      yield;
      await payer!.act(`SEND|0|HALFPAID|10|${owner!.address}`);
      yield;
      const called = await owner!.act('CALLBACK|0|HALFBOND');
      return async () => {
        const found = await verdicts(arena, [terms, lowered, called]);
        assert.deepEqual(found, ['valid', 'valid', 'invalid: CALLBACK_AMOUNT (format)']);
        assert.deepEqual(await held(arena, 'HALFBOND', owner!, holder!), ['7', '3']);
        assert.deepEqual(await held(arena, 'HALFPAID', owner!, holder!), ['10', '0']);
      };
    }
  },
  {
    name: 'MIN_VOTE_BALANCE of half a unit keeps holders of whole ones out of a poll',
    async *play(arena) {
      const [owner, voter] = await arena.people('half poll', 'half voter');
      await owner!.act('ISSUE|0|HALFVOTE|1000|1000|1||1');
      yield;
      const end = (await arena.height()) + OPEN;
      const asked = await owner!.act(`VOTE|0|HALFVOTE|${end}|yes,no|1||quadratic|||0.5`);
      yield;
      yield;
      const poll = await arena.actionIndex(asked);
      const changed = [await owner!.act('DESTROY|0|HALFVOTE|1')];
      yield;
      changed.push(await owner!.act(INDIVISIBLE('HALFVOTE')));
      yield;
      changed.push(await owner!.act(`SEND|0|HALFVOTE|1|${voter!.address}`));
      yield;
      changed.push(await owner!.act(`VOTE|1|${poll}|0`), await voter!.act(`VOTE|1|${poll}|1`));
      for (let block = 0; block < OPEN; block++) yield;
      return async () => {
        assert.deepEqual(new Set(await verdicts(arena, [asked, ...changed])), new Set(['valid']));
        const results = await arena.rows<{ option_index: number; tally: string; voters: number }>(
          'indexer',
          'SELECT * FROM poll_results WHERE poll_index = ? ORDER BY option_index',
          [poll]
        );
        assert.equal(results.length, 2, 'each vote counts');
      };
    }
  }
];
