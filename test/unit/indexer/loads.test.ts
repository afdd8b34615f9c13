import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_LIMITS, NO_LIMITS } from '../../../src/coin/limits.ts';
import { executeBlocks } from '../../../src/indexer/block/execute.ts';
import type { Rules } from '../../../src/indexer/profile/rules.ts';
import { noLooks } from '../../../src/indexer/state/effects.ts';
import { FactTable } from '../../../src/indexer/state/fact-table.ts';
import type { FactKey, Kind, ListCount } from '../../../src/indexer/state/facts.ts';
import { splitPair } from '../../../src/indexer/state/keys.ts';
import { Members } from '../../../src/indexer/state/members.ts';
import { Scouting } from '../../../src/indexer/state/scouting.ts';
import { COUNTED_BY, View } from '../../../src/indexer/state/view.ts';
import { MemoryLedger, TEST_RULES } from '../../support/indexer-ledger.ts';

const RULES = { ...TEST_RULES, readAddress: (text: string) => (/^[A-Z]\d*$/.test(text) ? text : undefined) };
const SETS = ['holders', 'holdings', 'owned', 'voters', 'delegators'] as const;
const COUNTED = ['holders', 'holdings', 'owned'] as const;
const [FEW, MANY] = [20, 400];

const repeat = <T>(count: number, make: (place: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));
const batches = (texts: readonly string[]) =>
  Array.from(
    { length: Math.ceil(texts.length / 250) },
    (_, at) => `BATCH|0|${texts.slice(250 * at, 250 * at + 250).join(';')}`
  );

/** Runs blocks of one source's texts. */
function blockOf(ledger: MemoryLedger, texts: readonly (string | readonly [source: string, data: string])[]) {
  const height = ledger.height++;
  const transactions = texts.map((text, place) => {
    const [source, data] = typeof text === 'string' ? ['A', text] : text;
    return { hash: `${height} ${place}`, source, fee: null, data };
  });
  return { height, time: ledger.time, hash: String(height), transactions };
}

/** Returns whether a list has an address, by its `memberKey`. */
function isMember({ view }: MemoryLedger, key: string): boolean {
  const [root, address] = splitPair(key);
  return view.get('list', root)?.members.has(address) ?? false;
}

/** Returns the numbers of a list. */
function countOf({ view }: MemoryLedger, root: string): ListCount | undefined {
  const list = view.get('list', root);
  return list ? { size: list.members.size, changes: list.changes } : undefined;
}

/**
 * Runs a block by a view that has nothing but the books of live offers and open polls in memory. @param loaded gets the
 * number of loaded facts of each kind @param areLoaded whether the offers are in memory as well @returns how often facts
 * were loaded
 */
async function loadsOf(
  ledger: MemoryLedger,
  block: ReturnType<typeof blockOf>,
  loaded = new Map<Kind, number>(),
  rules: Rules = RULES,
  areLoaded = false
): Promise<number> {
  const view = new View({ isWhole: false });
  for (const offer of ledger.offers)
    if (areLoaded) view.loadOffer(String(offer.index), offer);
    else view.book.put(offer);
  for (const index of ledger.view.polls.ended(Number.POSITIVE_INFINITY))
    view.polls.put(ledger.view.get('poll', String(index))!);
  view.hasAllOffers = true;
  let loads = 0;
  const load = async (keys: readonly FactKey[]) => {
    if (keys.length > 0) loads += 1;
    for (const { kind, key } of keys) {
      loaded.set(kind, (loaded.get(kind) ?? 0) + 1);
      const set = SETS.find((name) => name === kind);
      const counted = COUNTED.find((name) => COUNTED_BY[name] === kind);
      if (set) view.loadSet(set, key, ledger.view.get(set, key));
      else if (counted) view.loadCount(counted, key, ledger.view.get(counted, key).size);
      else if (kind === 'list') view.loadList(key, ledger.view.get('list', key) ?? undefined);
      else if (kind === 'listCount') view.load(kind, key, countOf(ledger, key));
      else if (kind === 'member') view.load(kind, key, isMember(ledger, key));
      else if (kind === 'offer') view.loadOffer(key, ledger.view.get('offer', key) ?? undefined);
      else view.load(kind, key, ledger.view.get(kind, key));
    }
  };
  const below = { hashes: ledger.hashes, times: ledger.times };
  const executed = await executeBlocks({ view, rules, load }, [block], below);
  assert.deepEqual(executed, [ledger.run(block)]);
  return loads;
}

const issues = (count: number) => [
  'ISSUE|0|TOKA|0|0|0||1000000',
  ...batches(repeat(count, (at) => `ISSUE|0|TOKA.${at}`))
];
const ticks = (count: number) => repeat(count, (at) => `TOKA.${at}`).join('|');

/** Blocks before, and the text of the block that is measured, by their number of parts. */
const CASES: Readonly<
  Record<
    string,
    {
      readonly before: (count: number) => readonly (readonly (string | readonly [string, string])[])[];
      readonly text: (count: number, ledger: MemoryLedger) => readonly (string | readonly [string, string])[];
    }
  >
