import assert from 'node:assert/strict';
import type { ChainBlock } from '../../../../src/indexer/block/block.ts';
import { IndexerStore } from '../../../../src/indexer/store/store.ts';
import type { DatabaseCoordinates } from '../../../../src/wire/data/database.ts';
import { blockOf, repeat, transactionOf } from '../../../../test/support/cost/prepared.ts';
import { addressOf, rulesOfScale, scaledBy } from '../../../../test/support/cost/scale.ts';
import { sql } from '../../../../test/support/sql.ts';
import { alternate, type Figure } from '../figures.ts';

const STATEMENT_LIMIT_S = 600;
const TEXTS_PER_BLOCK = 2_000;
const FEW_OFFERS = 2_000;
const MANY_OFFERS = 8_000;
const PAYMENTS = 250;
const MEMBERS = 100_000;
const EDITS = 250;
/** Rows that the transaction of the edits writes whatever it holds. */
const ROWS_OF_BATCH = 4;
const MINTS = 100_000;
const MINTS_OF_BLOCK = 100;
const MINT_RUNS = 21;
const RULES = rulesOfScale(scaledBy(1));
const [MAKER, TAKER] = [addressOf('A', 1), addressOf('B', 1)];
const SUPPLY = 10 ** 12;
const FIRST = [MAKER, TAKER].map((source, at): Text => [source, `ISSUE|0|TOK${at}|0|0|0||${SUPPLY}`]);

type Text = readonly [source: string, data: string];

const times = (count: number, text: Text): Text[] => Array.from({ length: count }, () => text);
type MakeDatabase = (label: string) => Promise<DatabaseCoordinates>;

/** A ledger in a database, written as the service writes it. */
class Ledger {
  readonly #database: DatabaseCoordinates;
  #store: IndexerStore;
  #height = 0;

  private constructor(database: DatabaseCoordinates, store: IndexerStore) {
    this.#database = database;
    this.#store = store;
  }

  static async open(database: DatabaseCoordinates): Promise<Ledger> {
    return new Ledger(database, await openStore(database));
  }

  /** Adds blocks with the texts, many to a block. */
  async add(texts: readonly Text[], perBlock = TEXTS_PER_BLOCK): Promise<void> {
    for (let at = 0; at < texts.length; at += perBlock)
      await this.#store.addBlocks([this.#next(texts.slice(at, at + perBlock))]);
  }

  /** Adds one block, by a store that remembers nothing of the blocks below. */
  async measure(texts: readonly Text[]): Promise<{ readonly wallMs: number; readonly cpuMs: number }> {
    this.#store.close();
    this.#store = await openStore(this.#database);
    await this.#store.addBlocks([this.#next([])]);
    const block = this.#next(texts);
    const [before, began] = [process.cpuUsage(), performance.now()];
    await this.#store.addBlocks([block]);
    const wallMs = performance.now() - began;
    const { user, system } = process.cpuUsage(before);
    return { wallMs, cpuMs: (user + system) / 1_000 };
  }

  /** Returns how many rows a query counts. */
  async count(query: string): Promise<number> {
    const [row] = await sql(this.#database, `SELECT COUNT(*) AS count FROM ${query}`);
    return Number(row!['count']);
  }

  /** Returns the rows of all tables that name actions. */
  async rowsOfActions(): Promise<number> {
    const tables = await sql(
      this.#database,
      `SELECT DISTINCT TABLE_NAME AS name FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()
         AND TABLE_NAME IN ('transactions', 'batches') OR TABLE_SCHEMA = DATABASE() AND COLUMN_NAME = 'action_index'`
    );
    let sum = 0;
    for (const { name } of tables) sum += await this.count(String(name));
    return sum;
  }

  close(): void {
    this.#store.close();
  }

  #next(texts: readonly Text[]): ChainBlock {
    const height = this.#height++;
    return blockOf(
      height,
      texts.map(([source, data], at) => transactionOf(source, data, height, at))
    );
  }
}

/** Measures what single actions cost whose work depends on what others did before. */
export async function actionCosts(makeDatabase: MakeDatabase): Promise<Figure[]> {
  const opened = async (label: string, texts: readonly Text[]) => {
    const ledger = await Ledger.open(await makeDatabase(label));
    await ledger.add(FIRST);
    await ledger.add(texts);
    return ledger;
  };
  return [
    ...(await growing('an ORDER that takes', 'makers', (count) => takeOrders(opened, count))),
    ...(await growing(`${PAYMENTS} SENDs to`, 'empty dispensers', (count) => payDispensers(opened, count))),
    ...(await editList(opened)),
    await mintAfterMany(opened)
  ];
}

type Opened = (label: string, texts: readonly Text[]) => Promise<Ledger>;

