import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Query } from '../../../src/explorer/read/reader.ts';
import { findBlock, type Tip } from '../../../src/explorer/read/tip.ts';
import { TokenNames } from '../../../src/explorer/read/token-names.ts';

interface Token {
  readonly id: number;
  readonly tick_id: number;
  readonly tick: string;
}

const ROWS = 10_000;

/** A ledger whose blocks all stand. */
class Ledger {
  readonly tokens: Token[] = [];
  /** Tokens that were read from it. */
  read = 0;
  #height = 0;

  readonly query = (async (sql: string, [above]: [number]) => {
    if (!sql.includes('FROM tokens')) return [{ height: above, time: above }];
    const found = this.tokens.filter(({ id }) => id > above).slice(0, ROWS);
    this.read += found.length;
    return found;
  }) as unknown as Query;

  /** Adds a block with tokens. */
  async issue(...ticks: string[]): Promise<Tip> {
    this.#height += 1;
    for (const tick of ticks) {
      const id = 3 * (this.tokens.length + 1);
      this.tokens.push({ id, tick_id: 1_000_000 - id, tick });
    }
    return (await findBlock(this.query, this.#height))!;
  }
}

test('names that come block by block are found as if they had come at once, and by their ids in order', async () => {
  const [ledger, names] = [new Ledger(), new TokenNames()];
  const nameOf = (at: number) => `${at % 2 ? 'Ö' : 'Tok'}${at}`;
  for (const count of [1, 9_998, 1, 1, 25_000, 3]) {
    const first = ledger.tokens.length;
    const tip = await ledger.issue(...Array.from({ length: count }, (_, at) => nameOf(first + at)));
    const at = await names.at(ledger.query, tip);
    for (const { tick, tick_id } of ledger.tokens) assert.equal(at.find(tick.toUpperCase()), tick_id);
    const wanted = ledger.tokens.filter(({ tick }) => tick.startsWith('Ö'));
    const found = await at.filter('begin ö', (lower) => lower.startsWith('ö'));
    assert.deepEqual(
      found,
      wanted.map(({ id }) => id)
    );
    assert.deepEqual(
      [...at.ticksOf(found)],
      wanted.map(({ tick }) => tick)
    );
  }
  assert.equal(ledger.read, ledger.tokens.length, 'each once');
});

test('a question sees no name that was read for a later block, and the oldest token of a name in two spellings', async () => {
  const [ledger, names] = [new Ledger(), new TokenNames()];
  const before = await names.at(ledger.query, await ledger.issue('AAA', 'aab'));
  const after = await names.at(ledger.query, await ledger.issue('aaC', 'AAB'));
  const all = () => true;
  assert.deepEqual([before.find('aac'), after.find('aac')], [undefined, 1_000_000 - 9]);
  assert.equal(after.find('AAB'), 1_000_000 - 6);
  assert.deepEqual(
    [await before.filter('all', all), await after.filter('all', all)],
    [
      [3, 6],
      [3, 6, 9, 12]
    ]
  );
  assert.deepEqual(await before.filter('all', all), [3, 6]);
});