> = {
  'AIRDROP to the holders of many tokens': {
    before: (count) => [issues(count), [`LIST|0|1||${ticks(count)}`]],
    text: (_, { lastAction }) => [`AIRDROP|0|TOKA|1|${lastAction}`]
  },
  'AIRDROP to many lists': {
    before: (count) => [['ISSUE|0|TOKA|0|0|0||1000000'], repeat(count, (at) => `LIST|0|2||C${at}`)],
    text: (count, { lastAction }) => [`AIRDROP|2${repeat(count, (at) => `|TOKA|1|${lastAction - at}`).join('')}`]
  },
  'DESTROY of many ids': {
    before: (count) => [issues(count)],
    text: (count) => [`DESTROY|1${repeat(count, (at) => `|^${at + 1}|0`).join('')}`]
  },
  'SEND of many ids': {
    before: (count) => [issues(count)],
    text: (count) => [`SEND|2${repeat(count, (at) => `|^${at + 1}|1|C${at}`).join('')}`]
  },
  'LIST of ids of tickers': {
    before: (count) => [issues(count)],
    text: (count) => [`LIST|0|1||${repeat(count, (at) => `^${at + 1}`).join('|')}`]
  },
  'LIST of ids of addresses': {
    before: (count) => [[`LIST|0|2||${repeat(count, (at) => `C${at}`).join('|')}`]],
    text: (count) => [`LIST|0|2||${repeat(count, (at) => `^${at + 1}`).join('|')}`]
  },
  'edit of a list of tickers': {
    before: (count) => [issues(count), [`LIST|0|1||${ticks(count)}`]],
    text: (_, { lastAction }) => [`LIST|1|1|${lastAction}||TOKA`]
  },
  'SWEEP of ownerships': { before: (count) => [issues(count)], text: () => ['SWEEP|0|B|0|1'] },
  'BATCH of MINTs': {
    before: (count) => [issues(count)],
    text: (count) => batches(repeat(Math.min(count, 250), (at) => `MINT|0|TOKA.${at}|1`))
  },
  'payments whose time is over': {
    before: (count) => [
      ['ISSUE|0|TOKA|0|0|0||1000000'],
      batches(repeat(count, () => 'ORDER|0|BTC|TOKA|1|0|BTC||1')),
      batches(repeat(count, () => 'ORDER|0|BTC||1|0|BTC|TOKA|1')).map((data) => ['B', data] as const)
    ],
    text: (_, ledger) => {
      ledger.time += 10_000;
      ledger.run(blockOf(ledger, []));
      ledger.times.fill(ledger.time);
      return [];
    }
  },
  'tally of a poll': {
    before: (count) => [
      ['ISSUE|0|TOKA|0|0|0||1000000', `VOTE|0|TOKA|105|yes,no|1|approval|balance|0|0|0||which`],
      [`LIST|0|2||${repeat(count, (at) => `C${at}`).join('|')}`],
      ['AIRDROP|0|TOKA|1|3'],
      repeat(count, (at) => (at % 2 === 0 ? 'VOTE|1|2|0' : 'VOTE|3|TOKA|C0')).map(
        (data, at) => [`C${at}`, data] as const
      )
    ],
    text: (_, ledger) => {
      ledger.height = 105;
      return [];
    }
  }
};

for (const [name, { before, text }] of Object.entries(CASES))
  test(`${name}: facts of many parts are loaded together, not part by part`, async () => {
    const loads: number[] = [];
    for (const count of [FEW, MANY]) {
      const ledger = new MemoryLedger(100, RULES);
      for (const texts of before(count)) ledger.run(blockOf(ledger, texts));
      const texts = text(count, ledger);
      loads.push(await loadsOf(ledger, blockOf(ledger, texts)));
    }
    const [few, many] = loads;
    assert.ok(many! <= few! + 2 && many! <= 12, `${few} loads for ${FEW} parts, ${many} for ${MANY}`);
  });

/** Rules of a block below the heights of limits and of the rules that came with them. */
const UNBOUNDED: Rules = {
  ...RULES,
  limitsAt: () => NO_LIMITS,
  isActive: (name, height) =>
    !['DISPENSER_LIMITS', 'EXACT_AMOUNTS', 'FAIR_FILLS', 'LIMITS'].includes(name) && RULES.isActive(name, height)
};
const TOKENS_OF_TWO = ['ISSUE|0|XXXX|0|0|0||10000000', 'ISSUE|0|YYYY|0|0|8', 'LIST|0|2||C'];
const MINT = ['B', 'MINT|0|YYYY|10'] as const;
const TAKER = [['B', 'ORDER|0|BTC|YYYY|1|0|BTC|XXXX|1']] as const;

/** Blocks that make many offers whom the last text passes over, and that text. */
const PASSED_OVER = {
  // 0.5 is no amount of the token any more.
  'ORDER, many makers': {
    before: (count: number) => [
      TOKENS_OF_TWO,
      batches(repeat(count, () => 'ORDER|0|BTC|XXXX|1|0|BTC|YYYY|0.5')),
      ['ISSUE|0|YYYY|||0', MINT]
    ],
    text: TAKER,
    rules: RULES
  },
  'ORDER, many makers that exclude it, without limits': {
    before: (count: number) => [
      [...TOKENS_OF_TWO, MINT],
      batches(repeat(count, () => 'ORDER|0|BTC|XXXX|1|0|BTC|YYYY|1||||3'))
    ],
    text: TAKER,
    rules: UNBOUNDED
  },
  'payment, many dispensers that exclude it': {
    before: (count: number) => [
      ['ISSUE|0|XXXX|0|0|0||10000000', 'ISSUE|0|PAYT|0|0|0||1000', 'LIST|0|2||C', 'SEND|0|PAYT|1|B'],
      batches(repeat(count, () => 'DISPENSER|0|BTC|XXXX|1|0|1|BTC|PAYT|1||||||3'))
    ],
    text: [['B', 'SEND|0|PAYT|1|A']] as const,
    rules: RULES
  }
};