/** Measures work with few and many offers. */
async function growing(what: string, offers: string, cpuMsOf: (count: number) => Promise<number>): Promise<Figure[]> {
  const few = await cpuMsOf(FEW_OFFERS);
  const many = await cpuMsOf(MANY_OFFERS);
  const growth = MANY_OFFERS / FEW_OFFERS;
  return [
    {
      what: `${what} ${MANY_OFFERS} ${offers}: CPU`,
      unit: 's',
      compare: 'above',
      measured: many / 1_000,
      reference: 0,
      most: 1,
      aim: 0.5
    },
    {
      what: `a quarter of it against ${FEW_OFFERS} ${offers}`,
      unit: 's',
      compare: 'times',
      measured: many / growth / 1_000,
      reference: few / 1_000,
      most: 1.5,
      aim: 1
    }
  ];
}

async function takeOrders(opened: Opened, count: number): Promise<number> {
  const ledger = await opened('orders', times(count, [MAKER, 'ORDER|0|BTC|TOK0|1|0|BTC|TOK1|1']));
  const { cpuMs } = await ledger.measure([[TAKER, `ORDER|0|BTC|TOK1|${count}|0|BTC|TOK0|${count}`]]);
  assert.equal(await ledger.count('order_matches'), count);
  ledger.close();
  return cpuMs;
}

async function payDispensers(opened: Opened, count: number): Promise<number> {
  const ledger = await opened('dispensers', [
    [MAKER, `SEND|0|TOK0|${SUPPLY - 10}|${TAKER}`],
    ...times(count, [MAKER, 'DISPENSER|0|BTC|TOK0|2|0||BTC|TOK1|1']),
    [MAKER, 'DISPENSER|0|BTC|TOK0|2|0|4|BTC|TOK1|1']
  ]);
  const sends = repeat(PAYMENTS, () => `SEND|0|TOK1|2|${MAKER}`).join(';');
  const { cpuMs } = await ledger.measure([[TAKER, `BATCH|0|${sends}`]]);
  assert.equal(await ledger.count('dispenses'), PAYMENTS + 1);
  ledger.close();
  return cpuMs;
}

async function editList(opened: Opened): Promise<Figure[]> {
  const members = repeat(MEMBERS, (at) => addressOf('C', at));
  const ledger = await opened('lists', [[MAKER, `LIST|0|2||${members.join('|')}`]]);
  const list = await ledger.count('actions');
  const rowsBefore = await ledger.rowsOfActions();
  const edits = members.slice(0, EDITS).map((member) => `LIST|1|2|${list}||${member}`);
  const { wallMs } = await ledger.measure([[MAKER, `BATCH|0|${edits.join(';')}`]]);
  const rowsWritten = (await ledger.rowsOfActions()) - rowsBefore;
  assert.equal(await ledger.count('list_edits'), MEMBERS + EDITS);
  ledger.close();
  const what = `${EDITS} edits of one item of a list of ${MEMBERS}`;
  return [
    { what, unit: 's', compare: 'above', measured: wallMs / 1_000, reference: 0, most: 2, aim: 1 },
    {
      what: `${what}: rows beside those of their transaction`,
      unit: 'rows',
      compare: 'above',
      measured: rowsWritten,
      reference: ROWS_OF_BATCH,
      most: 4 * EDITS,
      aim: 4 * EDITS
    }
  ];
}

/** Measures MINTs of an address that has minted very often, and of those that never acted, by turns. */
async function mintAfterMany(opened: Opened): Promise<Figure> {
  const limited = ['ISSUE|0|MINTED', SUPPLY, 10, 0, ...Array<string>(14).fill(''), SUPPLY].join('|');
  const mint = (source: string): Text => [source, 'MINT|0|MINTED|1'];
  const ledger = await opened('mints', [[MAKER, limited], ...times(MINTS, mint(MAKER))]);
  assert.equal(await ledger.count('mint_totals'), MINTS, 'one of the MINTs was refused');
  const msOf = async (source: string) => (await ledger.measure(times(MINTS_OF_BLOCK, mint(source)))).wallMs;
  let fresh = 0;
  const { measured, reference } = await alternate(
    MINT_RUNS,
    () => msOf(MAKER),
    () => msOf(addressOf('D', fresh++))
  );
  assert.equal(await ledger.count('mint_totals'), MINTS + 2 * MINT_RUNS * MINTS_OF_BLOCK);
  ledger.close();
  return {
    what: `${MINTS_OF_BLOCK} MINTs of an address with ${MINTS} actions against one with none`,
    unit: 'ms',
    measured,
    reference,
    compare: 'times',
    most: 1.2,
    aim: 1.1
  };
}

function openStore(database: DatabaseCoordinates): Promise<IndexerStore> {
  return IndexerStore.open(database, RULES, STATEMENT_LIMIT_S);
}
