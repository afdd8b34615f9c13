import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHAIN_RULES } from '../../../lab/reference/chain.ts';
import { ReferenceRun } from '../../../lab/reference/run.ts';
import { addressesOf, signerOf } from '../../../lab/reference/texts.ts';
import { connect, type Statements } from '../../../src/db/connection.ts';
import { ALL_KEYS } from '../../../src/indexer/staking/checks.ts';
import { type FactKey, type Kind, type List, type ListCount, RECENT_ROUNDS } from '../../../src/indexer/state/facts.ts';
import { memberKey, splitPair, tickBeginning } from '../../../src/indexer/state/keys.ts';
import { Members } from '../../../src/indexer/state/members.ts';
import { COUNTED_BY, View } from '../../../src/indexer/state/view.ts';
import { factLoader } from '../../../src/indexer/store/facts/loader.ts';
import { loadBooks } from '../../../src/indexer/store/facts/offers.ts';
import { IndexerStore } from '../../../src/indexer/store/store.ts';
import { addAllBlocks } from '../../support/indexer-database.ts';
import { MemoryLedger } from '../../support/indexer-ledger.ts';
import { createDatabase } from '../../support/mariadb.ts';

/** Blocks of the chain that is generated. The second season has begun by then. */
const BLOCKS = 150;
/** Most keys of a kind that are loaded at once, and the part of them that is loaded by itself. */
const MANY = 480;
const PART = 1 / 4;
/** Statements that all may take beside those of the part: for tables that the part does not name. */
const MORE = 8;

/** Items of a list. */
const named = (first: number, count: number) => Array.from({ length: count }, (_, at) => `D9${first + at}`).join('|');

/** A chain with actions of every kind and tickers as long as their index tells them apart, in a database and in memory. */
async function filled() {
  const database = await createDatabase('indexer');
  const store = await IndexerStore.open(database, CHAIN_RULES, 120);
  const run = new ReferenceRun(5);
  while (run.chain.length < BLOCKS) run.extend();
  const issues = Array.from({ length: 40 }, (_, at) => `ISSUE|0|TOKA1.${String(at).padEnd(200, 'X')}`);
  const texts = [
    `BATCH|0|${issues.join(';')}`,
    'DISPENSER|0|BTC|TOKA1|1|||BTC||1',
    ...['', '0', ''].map(
      (list) => `BATCH|0|${`DISPENSER|2|${run.actions + issues.length + 2}|||0|${list};`.repeat(100)}`
    ),
    'ISSUE|0|TOKA1.POLL|0|0|0||5',
    'VOTE|0|TOKA1.POLL|9000|yes,no',
    `LIST|0|2||${named(0, 1_900)}`
  ];
  const blockOf = (data: string, at: number) => {
    const transactions = [
      { hash: String(at).padStart(64, '7'), source: 'A1', fee: null, data: data.replace(/;$/, '') }
    ];
    const time = run.chain.at(-1)!.time + 600 * (at + 1);
    return { height: BLOCKS + at, time, hash: String(at).padStart(64, '8'), transactions };
  };
  const more = texts.map(blockOf);
  const memory = new MemoryLedger(0, CHAIN_RULES);
  for (const block of [...run.chain, ...more]) memory.run(block);
  const list = memory.lastAction;
  more.push(blockOf(`LIST|1|1|${list}||${named(1_900, 200)}`, more.length)); // long by its edit alone
  memory.run(more.at(-1)!);
  await addAllBlocks(store, run.chain);
  for (const block of more) await store.addBlocks([block]);
  return { run, store, memory, list, connection: await connect(database) };
}

/** Keys of each kind that there are facts of, or may be. */
function keysOf(memory: MemoryLedger): Readonly<Record<Kind, readonly string[]>> {
  const indexes = Array.from({ length: memory.lastAction }, (_, at) => String(at + 1));
  const addresses = [0, 1].flatMap((season) => addressesOf(season));
  const places = (count: number) => Array.from({ length: count }, (_, at) => at);
  const more = [...addresses, ...places(MANY).map((at) => `B9${at}`)];
  const ticks = [0, 1].flatMap((season) => ['toka', 'tokb', 'tokc'].map((name) => `${name}${season}`));
  const names = [...ticks, ...places(MANY).map((at) => `toka1.${String(at).padEnd(200, 'x')}`)];
  const pairs = more.flatMap((address) => ticks.slice(0, 2).map((tick) => `${tick}|${address}`));
  const roots = [...new Set(indexes.flatMap((index) => memory.view.get('listRoot', index) ?? []))].map(String);
  return {
    addressId: more,
    address: indexes,
    tick: indexes,
    preferences: more,
    unclaimed: more,
    keysOf: more,
    firstSeller: more,
    tickId: names.map((name) => name.toUpperCase()),
    token: names,
    holders: names,
    holderCount: names,
    holdingCount: more,
    ownedCount: more,
    delegators: names,
    gate: names,
    tickBeginning: names.flatMap((name) => tickBeginning(name.toUpperCase()) ?? []),
    balance: pairs,
    minted: pairs,
    voteDelegate: pairs,
    holdings: more,
    owned: more,
    liveOffers: more,
    list: roots,
    listCount: roots,
    listHead: roots,
    member: addresses.flatMap((address) => roots.map((root) => memberKey(Number(root), address))),
    listRoot: indexes,
    past: indexes,
    offer: indexes,
    awaitedMatches: indexes,
    sleep: more.map((address) => `address|${address}`),
    served: addresses.flatMap((source) => more.slice(0, 60).map((address) => `${source}|${address}`)),
    spent: indexes.map((index) => `x|${index}`),
    signer: [0, 1].flatMap((season) => ['A', 'B', 'C', 'D', 'E', 'a'].map((letter) => signerOf(letter, season).pubkey)),
    keys: [ALL_KEYS],
    rounds: [RECENT_ROUNDS],
    poll: indexes,
    voters: indexes,
    pricedRound: indexes,
    cooling: indexes,
    ballot: indexes.map((index) => `${index}|A1`),
    counter: ['address', 'ticker', 'action', 'transaction']
  };
}