for (const [name, { before, text, rules }] of Object.entries(PASSED_OVER))
  for (const areLoaded of [false, true])
    test(`${name} ${areLoaded ? 'in memory' : 'not in memory'}: the facts are asked for once, in few loads`, async () => {
      const [loads, facts]: [number[], number[]] = [[], []];
      for (const count of [500, 4_000]) {
        const ledger = new MemoryLedger(100, rules);
        for (const texts of before(count)) ledger.run(blockOf(ledger, texts));
        const loaded = new Map<Kind, number>();
        loads.push(await loadsOf(ledger, blockOf(ledger, text), loaded, rules, areLoaded));
        facts.push(loaded.values().reduce((sum, each) => sum + each) / count);
      }
      assert.ok(loads[1]! <= loads[0]! + 5 && loads[1]! <= 20, `${loads.join(', then ')} loads`);
      assert.ok(Math.max(...facts) < 1.5, `${facts.join(', then ')} facts for each`);
    });

/** Offers of one seller, of whom a payment or order of 1 asks some, and how many of them are asked. */
const PARTLY_ASKED = {
  'payment, dispensers that cost more than it pays': {
    offers: ['DISPENSER|0|BTC|XXXX|1|0|9|BTC|PAYT|1', ...repeat(MANY, () => 'DISPENSER|0|BTC|XXXX|1|0|9|BTC|PAYT|2')],
    asked: 1,
    text: 'SEND|0|PAYT|1|A'
  },
  'payment, dispensers behind one that serves it': {
    offers: repeat(MANY, () => 'DISPENSER|0|BTC|XXXX|1|0|9|BTC|PAYT|1'),
    asked: 1,
    text: 'SEND|0|PAYT|1|A'
  },
  'payment, dispensers that exclude it between dearer ones': {
    offers: repeat(MANY, (at) => `DISPENSER|0|BTC|XXXX|1|0|1|BTC|PAYT|${at % 10 === 0 ? 1 : 2}||||||3`),
    asked: MANY / 10,
    text: 'SEND|0|PAYT|1|A'
  },
  'ORDER, makers behind one that fills it': {
    offers: repeat(MANY, () => 'ORDER|0|BTC|XXXX|1|0|BTC|PAYT|1'),
    asked: 1,
    text: 'ORDER|0|BTC|PAYT|1|0|BTC|XXXX|1'
  }
};

for (const [name, { offers, asked, text }] of Object.entries(PARTLY_ASKED))
  test(`${name}: hardly more offers are read than it asks`, async () => {
    const ledger = new MemoryLedger(100, RULES);
    ledger.run(
      blockOf(ledger, ['ISSUE|0|XXXX|0|0|0||10000000', 'ISSUE|0|PAYT|0|0|0||1000', 'LIST|0|2||C', 'SEND|0|PAYT|9|B'])
    );
    ledger.run(blockOf(ledger, batches(offers)));
    assert.equal(ledger.offers.length, offers.length);
    const loaded = new Map<Kind, number>();
    await loadsOf(ledger, blockOf(ledger, [['B', text]]), loaded);
    const read = loaded.get('offer') ?? 0;
    assert.ok(read >= asked && read <= 2 * asked + 2, `${read} offers are read, ${asked} asked`);
  });

test('payment, dispensers with a list each that excludes it: the facts of very many are loaded in few loads', async () => {
  const loads: number[] = [];
  for (const count of [200, 800]) {
    const ledger = new MemoryLedger(100, RULES);
    ledger.give('XXXX', 0, 'A', { A: '10000' });
    ledger.give('PAYT', 0, 'A', { B: '1' });
    const open = (at: number) => `DISPENSER|0|BTC|XXXX|1|0|1|BTC|PAYT|1||||||${at + 1}`;
    for (const textAt of [() => 'LIST|0|2||C', open]) ledger.run(blockOf(ledger, repeat(count, textAt)));
    assert.equal(ledger.offers.length, count);
    loads.push(await loadsOf(ledger, blockOf(ledger, [['B', 'SEND|0|PAYT|1|A']])));
  }
  assert.ok(loads[1]! <= loads[0]! + 8, `${loads.join(', then ')} loads`);
});

/** Actions that credit very many addresses or tokens at once, and the ledger before each. */
const FANNED_OUT: Readonly<Record<string, (ledger: MemoryLedger, count: number) => string>> = {
  AIRDROP: (ledger, count) => {
    ledger.run(blockOf(ledger, [`LIST|0|2||${repeat(count, (at) => `H${at}`).join('|')}`]));
    return `AIRDROP|0|PAYT|1|${ledger.lastAction}`;
  },
  DIVIDEND: (ledger, count) => {
    ledger.give('HELD', 0, 'A', Object.fromEntries(repeat(count, (at) => [`H${at}`, '1'])));
    return 'DIVIDEND|0|HELD|PAYT|1';
  },
  CALLBACK: (ledger, count) => {
    const list = `LIST|0|2||${repeat(count, (at) => `H${at}`).join('|')}`;
    ledger.run(blockOf(ledger, ['ISSUE|0|HELD|0|0|0||100000', 'ISSUE|4|HELD|100|PAYT|1', list]));
    ledger.run(blockOf(ledger, [`AIRDROP|0|HELD|1|${ledger.lastAction}`]));
    return 'CALLBACK|0|HELD';
  },
  SWEEP: (ledger, count) => {
    for (let at = 0; at < count; at++) ledger.give(`TOKEN${at}`, 0, 'A', { A: '1' });
    return 'SWEEP|0|B|1|0';
  }
};

