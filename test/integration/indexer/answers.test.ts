import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { GAS_RULES } from '../../../lab/reference/chain.ts';
import { Random } from '../../../lab/reference/random.ts';
import { ReferenceRun } from '../../../lab/reference/run.ts';
import { addressesOf, Writer } from '../../../lab/reference/texts.ts';
import { formatAmount, knownAmount } from '../../../src/consensus/amount.ts';
import { type Connection, connect, rows } from '../../../src/db/connection.ts';
import type { ChainBlock } from '../../../src/indexer/block/block.ts';
import type { Offer, Side } from '../../../src/indexer/state/offer.ts';
import { View } from '../../../src/indexer/state/view.ts';
import { loadBooks, readOffers } from '../../../src/indexer/store/facts/offers.ts';
import { formatPrice, priceOf } from '../../../src/indexer/store/markets/market-figures.ts';
import { IndexerStore } from '../../../src/indexer/store/store.ts';
import { tryAction } from '../../../src/indexer/trial/trial.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { addAllBlocks } from '../../support/indexer-database.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { sql } from '../../support/sql.ts';

/** Heights at which questions are asked, and the end of the chain. */
const MARKS = [76, 95] as const;
const END = 125;
const QUESTIONS = 20;

interface Asked {
  readonly source: string;
  readonly data: string;
  readonly feeSats: string | null;
}

/** Puts questions about actions at the end of a chain. */
function questionsAfter(run: ReferenceRun): readonly Asked[] {
  const { height, time } = run.chain.at(-1)!;
  const season = Math.floor((run.chain.length - 1) / 120);
  const random = new Random(height);
  const writer = new Writer({ random, season, height, time, recent: run.recent });
  return Array.from({ length: QUESTIONS }, (_, at) => {
    const source = random.one(addressesOf(season));
    const data = at % 10 === 0 ? `SWEEP|0|D${season}|1|1|1|1|1` : writer.text(source);
    return { source, data, feeSats: random.one([null, '1000000000']) };
  });
}

type Market = Readonly<Record<string, string | number | null>>;
const SIDES = ['tick1', 'tick2'] as const;

/** Returns the figures of markets that all matches and all open orders give. */
async function recount(connection: Connection, markets: readonly Market[], offers: readonly Offer[]) {
  const matches = await rows<Market>(
    connection,
    `SELECT m.* FROM order_matches m JOIN index_statuses s ON s.id = m.status_id WHERE s.status = 'valid'
       AND m.give_amount IS NOT NULL AND m.get_amount IS NOT NULL ORDER BY m.action_index DESC`
  );
  const ids = new Map(
    (await rows<Market>(connection, 'SELECT id, tick FROM index_tickers')).map(({ id, tick }) => [tick, Number(id)])
  );
  const idOf = ({ tick }: Side) => (tick === null ? 0 : ids.get(tick));
  const open = offers.flatMap((offer) =>
    offer.kind === 'order' && offer.status === 'open' && !offer.give.isOwnership && !offer.get.isOwnership
      ? [offer]
      : []
  );
  return markets.map((market) => {
    const [first, second] = SIDES.map((side) => Number(market[`${side}_id`]));
    const isOf = (one?: number, other?: number) =>
      (one === first && other === second) || (one === second && other === first);
    const last = matches.find((match) => isOf(Number(match['give_tick_id']), Number(match['get_tick_id'])));
    const quotes = open.filter(({ give, get }) => isOf(idOf(give), idOf(get)));
    const figures = SIDES.flatMap((side) => {
      const own = Number(market[`${side}_id`]);
      const price = (tick: number | undefined, given: bigint, got: bigint) =>
        tick === own ? priceOf(got, given) : priceOf(given, got);
      const amounts = (['give_amount', 'get_amount'] as const).map((name) => knownAmount(String(last?.[name] ?? '0')));
      const prices = quotes.map(({ give, get }) => price(idOf(give), give.amount, get.amount));
      const sorted = prices.toSorted((a, b) => (a < b ? -1 : 1));
      return [
        [`${side}_price`, formatPrice(last ? price(Number(last['give_tick_id']), amounts[0]!, amounts[1]!) : 0n)],
        [`${side}_bid`, formatPrice(sorted.at(-1) ?? 0n)],
        [`${side}_ask`, formatPrice(sorted[0] ?? 0n)]
      ];
    });
    return Object.fromEntries(figures) as Record<string, string>;
  });
}

