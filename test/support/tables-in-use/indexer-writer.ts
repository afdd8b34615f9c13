import { rows } from '../../../src/db/connection.ts';
import { createRandom } from '../../../src/devnet/random.ts';
import { addActionRows, addMovements, tokenRow } from './action-rows.ts';
import { ACTIONS, type ActionShape, WEIGHTED } from './actions.ts';
import { BlockContext, CHAINS, type Counters, type Setting } from './block-context.ts';
import { undoIndexer } from './indexer-undo.ts';
import { type Change, changeLate, LATE_KINDS, type LateKind, matureCooldowns } from './late-changes.ts';
import { type BlockRequest, FIRST_HEIGHT, GENESIS_TIME, type WrittenBlock } from './ledger.ts';
import { Lookups } from './lookups.ts';
import { RowBuffer, sqlTime } from './rows.ts';
import { hex } from './values.ts';

const ACTIONS_PER_BLOCK = [0, 8] as const;
const STALE_MARKETS = 25;

type LateRequest = { readonly kind: LateKind; readonly depth: number };

/** Writes blocks of an indexer in transactions of the caller's; all that it knows is read from the database when it is opened. */
export class IndexerWriter {
  readonly #setting: Setting;
  #counters: Counters;
  #lookups: Lookups;

  private constructor(setting: Setting, counters: Counters, lookups: Lookups) {
    this.#setting = setting;
    this.#counters = counters;
    this.#lookups = lookups;
  }

  static async open(setting: Setting): Promise<IndexerWriter> {
    return new IndexerWriter(setting, await readCounters(setting), await Lookups.load(setting.connection));
  }

  get height(): number {
    return this.#counters.height;
  }