for (const [name, textAfter] of Object.entries(FANNED_OUT))
  test(`${name}: what very many credits read is loaded at once, however slow the machine is`, async (context) => {
    const loads = [];
    for (const count of [500, 3_000]) {
      const ledger = new MemoryLedger(100, RULES);
      ledger.give('PAYT', 0, 'A', { A: '100000' });
      const text = textAfter(ledger, count);
      let now = 0;
      const clock = context.mock.method(performance, 'now', () => (now += 5));
      loads.push(await loadsOf(ledger, blockOf(ledger, [text])));
      clock.mock.restore();
      assert.ok(ledger.blocks.at(-1)!.rows.filter(({ table }) => table === 'credits').length >= count);
    }
    assert.ok(loads[1]! <= loads[0]! + 1, `${loads.join(', then ')} loads`);
  });

test('a block reads the open polls that it may close, however many there are', async () => {
  const ledger = new MemoryLedger(100, RULES);
  const polls = (count: number, end: number) => batches(repeat(count, () => `VOTE|0|TOKA|${end}|yes,no`));
  ledger.run(blockOf(ledger, ['ISSUE|0|TOKA|0|0|0||1000', ...polls(300, 9_000), ...polls(50, 103)]));
  const read = async (texts: readonly string[]) => {
    const loaded = new Map<Kind, number>();
    await loadsOf(ledger, blockOf(ledger, texts), loaded);
    return loaded.get('poll') ?? 0;
  };
  assert.deepEqual([await read([]), await read(['VOTE|1|3|0']), await read([])], [0, 1, 50]);
  assert.equal([...ledger.view.polls.ended(9_000)].length, 300);
});

test('a try collects a fact once, and ends with the number of facts that it may collect', (context) => {
  context.mock.method(performance, 'now', () => 0); // its time would end it on a busy machine
  const left = { units: 0, looks: noLooks(), isLast: true };
  const keysOf = (count: number) => repeat(count, (at) => ({ kind: 'addressId', key: `C${at}` }) as const);
  const scouting = new Scouting(new View({ isWhole: false }), left);
  scouting.try((effects) => {
    for (let time = 0; time < 3; time++) effects.request(keysOf(1_000));
    assert.equal(effects.get('addressId', 'C7'), null);
    assert.ok(!effects.lacks(keysOf(1_000)) && effects.lacks(keysOf(1_001)));
  });
  assert.equal(scouting.lacking.size, 1_000);
  scouting.try((effects) => {
    effects.request(keysOf(300_000));
    assert.fail('it goes on');
  });
  assert.equal(scouting.lacking.size, 200_000);
});

test('a try of a system action ends after a second of collecting', (context) => {
  const scouting = new Scouting(new View({ isWhole: false }), { units: 0, looks: noLooks(), isLast: true });
  let now = 5_000;
  context.mock.method(performance, 'now', () => now);
  scouting.try((effects) => {
    for (let at = 0; at < 100; at++) {
      effects.get('addressId', `C${at}`);
      now += 100;
    }
  });
  assert.equal(scouting.lacking.size, 11);
});

test('a delegation that ended counts as no look at a vote, whether or not it is in memory', async () => {
  const ledger = new MemoryLedger(100, RULES);
  const voters = repeat(50, (at) => `C${at}`);
  ledger.run(blockOf(ledger, ['ISSUE|0|TOKA|0|0|0||1000', 'VOTE|0|TOKA|102|yes,no|1||flat']));
  ledger.run(
    blockOf(
      ledger,
      voters.map((voter) => [voter, 'VOTE|3|TOKA|A'] as const)
    )
  );
  assert.equal(ledger.view.get('delegators', 'toka').size, voters.length);
  ledger.run(
    blockOf(
      ledger,
      voters.map((voter) => [voter, 'VOTE|3|TOKA|'] as const)
    )
  );
  assert.equal(ledger.view.get('delegators', 'toka').size, 0);
});

test('an ISSUE that is refused for its name or its source reads no member of the lists that it names', async () => {
  const ledger = new MemoryLedger(100, RULES);
  ledger.run(blockOf(ledger, ['ISSUE|0|TOKA|0|0|0||1000', ...repeat(FEW, () => 'LIST|0|2||B')]));
  const loaded = new Map<Kind, number>();
  const issue = (name: string) => repeat(FEW, (at) => `ISSUE|5|${name}|${at + 2}|2`);
  await loadsOf(ledger, blockOf(ledger, batches([...issue('A.B'), ...issue('TOKA.')])), loaded);
  const ofOthers = blockOf(ledger, [['B', batches(issue('TOKA'))[0]!]]);
  await loadsOf(ledger, ofOthers, loaded);
  assert.ok(loaded.has('listRoot') && !loaded.has('list'), [...loaded.keys()].join());
  await loadsOf(ledger, blockOf(ledger, ['ISSUE|5|TOKA|2|3']), loaded);
  assert.ok(loaded.has('listHead') && !loaded.has('list'), 'the type of a list is known without its members');
});

