import { connect } from '../../../src/db/connection.ts';
import { openDecoderStore } from '../../../src/decoder/store.ts';
import { IndexerStore } from '../../../src/indexer/store/store.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { TEST_RULES } from '../../../test/support/indexer-ledger.ts';
import { sql } from '../../../test/support/sql.ts';
import { withoutKeys } from './without-keys.ts';

interface LedgerSize {
  /** SENDs in all. */
  readonly actions: number;
  /** SENDs to the busiest address; if those are not all, it makes as many. */
  readonly busy: number;
  /** Tokens besides the one that is sent. Default: none. */
  readonly tokens?: number;
}

const PER_BLOCK = 500;
const ADDRESSES = 10_000;
const BUSY = 1;
const SLICE = 250_000;
/** Tables with rows of other addresses than the busiest, and of how many actions each. */
const OFFERED = ['orders', 'swaps', 'dispensers', 'destroys'] as const;
const OFFERS = 4_000;

/** A ledger of SENDs of one token, and of some offers, written as rows: what an indexer of the tables makes of them. */
export async function writeLedger(to: DatabaseCoordinates, { actions, busy, tokens = 0 }: LedgerSize): Promise<void> {
  (await IndexerStore.open(to, TEST_RULES, 60)).close();
  const connection = await connect(to);
  const hash = (number: string) => `LPAD(HEX(${number}), 64, '0')`;
  const blocks = Math.ceil(actions / PER_BLOCK);
  const every = Math.max(1, Math.floor(actions / busy));
  const destination = `IF(seq % ${every} = 0, ${BUSY}, 2 + seq % ${ADDRESSES - 1})`;
  const source = `IF(seq % ${every} = 1, ${BUSY}, 2 + (seq * 7) % ${ADDRESSES - 1})`;
  const fills = [
    ['index_transactions (id, hash)', `seq, ${hash('seq')}`],
    ['transactions (tx_index, block_index, tx_hash_id, source_id)', `seq, seq DIV ${PER_BLOCK} + 1, seq, ${source}`],
    [
      'actions (action_index, block_index, tx_index, action_id, action_format, source_id)',
      `seq, seq DIV ${PER_BLOCK} + 1, seq, 1, 0, ${source}`
    ],
    [
      'sends (action_index, tick_id, destination_id, amount, status_id, leg_ordinal)',
      `seq, 1, ${destination}, '1', 1, 0`
    ],
    ['credits (action_index, address_id, tick_id, amount)', `seq, ${destination}, 1, '1'`],
    ['debits (action_index, address_id, tick_id, amount)', `seq, ${source}, 1, '1'`],
    ['mappings_actions (action_index, type_id, id)', `seq, 2, ${destination}`],
    ['mappings_actions (action_index, type_id, id)', `seq, 1, 1`]
  ] as const;
  const run = (statement: string) => connection.query(statement);
  const tables = [...new Set(fills.map(([into]) => into.split(' ')[0]!))];
  try {
    await run('SET SESSION unique_checks = 0, foreign_key_checks = 0');
    await withoutKeys(connection, tables, async () => {
      for (let from = 1; from <= actions; from += SLICE) {
        const until = Math.min(from + SLICE - 1, actions);
        for (const [into, values] of fills)
          await run(`INSERT INTO ${into} SELECT ${values} FROM seq_${from}_to_${until}`);
      }
    });
    await run(`INSERT INTO blocks (block_index, block_time, ledger_hash_id, actions_hash_id, contract_hash_id)
      SELECT seq, 1700000000 + seq * 600, 1, 1, 1 FROM seq_1_to_${blocks}`);
    await run(
      `INSERT INTO index_addresses (id, address, block_index) SELECT seq, CONCAT('a', seq), 1 FROM seq_1_to_${ADDRESSES}`
    );
    await run("INSERT INTO index_tickers (id, tick, block_index) VALUES (1, 'TOKA', 1)");
    await run(
      "INSERT INTO index_actions (id, action) VALUES (1, 'SEND'), (2, 'ORDER'), (3, 'SWAP'), (4, 'DISPENSER'), (5, 'DESTROY')"
    );
    await run(
      "INSERT INTO tokens (tick_id, action_index, supply, decimals, owner_id, coin_price, coin_floor) VALUES (1, 1, '1', 0, 1, '0', '0')"
    );
    if (tokens > 0) {
      await run(`INSERT INTO index_tickers (id, tick, block_index)
        SELECT seq, CONCAT(IF(seq % 2, 'DEV', 'Main.'), seq), 1 FROM seq_2_to_${tokens + 1}`);
      await run(`INSERT INTO tokens (tick_id, action_index, supply, decimals, owner_id, coin_price, coin_floor)
        SELECT id, 1, '1', 0, 2, '0', '0' FROM index_tickers WHERE id > 1 ORDER BY id`);
    }
    await run(`INSERT INTO balances (address_id, tick_id, amount) SELECT seq, 1, '1' FROM seq_1_to_${ADDRESSES}`);
    for (const [place, table] of OFFERED.entries()) {
      const [from, until] = [place * OFFERS + 1, (place + 1) * OFFERS];
      const ofOthers = `action_index BETWEEN ${from} AND ${until} AND source_id <> ${BUSY}`;
      await run(`UPDATE actions SET action_id = ${place + 2} WHERE ${ofOthers}`);
      await run(`INSERT IGNORE INTO ${table} (action_index) SELECT action_index FROM actions WHERE ${ofOthers}`);
    }
    await run(
      'ANALYZE TABLE orders, swaps, dispensers, destroys, actions, sends, credits, debits, mappings_actions, transactions, balances, blocks'
    );
  } finally {
    await connection.end();
  }
}

/** Makes a decoder's database whose newest block is that of a ledger: an explorer is ready where both stand at one height. */
export async function writeDecoderTip(to: DatabaseCoordinates, { actions }: LedgerSize): Promise<void> {
  await (await openDecoderStore(to)).database.close();
  await sql(
    to,
    `INSERT INTO blocks (block_index, block_time, block_hash_id, previous_block_hash_id) VALUES (${Math.ceil(actions / PER_BLOCK)}, 1, 1, 1)`
  );
}