/** Asks everything that is read from more rows than those of one action. */
async function answersOf(database: DatabaseCoordinates, store: IndexerStore, questions: readonly Asked[]) {
  const connection = await connect(database);
  const view = new View({ isWhole: false });
  await loadBooks(connection, view);
  const indexes = (['order', 'swap', 'dispenser', 'coinpay'] as const).flatMap((kind) => [...view.book.ofKind(kind)]);
  const offers = [...(await readOffers(connection, indexes)).values()];
  const markets = await rows<Market>(connection, 'SELECT * FROM markets ORDER BY id');
  const quotes = [];
  for (const asked of questions)
    quotes.push(await tryAction(asked, { connection, rules: GAS_RULES, tickers: store.tickers, rounds: undefined }));
  const payments = offers
    .flatMap((offer) => (offer.kind === 'coinpay' ? [`${offer.index} ${formatAmount(offer.coinAmount)}`] : []))
    .sort();
  // A token that is sold for itself has two prices, by which of the two is meant.
  const ofTwo = markets.filter(({ tick1_id: first, tick2_id: second }) => first !== second);
  const shown = ofTwo.map((market) =>
    Object.fromEntries(
      SIDES.flatMap((side) => ['price', 'bid', 'ask'].map((of) => [`${side}_${of}`, market[`${side}_${of}`]]))
    )
  );
  assert.deepEqual(shown, await recount(connection, ofTwo, offers));
  await connection.end();
  return { quotes, payments, markets, offers: offers.map((offer) => JSON.stringify(offer, toText)).sort() };
}

const toText = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);

/** Returns the payments that wait, added up from all rows that there are. */
async function waitingPayments(database: DatabaseCoordinates): Promise<string[]> {
  const all = await sql(database, 'SELECT action_index, coin_amount FROM coinpay_obligations');
  const statuses = await sql(
    database,
    `SELECT c.coinpay_action_index AS match_index, s.status FROM coinpay_statuses c
     JOIN index_statuses s ON s.id = c.status_id ORDER BY c.action_index`
  );
  const newest = new Map(statuses.map(({ match_index: index, status }) => [Number(index), status]));
  const waiting = all.filter(({ action_index: index }) => newest.get(Number(index)) === 'pending_coinpay');
  return waiting.map(({ action_index: index, coin_amount: amount }) => `${index} ${amount}`).sort();
}

test('quotes, offers, payments that wait and markets are after a rollback what they were, in an index made anew too', async () => {
  const databases = [await createDatabase('indexer'), await createDatabase('indexer')] as const;
  const [forked, fresh] = [
    await IndexerStore.open(databases[0], GAS_RULES, 120),
    await IndexerStore.open(databases[1], GAS_RULES, 120)
  ];
  const run = new ReferenceRun(12, GAS_RULES);
  const extendTo = (height: number): ChainBlock[] =>
    Array.from({ length: height - run.chain.length }, () => run.extend());
  const ask = async (at: 0 | 1, { questions, time }: { questions: readonly Asked[]; time: number }) => {
    mock.timers.enable({ apis: ['Date'], now: 1_000 * (time + 600) });
    try {
      return await answersOf(databases[at], at === 0 ? forked : fresh, questions);
    } finally {
      mock.timers.reset();
    }
  };
  const before = [];
  for (const mark of MARKS) {
    await addAllBlocks(forked, extendTo(mark));
    const asked = { questions: questionsAfter(run), time: run.chain.at(-1)!.time };
    const answers = await ask(0, asked);
    assert.deepEqual(answers.payments, await waitingPayments(databases[0]));
    assert.ok(answers.markets.length > 1 && answers.offers.length > 0, `block ${mark}`);
    before.push({ mark, asked, answers });
  }
  const rest = extendTo(END);
  for (let at = 0; at < rest.length; at += 7) await addAllBlocks(forked, rest.slice(at, at + 7));
  for (const { mark, asked, answers } of before.toReversed()) {
    await forked.rollBack(mark);
    assert.deepEqual(await ask(0, asked), answers, `block ${mark} after a rollback`);
  }
  let written = 0;
  for (const { mark, asked, answers } of before) {
    await addAllBlocks(fresh, run.chain.slice(written, mark));
    written = mark;
    assert.deepEqual(await ask(1, asked), answers, `block ${mark} in an index made anew`);
  }
  assert.ok(
    before.some(({ answers }) => answers.payments.length > 0),
    'a payment waits'
  );
  assert.ok(
    before.some(({ answers }) => answers.quotes.some(({ gas }) => gas > 0)),
    'something costs gas'
  );
  for (const store of [forked, fresh]) store.close();
});