test('a token with lists is moved without their other members, and a block of many moves loads those it asks for together', async () => {
  const ledger = new MemoryLedger(100, RULES);
  const members = repeat(MANY, (at) => `H${at}`);
  ledger.run(blockOf(ledger, [`LIST|0|2||A|${members.join('|')}`]));
  const allowed = ledger.lastAction;
  ledger.run(blockOf(ledger, ['LIST|0|2||X', 'ISSUE|0|TOKC|0|0|0||100000']));
  const blocked = allowed + 1;
  ledger.run(blockOf(ledger, [`ISSUE|5|TOKC|${allowed}|${blocked}`]));
  const loaded = new Map<Kind, number>();
  const sends = (count: number) => [...members.slice(0, count), 'X', 'Y'].map((to) => `SEND|0|TOKC|1|${to}`);
  const few = await loadsOf(ledger, blockOf(ledger, sends(FEW)), loaded);
  const many = await loadsOf(ledger, blockOf(ledger, sends(MANY)), loaded);
  assert.ok(many <= few + 2, `${few} loads for ${FEW} moves, ${many} for ${MANY}`);
  assert.ok(loaded.has('member') && !loaded.has('list'), [...loaded.keys()].join());
  const edited = ['SEND|0|TOKC|1|Y', `LIST|1|1|${allowed}||Y|X`, 'SEND|0|TOKC|1|Y', 'SEND|0|TOKC|1|X'];
  await loadsOf(ledger, blockOf(ledger, [...edited, `LIST|1|2|${allowed}||Y`, 'SEND|0|TOKC|1|Y']));
  const barred = 'invalid: DESTINATION (not authorized)';
  assert.deepEqual(
    ledger.blocks.at(-1)!.rows.flatMap(({ table, columns }) => (table === 'sends' ? [columns['status_id']] : [])),
    [barred, 'valid', barred, barred]
  );
});

test('an edit of a list reads the items that it names alone, and whoever reads the list then has what edits changed', async () => {
  const ledger = new MemoryLedger(100, RULES);
  const members = repeat(3_000, (at) => `H${at}`); // too many to be kept with each edit
  ledger.run(blockOf(ledger, [`LIST|0|2||A|${members.join('|')}`, 'ISSUE|0|TOKC|0|0|0||100000']));
  const list = ledger.lastAction - 1;
  const edits = [`LIST|1|1|${list}||Y|H1`, `LIST|1|2|${list}||H2|Z`, `LIST|3|${list}|B`];
  const loaded = new Map<Kind, number>();
  await loadsOf(ledger, blockOf(ledger, edits), loaded);
  assert.deepEqual([loaded.has('list'), loaded.get('member')], [false, 4], [...loaded.keys()].join());
  const byBoth = [['B', `LIST|1|2|${list}||Y|H3`] as const, ['B', `LIST|3|${list}|A`] as const];
  await loadsOf(ledger, blockOf(ledger, [...byBoth, `LIST|1|1|${list}||W`, `AIRDROP|0|TOKC|1|${list}`]), loaded);
  assert.ok(loaded.has('list'));
  const credited = ledger.blocks.at(-1)!.rows.filter(({ table }) => table === 'credits').length;
  assert.equal(credited, 3_000, 'A, the first 3,000 without H2 and H3, and W');
  const { owner, changes } = ledger.view.get('list', String(list))!;
  assert.deepEqual([owner, changes], ['A', 5]);
  assert.deepEqual(ledger.blocks.at(-1)!.listCounts, [
    { root: list, action: ledger.lastAction - 1, size: 3_000, changes: 5 }
  ]);
});

test('an AIRDROP to many reads short lists of its token whole, and of much longer ones the members that it asks about', async () => {
  const ledger = new MemoryLedger(100, RULES);
  ledger.run(blockOf(ledger, [`LIST|0|2||A|${repeat(MANY, (at) => `H${at}`).join('|')}`]));
  const long = ledger.lastAction;
  ledger.run(blockOf(ledger, ['LIST|0|2||X', `LIST|0|2||${repeat(FEW, (at) => `H${at}`).join('|')}`]));
  ledger.run(blockOf(ledger, ['ISSUE|0|TOKC|0|0|0||100000', `ISSUE|5|TOKC|${long}|${long + 1}`]));
  for (const [named, lists, members] of [
    [long, 2, 8], // both lists, when many are named
    [long + 2, 2, FEW + 8] // the named one, and the short one of the token
  ] as const) {
    const loaded = new Map<Kind, number>();
    await loadsOf(ledger, blockOf(ledger, [`AIRDROP|0|TOKC|1|${named}`]), loaded);
    const asked = loaded.get('member') ?? 0;
    assert.ok(
      loaded.get('list') === lists && asked <= members,
      `${named}: ${loaded.get('list')} lists, ${asked} members`
    );
  }
});

test('a LIST that edits or gives away what others own reads no member of it', async () => {
  const ledger = new MemoryLedger(100, RULES);
  ledger.run(
    blockOf(
      ledger,
      repeat(FEW, () => 'LIST|0|2||B')
    )
  );
  const loaded = new Map<Kind, number>();
  const ofOthers = batches(repeat(FEW, (at) => (at % 2 === 0 ? `LIST|1|1|${at + 1}||C` : `LIST|3|${at + 1}|B`)));
  const byOther = ofOthers.map((text) => ['B', text] as const);
  await loadsOf(ledger, blockOf(ledger, byOther), loaded);
  const statuses = ledger.blocks
    .at(-1)!
    .rows.flatMap(({ table, columns }) => (table === 'lists' ? [columns['status_id']] : []));
  assert.deepEqual([...new Set(statuses)], ['invalid: LIST_ACTION_INDEX (not owner)']);
  assert.ok(loaded.has('listHead') && !loaded.has('list'), [...loaded.keys()].join());
});

test('the head of a list tells of its newest owner when the list itself is no longer in memory', () => {
  const view = new View({ isWhole: false });
  view.load('listHead', '7', { type: 2, owner: 'A', isLong: false });
  const given = new FactTable();
  given.set('list', '7', { type: 2, owner: 'B', members: new Members(), changes: 0 });
  view.commit(given);
  for (let block = 0; block < 2; block++) {
    view.age();
    assert.equal(view.get('listHead', '7')?.owner, 'B');
  }
  assert.equal(view.find('list', '7'), undefined);
});