  async writeBlock(request: BlockRequest): Promise<WrittenBlock> {
    const { blockSeconds } = CHAINS[this.#setting.chain];
    const height = this.#counters.height + 1;
    // The same height has another time on another branch.
    const time = GENESIS_TIME + height * blockSeconds + (this.#counters.branch % 50);
    const context = new BlockContext(this.#setting, this.#counters, this.#lookups, time);
    await this.#writeTransactions(context, shapesOf(context, request.actions));
    const changes = await this.#writeLate(context, request);
    await writeWholeBlockRows(context);
    await context.flush();
    await context.movements.settle();
    await writeMarkets(context);
    await writeBlockRow(context);
    this.#counters.height = height;
    return { height, changes };
  }

  async #writeTransactions(context: BlockContext, shapes: readonly ActionShape[]): Promise<void> {
    const { random, lookups, height, counters } = context;
    for (const [written, action] of shapes.entries()) {
      const sourceId = await sourceOf(context);
      let txIndex: number | null = null;
      if (!action.bySystem) {
        txIndex = ++counters.lastTx;
        const hash = hex(`transaction ${context.setting.seed} ${counters.branch} ${height} ${written}`);
        context.add('transactions', {
          tx_index: txIndex,
          tx_hash_id: await lookups.idOf('index_transactions', hash),
          source_id: sourceId,
          data: `${action.name}|0|${random.pick(['', '😀 ', 'it\'s \\ "é"\n\t', 'x'.repeat(300)])}`
        });
      }
      await context.newAction(action.name, txIndex);
      await addActionRows(context, action);
      await addMovements(context, action, sourceId);
    }
  }

  async #writeLate(context: BlockContext, { late = [], without = [] }: BlockRequest): Promise<Change[]> {
    const changes = await matureCooldowns(context);
    const asked = late === 'random' ? randomChanges(context, without) : late;
    for (const { kind, depth } of asked) {
      await context.newAction('LATE', null);
      const change = await changeLate(context, kind as LateKind, depth);
      if (change) changes.push(change);
      else if (late !== 'random')
        throw new Error(`no row of ${kind} is ${depth} blocks old at block ${context.height}`);
    }
    return changes;
  }

  /** Takes back the newest blocks in the caller's transaction. */
  async undo(depth: number): Promise<void> {
    const fork = this.#counters.height - depth + 1;
    await undoIndexer(this.#setting, fork, this.#counters.height);
    this.#counters = await readCounters(this.#setting);
    this.#lookups = await Lookups.load(this.#setting.connection);
  }
}

/** Some heights are empty on every branch: their hashes are the same there. */
const isEmpty = (height: number): boolean => createRandom(`empty ${height}`).between(1, 8) === 1;

function shapesOf({ random, height }: BlockContext, actions: BlockRequest['actions']): readonly ActionShape[] {
  if (actions === 'each') return ACTIONS;
  if (typeof actions === 'object')
    return [
      ...ACTIONS.flatMap((shape) => actions.filter((name) => name === shape.name).map(() => shape)),
      ...actions.filter((shape) => typeof shape !== 'string')
    ];
  if (actions === undefined && isEmpty(height)) return [];
  const count = actions ?? random.between(...ACTIONS_PER_BLOCK);
  return Array.from({ length: count }, () => random.pick(WEIGHTED as [ActionShape, ...ActionShape[]]));
}

function randomChanges({ random, height }: BlockContext, without: readonly string[]): LateRequest[] {
  if (isEmpty(height)) return [];
  const found = Array.from({ length: random.between(0, 3) }, () => ({
    kind: random.pick(LATE_KINDS as [LateKind, ...LateKind[]]),
    depth: Math.min(height - FIRST_HEIGHT, random.pick([1, 2, 10, 100, 1_000, 4_032, 10_080]))
  }));
  return found.filter(({ kind }) => !without.includes(kind));
}

/** An address that acted before, or a new one: some are new without their public key, some get it later. */
async function sourceOf(context: BlockContext): Promise<number> {
  const { random, lookups, height, setting } = context;
  if (random.between(1, 3) > 1 && lookups.highest('index_addresses') > 1) return context.pools.address();
  const text = `bc1q${hex(`address ${setting.seed} ${context.serial()}`, 38)}`;
  const id = await lookups.idOf('index_addresses', text, height);
  const known = random.between(0, 1) ? id : context.pools.address();
  await setting.connection.query('INSERT IGNORE INTO pubkeys (address_id, pubkey) VALUES (?, ?)', [
    known,
    `02${hex(`pubkey ${known}`)}`
  ]);
  if (random.between(1, 4) === 1)
    await lookups.idOf('index_memos', random.pick(['é', '😀', 'memo', 'it\'s "x"']) + context.serial());
  if (random.between(1, 20) === 1) await lookups.idOf('index_statuses', `invalid: F${context.serial()} (format)`);
  if (random.between(1, 20) === 1) await lookups.idOf('index_pubkeys', hex(`key ${context.serial()}`));
  return id;
}

/** Rows that a block has whatever its actions are. */
async function writeWholeBlockRows(context: BlockContext): Promise<void> {
  const { random, height } = context;
  if (random.between(1, 2) === 1)
    context.add('validator_rewards', {
      reward_type: 'attest_fee',
      round_reference: context.serial(),
      round_qualifier: 0,
      block_index: height,
      derive_block_index: height
    });
  context.add('state_tree_roots', { chain: CHAINS[context.setting.chain].coin, network: 'mainnet' });
  if (random.between(1, 20) === 1)
    context.add('events', { time: sqlTime(context.time), code: 'PARSE_ERROR', data: `block ${height} é` });
}

/** The pair that traded, and those that were looked at longest ago. */
async function writeMarkets(context: BlockContext): Promise<void> {
  const { random, setting, time, lookups } = context;
  if (lookups.highest('index_tickers') < 2) return;
  if (random.between(1, 3) === 1) {
    const [first, second] = [context.pools.tick(), context.pools.tick()];
    await setting.connection.query(
      'INSERT INTO markets (tick1_id, tick2_id, tick1_price, last_updated) VALUES (?, ?, ?, ?) ON DUPLICATE KEY UPDATE tick1_price = VALUES(tick1_price), last_updated = VALUES(last_updated)',
      [Math.min(first, second), Math.max(first, second), `0.${context.serial()}1`, time]
    );
  }
  await setting.connection.query(
    `UPDATE markets SET tick1_24hr_change = ?, last_updated = ? WHERE last_updated < ? ORDER BY last_updated, id LIMIT ${STALE_MARKETS}`,
    [`${random.between(-99, 99)}.5`, time, time - 86_400]
  );
}

/** The last row of a block, with its hashes, in one statement. */
async function writeBlockRow(context: BlockContext): Promise<void> {
  const { lookups, height, setting, counters, time, hasActions, hasContracts } = context;
  const own = `${setting.seed} ${counters.branch}`;
  const next = (part: keyof Counters['tip'], isTold: boolean) =>
    hex(`${part} ${counters.tip[part]} ${height} ${isTold ? own : 'nothing'}`);
  counters.tip = {
    ledger: next('ledger', hasActions),
    actions: next('actions', hasActions),
    contract: next('contract', hasContracts)
  };
  const idOf = (hash: string) => lookups.idOf('index_transactions', hash);
  const { ledger, actions, contract } = counters.tip;
  await setting.connection.query(
    'INSERT INTO blocks (block_index, block_time, ledger_hash_id, actions_hash_id, contract_hash_id, state_hash_id) VALUES (?, ?, ?, ?, ?, ?)',
    [height, time, await idOf(ledger), await idOf(actions), await idOf(contract), await idOf(hex(`state ${ledger}`))]
  );
}

async function readCounters({ connection }: Setting): Promise<Counters> {
  const [found] = await rows<Record<'height' | 'tx' | 'action' | 'branch', number>>(
    connection,
    `SELECT (SELECT COALESCE(MAX(block_index), ${FIRST_HEIGHT - 1}) FROM blocks) AS height, (SELECT COALESCE(MAX(tx_index), 0) FROM transactions) AS tx,
       (SELECT COALESCE(MAX(action_index), 0) FROM actions) AS action, (SELECT COALESCE(SUM(generation), 0) FROM push_generations) AS branch`
  );
  const [tip] = await rows<Counters['tip']>(
    connection,
    `SELECT l.hash AS ledger, a.hash AS actions, c.hash AS contract FROM blocks b
     JOIN index_transactions l ON l.id = b.ledger_hash_id JOIN index_transactions a ON a.id = b.actions_hash_id
     JOIN index_transactions c ON c.id = b.contract_hash_id ORDER BY b.block_index DESC LIMIT 1`
  );
  return {
    height: Number(found!.height),
    lastTx: Number(found!.tx),
    lastAction: Number(found!.action),
    branch: Number(found!.branch),
    tip: tip ?? { ledger: '', actions: '', contract: '' }
  };
}

/** The values that an indexer has before its first block. */
export async function addFirstValues({ connection, chain, seed }: Setting): Promise<void> {
  const lookups = await Lookups.load(connection);
  const random = createRandom(`${seed}: first values`);
  for (const coin of ['BTC', 'LTC', 'DOGE']) await lookups.idOf('index_coins', coin);
  for (const code of ['USD', 'EUR']) await lookups.idOf('index_fiats', code);
  for (const type of ['text/plain', 'image/png']) await lookups.idOf('index_mime_types', type);
  for (const status of ['valid', 'open', 'completed', 'settled', 'planned', 'invalid: CHUNK (wrong)'])
    await lookups.idOf('index_statuses', status);
  for (const memo of ['', 'thanks', '😀']) await lookups.idOf('index_memos', memo);
  for (let index = 0; index < 6; index += 1) await lookups.idOf('index_pubkeys', hex(`${seed} key ${random.next()}`));
  for (const address of ['', 'sink', `C:${CHAINS[chain].coin}:1`]) await lookups.idOf('index_addresses', address);
  const buffer = new RowBuffer();
  const tickId = await lookups.idOf('index_tickers', 'GAS');
  buffer.add('tokens', { ...tokenRow(tickId, 0, 1), action_index: null, last_action_index: null });
  await buffer.flush(connection);
}