/** Kinds of which memory may know more than the database that does nothing any more, such as stakes that were released. */
const INEXACT: ReadonlySet<Kind> = new Set(['offer', 'liveOffers', 'awaitedMatches', 'signer', 'cooling']);

/** Returns a fact of a kind in a form that compares, or nothing where memory and database may differ. */
function comparable(view: View, kind: Kind, key: string): unknown {
  const value = view.get(kind, key);
  if (kind === 'listCount') {
    const list = view.find('list', key);
    return list ? list.members.size : (value as ListCount | null)?.size;
  }
  if (kind === 'member') {
    const [root, address] = splitPair(key);
    return view.find('list', root)?.members.has(address) ?? value;
  }
  if (kind === 'list' && value !== null) {
    const { type, owner, members } = value as List;
    return { type, owner, members: members.sorted };
  }
  const counted = (['holders', 'holdings', 'owned'] as const).find((set) => COUNTED_BY[set] === kind);
  if (counted) return view.fewest(counted, key);
  if (value instanceof Set) return kind === 'voters' ? [...value].sort() : undefined;
  if (value instanceof Members) return kind === 'keys' ? [...value].sort() : [...value];
  return INEXACT.has(kind) ? undefined : value;
}

/** Loads facts of one kind. @returns the view that has them, and the number of statements */
async function loadCounted(
  kind: Kind,
  keys: readonly string[],
  { connection, store }: Awaited<ReturnType<typeof filled>>
) {
  let statements = 0;
  const counted: Statements = {
    query: ((...given: Parameters<Statements['query']>) => {
      statements += 1;
      return connection.query(...given);
    }) as Statements['query']
  };
  const view = new View({ isWhole: false });
  const load = factLoader([counted], view, { ids: store.tickers });
  await load(keys.map((key): FactKey => ({ kind, key })));
  return { view, statements };
}

test('facts of many keys are read by as many statements as those of few, and are those of a ledger in memory, as many edits of a dispenser are', async () => {
  const ledger = await filled();
  const { store, memory, connection, run } = ledger;
  const found = new Map<Kind, number>();
  for (const [kind, all] of Object.entries(keysOf(memory)) as [Kind, readonly string[]][]) {
    const keys = all.slice(0, MANY);
    const few = await loadCounted(kind, keys.slice(0, Math.ceil(keys.length * PART)), ledger);
    const many = await loadCounted(kind, keys, ledger);
    assert.ok(
      kind === 'counter' || many.statements <= few.statements + MORE,
      `${kind}: ${few.statements} for a part, ${many.statements} for ${keys.length}`
    );
    for (const key of keys)
      assert.deepEqual(comparable(many.view, kind, key), comparable(memory.view, kind, key), `${kind} ${key}`);
    found.set(kind, keys.filter((key) => comparable(memory.view, kind, key)).length);
  }
  for (const kind of ['list', 'member', 'past', 'served', 'tickBeginning', 'voteDelegate'] as const)
    assert.ok(found.get(kind)! > 0, `no ${kind}`);
  const { view: heads } = await loadCounted('listHead', [String(ledger.list)], ledger);
  const { owner } = memory.view.get('list', String(ledger.list))!;
  assert.deepEqual(heads.get('listHead', String(ledger.list)), { type: 2, owner, isLong: true, size: 2_100 });
  const edited = String(run.actions + 42);
  const { view, statements } = await loadCounted('offer', [edited], ledger);
  const dispenser = view.get('offer', edited);
  assert.deepEqual(dispenser, memory.view.get('offer', edited));
  assert.ok(dispenser?.kind === 'dispenser' && dispenser.lists.length === 4, `${dispenser?.kind}`);
  assert.ok(statements <= 10, `${statements} statements for a dispenser with 300 edits`);
  const restarted = new View({ isWhole: false });
  await loadBooks(connection, restarted);
  const inBooks = ({ book, polls }: View) => [
    ...(['order', 'swap', 'dispenser', 'coinpay'] as const).map((kind) => [...book.ofKind(kind)].sort()),
    [...polls.ended(Number.POSITIVE_INFINITY)]
  ];
  assert.deepEqual(inBooks(restarted), inBooks(memory.view));
  const filledBooks = inBooks(restarted).filter(({ length }) => length > 0);
  assert.ok(filledBooks.length >= 3, JSON.stringify(inBooks(restarted)));
  assert.equal(restarted.size, 0, 'no offer itself stays in memory');
  await connection.end();
  store.close();
});