test('an AIRDROP to many lists reads no long one for which the block has no look left', async () => {
  const rules: Rules = { ...RULES, limitsAt: () => ({ ...DEFAULT_LIMITS, blockUnits: 1_000 }) }; // 10,000 looks
  const ledger = new MemoryLedger(100, rules);
  ledger.give('TOKA', 0, 'A', { A: '1000' });
  const members = repeat(3_000, (at) => `H${at}`).join('|');
  const lists = repeat(10, () => {
    ledger.run(blockOf(ledger, [`LIST|0|2||${members}`]));
    return ledger.lastAction;
  });
  ledger.run(blockOf(ledger, ['LIST|0|2||B']));
  const named = [...lists, ledger.lastAction, 999_999];
  const loaded = new Map<Kind, number>();
  const text = `AIRDROP|2${named.map((list) => `|TOKA|900|${list}`).join('')}`;
  await loadsOf(ledger, blockOf(ledger, [text]), loaded, rules);
  const statuses = ledger.blocks.at(-1)!.rows.flatMap(({ table, columns }) => {
    return table === 'airdrops' ? [String(columns['status_id'])] : [];
  });
  assert.deepEqual(statuses, [
    ...repeat(4, () => 'invalid: insufficient funds (TICK)'),
    ...repeat(7, () => 'invalid: RECIPIENTS (block limit)'),
    'invalid: LIST (unknown)'
  ]);
  assert.equal(loaded.get('list'), 5, 'four long ones, and the short one');
});

test('an AIRDROP to a list longer than it may be about is refused before a member is read', async () => {
  const limits = { ...DEFAULT_LIMITS };
  const rules: Rules = { ...RULES, limitsAt: () => limits };
  const ledger = new MemoryLedger(100, rules);
  ledger.give('TOKA', 0, 'A', { A: '1000' });
  ledger.run(blockOf(ledger, [`LIST|0|2||${repeat(FEW, (at) => `H${at}`).join('|')}`, 'LIST|0|1||TOKA']));
  const list = ledger.lastAction - 1;
  for (const [parts, left, status, lists] of [
    [FEW, FEW, 'valid', 1],
    [FEW - 1, FEW, 'invalid: RECIPIENTS (limit)', 0],
    [0, FEW, 'invalid: RECIPIENTS (limit)', 0]
  ] as const) {
    Object.assign(limits, { parts, blockUnits: left });
    const loaded = new Map<Kind, number>();
    await loadsOf(ledger, blockOf(ledger, [`AIRDROP|0|TOKA|1|${list}`]), loaded, rules);
    assert.deepEqual([statusOf(ledger, 'airdrops'), loaded.get('list') ?? 0], [status, lists]);
  }
  // Lists of the token may leave few enough of them.
  Object.assign(limits, DEFAULT_LIMITS);
  ledger.run(blockOf(ledger, ['LIST|0|2||A|H1']));
  ledger.run(blockOf(ledger, [`ISSUE|5|TOKA|${ledger.lastAction}`]));
  Object.assign(limits, { parts: 2 });
  await loadsOf(ledger, blockOf(ledger, [`AIRDROP|0|TOKA|1|${list}`]), new Map(), rules);
  assert.equal(statusOf(ledger, 'airdrops'), 'valid');
});

test("an AIRDROP asks a token's lists about no more addresses than the block has looks left for", async () => {
  const limits = { ...DEFAULT_LIMITS };
  const rules: Rules = { ...RULES, limitsAt: () => limits };
  const ledger = new MemoryLedger(100, rules);
  const named = repeat(FEW, (at) => `H${at}`).join('|');
  const others = repeat(MANY, (at) => `C${at}`).join('|');
  ledger.run(blockOf(ledger, ['ISSUE|0|TOKA|0|0|0||1000', `LIST|0|2||${named}`, `LIST|0|2||A|${named}|${others}`]));
  const list = ledger.lastAction - 1;
  ledger.run(blockOf(ledger, [`LIST|0|2||${others}`]));
  ledger.run(blockOf(ledger, [`ISSUE|5|TOKA|${list + 1}|${ledger.lastAction}`]));
  // A look at each address, and two for each of both lists.
  for (const [blockUnits, status, least] of [
    [FEW / 2, 'valid', 2 * FEW],
    [FEW / 2 - 1, 'invalid: RECIPIENTS (block limit)', 0]
  ] as const) {
    limits.blockUnits = blockUnits;
    const loaded = new Map<Kind, number>();
    await loadsOf(ledger, blockOf(ledger, [`AIRDROP|0|TOKA|1|${list}`]), loaded, rules);
    const asked = loaded.get('member') ?? 0;
    assert.equal(statusOf(ledger, 'airdrops'), status);
    assert.ok(asked >= least && asked <= least + 8, `${asked} members`);
  }
});

/** Tokens and holders of each, in the ledger that `heldByMany` makes. */
const [TOKENS, HOLDERS] = [8, 150];

/** Returns the status of the first row of a table in the newest block. */
const statusOf = ({ blocks }: MemoryLedger, table: string) =>
  blocks.at(-1)!.rows.find((row) => row.table === table)!.columns['status_id'];

/** Returns balances of 1 at so many addresses. */
const ones = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`H${at}`, '1']));

/** Ledger whose blocks may look at 1,000 holders. A holds CASH, and may call back VERY and TOK0. */
function heldByMany() {
  const rules = { ...RULES, limitsAt: () => ({ ...DEFAULT_LIMITS, blockUnits: 300 }) };
  const ledger = new MemoryLedger(100, rules);
  for (let at = 0; at < TOKENS; at++) ledger.give(`TOK${at}`, 0, 'A', ones(HOLDERS));
  ledger.give('VERY', 0, 'A', ones(TOKENS * HOLDERS));
  ledger.give('CASH', 0, 'A', { A: '1000000' });
  const terms = { callbackBlock: 100, callbackTick: 'CASH', callbackAmount: 10n ** 18n };
  for (const key of ['very', 'tok0']) ledger.view.load('token', key, { ...ledger.view.get('token', key)!, ...terms });
  return { ledger, rules };
}

test('holders are counted before they are read: none where a block may not look at as many', async () => {
  const { ledger, rules } = heldByMany();
  ledger.run(blockOf(ledger, [`LIST|0|1||${repeat(TOKENS, (at) => `TOK${at}`).join('|')}`]));
  const list = ledger.lastAction;
  ledger.run(blockOf(ledger, ['LIST|0|1||TOK0|TOK1|TOK2']));
  const fewer = ledger.lastAction;
  const id = ledger.view.get('token', 'cash')!.id;
  const cases = [
    ['airdrops', `AIRDROP|0|CASH|1|${list}`, false],
    ['airdrops', `AIRDROP|2|^${id}|1|${list}|^${id}|2|${list}`, false],
    ['airdrops', `AIRDROP|0|CASH|1|${fewer}`, true],
    ['dividends', 'DIVIDEND|0|VERY|CASH|1', false],
    ['dividends', 'DIVIDEND|0|TOK0|CASH|1', true],
    ['callbacks', 'CALLBACK|0|VERY', false],
    ['callbacks', 'CALLBACK|0|TOK0', true]
  ] as const;
  for (const [table, text, isRead] of cases) {
    const loaded = new Map<Kind, number>();
    await loadsOf(ledger, blockOf(ledger, [text]), loaded, rules);
    assert.equal(statusOf(ledger, table), isRead ? 'valid' : 'invalid: RECIPIENTS (block limit)', text);
    const read = (loaded.get('balance') ?? 0) + (loaded.get('holders') ?? 0);
    assert.equal(read > HOLDERS, isRead, `${text}: ${read} facts of holders`);
  }
});

test('as many holders as a block may look at are read, and none of one more', async () => {
  const { ledger, rules } = heldByMany();
  ledger.give('MOST', 0, 'A', ones(1_000));
  ledger.give('MORE', 0, 'A', ones(1_001));
  for (const [tick, status] of [
    ['MOST', 'valid'],
    ['MORE', 'invalid: RECIPIENTS (block limit)']
  ] as const) {
    await loadsOf(ledger, blockOf(ledger, [`DIVIDEND|0|${tick}|CASH|1`]), new Map(), rules);
    assert.equal(statusOf(ledger, 'dividends'), status);
  }
});

test('a DIVIDEND or CALLBACK asks the lists of what it pays in about no more holders than the block has looks left for', async () => {
  const limits = { ...DEFAULT_LIMITS };
  const rules: Rules = { ...RULES, limitsAt: () => limits };
  const ledger = new MemoryLedger(100, rules);
  const others = repeat(MANY, (at) => `C${at}`).join('|');
  const holders = Object.keys(ones(FEW)).join('|');
  ledger.run(blockOf(ledger, ['ISSUE|0|CASH|0|0|0||1000', `LIST|0|2||A|${holders}|${others}`, `LIST|0|2||${others}`]));
  ledger.run(blockOf(ledger, [`ISSUE|5|CASH|${ledger.lastAction - 1}|${ledger.lastAction}`]));
  ledger.give('HELD', 0, 'A', ones(FEW));
  const terms = { callbackBlock: 100, callbackTick: 'CASH', callbackAmount: 10n ** 18n };
  ledger.view.load('token', 'held', { ...ledger.view.get('token', 'held')!, ...terms });
  // Three looks at each holder, and two for each of both lists.
  const enough = (7 * FEW) / 10;
  for (const [table, text] of [
    ['dividends', 'DIVIDEND|0|HELD|CASH|1'],
    ['callbacks', 'CALLBACK|0|HELD']
  ] as const)
    for (const [blockUnits, status, least] of [
      [enough - 1, 'invalid: RECIPIENTS (block limit)', 0],
      [enough, 'valid', 2 * FEW]
    ] as const) {
      limits.blockUnits = blockUnits;
      const loaded = new Map<Kind, number>();
      await loadsOf(ledger, blockOf(ledger, [text]), loaded, rules);
      const asked = loaded.get('member') ?? 0;
      assert.equal(statusOf(ledger, table), status, `${text} in ${blockUnits} units`);
      assert.ok(asked >= least && asked <= least + 8, `${text}: ${asked} members`);
    }
});

test('a number of holders follows what blocks change, and is never above the true one', () => {
  const view = new View({ isWhole: false });
  const change = (...balances: readonly (readonly [address: string, before: bigint, amount: bigint])[]) => {
    const changes = new FactTable();
    for (const [address, before, amount] of balances) {
      if (view.find('balance', `toka|${address}`) === undefined) view.load('balance', `toka|${address}`, before);
      changes.set('balance', `toka|${address}`, amount);
    }
    view.commit(changes);
  };
  change(['A', 5n, 0n], ['B', 0n, 5n]); // not yet in the database, which has A, C and D
  view.loadCount('holders', 'toka', 3);
  assert.equal(view.fewest('holders', 'toka'), 1, 'of A and B it may have either');
  change(['E', 0n, 1n], ['C', 2n, 1n]);
  assert.equal(view.fewest('holders', 'toka'), 2);
  change(['C', 1n, 0n]);
  assert.equal(view.fewest('holders', 'toka'), 1);
  view.loadSet('holders', 'toka', ['A', 'C', 'D']);
  assert.equal(view.fewest('holders', 'toka'), 3, 'B, D and E');
});

test('numbers of holdings and owned tokens follow what blocks change, and are never above the true ones', () => {
  const view = new View({ isWhole: false });
  const change = (...tokens: readonly (readonly [key: string, before: string | null, owner: string])[]) => {
    const changes = new FactTable();
    for (const [key, before, owner] of tokens) {
      const ledger = new MemoryLedger();
      ledger.give(key, 0, owner, {});
      const token = ledger.view.get('token', key)!;
      view.load('token', key, before === null ? null : { ...token, owner: before });
      changes.set('token', key, token);
    }
    view.commit(changes);
  };
  const owned = () => ['A', 'B'].map((address) => view.fewest('owned', address));
  assert.deepEqual(owned(), [undefined, undefined]);
  change(['toka', null, 'A'], ['tokb', 'A', 'B']); // not yet in the database, where A has B, C and E
  view.loadCount('owned', 'A', 3);
  view.loadCount('owned', 'B', 0);
  assert.deepEqual(owned(), [1, -1], 'of two of them each may have either');
  change(['tokc', 'A', 'B'], ['tokd', null, 'A'], ['toke', 'A', 'A']);
  assert.deepEqual(owned(), [1, 0]);
  view.loadSet('owned', 'A', ['tokb', 'tokc', 'toke']);
  assert.deepEqual(owned(), [3, 0], 'A, D and E');
  view.loadCount('holdings', 'A', 5);
  view.load('balance', 'toka|A', 0n);
  const credited = new FactTable();
  credited.set('balance', 'toka|A', 7n);
  view.commit(credited);
  assert.equal(view.fewest('holdings', 'A'), 6);
});

test('items of a SWEEP are counted before they are read: none where a block may not look at as many', async () => {
  const rules: Rules = { ...RULES, limitsAt: () => ({ ...DEFAULT_LIMITS, blockUnits: 100 }) };
  for (const [text, { owned = 0, held = 0, orders = 0 }, isSwept] of [
    ['SWEEP|0|B', { owned: 100 }, true],
    ['SWEEP|0|B', { owned: 101 }, false],
    ['SWEEP|0|B', { held: 100 }, true],
    ['SWEEP|0|B', { held: 101 }, false],
    ['SWEEP|0|B', { owned: 41, held: 60 }, false],
    ['SWEEP|0|B|1|0', { owned: 41, held: 60 }, true],
    ['SWEEP|0|B|0|0|1', { orders: 100 }, true],
    ['SWEEP|0|B|0|0|1', { orders: 101 }, false],
    ['SWEEP|0|B|0|0|0|1', { orders: 101 }, true],
    ['SWEEP|0|B|0|1|1', { owned: 50, orders: 51 }, false]
  ] as readonly (readonly [string, { owned?: number; held?: number; orders?: number }, boolean])[]) {
    const ledger = new MemoryLedger(100, rules);
    for (let at = 0; at < owned; at++) ledger.give(`OWN${at}`, 0, 'A', {});
    for (let at = 0; at < held; at++) ledger.give(`TOK${at}`, 0, 'C', { A: '1' });
    if (orders > 0) ledger.give('CASH', 0, 'C', { A: '1000' });
    for (let made = 0; made < orders; made += 20) {
      const texts = repeat(Math.min(20, orders - made), () => 'ORDER|0|BTC|CASH|1|0|BTC||1');
      ledger.run(blockOf(ledger, texts));
    }
    const loaded = new Map<Kind, number>();
    await loadsOf(ledger, blockOf(ledger, [text]), loaded, rules);
    const of = `${text} of ${owned} tokens, ${held} holdings and ${orders} orders`;
    assert.equal(statusOf(ledger, 'sweeps'), isSwept ? 'valid' : 'invalid: ITEMS (block limit)', of);
    const read = (['holdings', 'owned', 'token', 'balance', 'offer'] as const)
      .map((kind) => loaded.get(kind) ?? 0)
      .reduce((sum, count) => sum + count);
    assert.ok(isSwept || read < 10, `${of}: ${read} facts`);
  }
});

test('without limits a SWEEP counts nothing, and moves all', async () => {
  const ledger = new MemoryLedger(100, UNBOUNDED);
  for (let at = 0; at < 300; at++) ledger.give(`TOK${at}`, 0, 'A', { A: '1' });
  const loaded = new Map<Kind, number>();
  await loadsOf(ledger, blockOf(ledger, ['SWEEP|0|B']), loaded, UNBOUNDED);
  assert.equal(statusOf(ledger, 'sweeps'), 'valid');
  assert.ok(!loaded.has('holdingCount') && !loaded.has('ownedCount'));
});

test('SWEEPs beside each other look at no more items than their shares of one block', async () => {
  const rules: Rules = { ...RULES, limitsAt: () => ({ ...DEFAULT_LIMITS, blockUnits: 400 }) };
  const ledger = new MemoryLedger(100, rules);
  const sources = repeat(12, (at) => `S${at}`);
  for (const source of sources)
    for (let at = 0; at < 90; at++) ledger.give(`${source}.${at}`, 0, 'M', { [source]: '1' });
  const texts = sources.map((source) => [source, 'SWEEP|0|B|1|0'] as const);
  await loadsOf(ledger, blockOf(ledger, texts), new Map(), rules);
  const { rows } = ledger.blocks.at(-1)!;
  const swept = rows.filter(({ table, columns }) => table === 'sweeps' && columns['status_id'] === 'valid').length;
  assert.equal(swept, 4, 'of 400 items in all, as many sources as have a part of 90');
});
