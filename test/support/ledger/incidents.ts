import { createHash } from 'node:crypto';
import { formatAmount, parseAmount } from '../../../src/consensus/amount.ts';
import { type Connection, rows } from '../../../src/db/connection.ts';
import type { Random } from '../../../src/devnet/random.ts';
import type { BlockLedger } from './block-ledger.ts';

/** Addresses that no block stamped: they outlive every rollback, so older blocks may refer to them. */
export const VALIDATORS = ['validator.one', 'validator.two', 'validator.three', 'validator.four'] as const;

/** Rows of a block that no action of it names: late rewards, refunds of older actions, prices, markets, rows of one node. */
export async function addIncidents(
  connection: Connection,
  ledger: BlockLedger,
  random: Random,
  time: number
): Promise<void> {
  const { height, rows: buffer } = ledger;
  addPrices(ledger, random);
  for (let count = random.between(0, 3); count > 0; count--)
    buffer.add('validator_rewards', {
      block_index: Math.max(0, height - random.between(1, 5)),
      address_id: ledger.state.lookups.index_addresses.idOf(random.pick(VALIDATORS))!,
      amount: formatAmount(BigInt(random.between(1, 10 ** 9)) * 10n ** 10n),
      share: random.next(),
      claimed: 0
    });
  await closeDispensers(connection, ledger);
  buffer.add('capabilities', { name: `cap ${random.between(1, 4)}`, version: '1.0', enabled: random.between(0, 1) });
  addNodeRows(ledger, random, time);
}

function addPrices(ledger: BlockLedger, random: Random): void {
  for (const fiat of ['USD', 'EUR'])
    if (random.between(1, 2) === 1)
      ledger.rows.add('prices', {
        block_index: ledger.height,
        coin_id: 1,
        fiat_id: ledger.id('index_fiats', fiat),
        price: formatAmount(BigInt(random.between(1, 10 ** 12)) * 10n ** 9n),
        confidence: random.between(1, 3) === 1 ? null : random.next() / 3,
        round_hash: createHash('sha256').update(`${ledger.height}${fiat}${random.next()}`).digest()
      });
}

/** A matured dispenser gives back what it held: a credit under the older action that opened it. */
async function closeDispensers(connection: Connection, ledger: BlockLedger): Promise<void> {
  const open = ledger.id('index_statuses', 'open');
  const closed = ledger.id('index_statuses', 'closed');
  const matured = await rows<{ action_index: number; address_id: number; tick_id: number; escrow_amount: string }>(
    connection,
    `SELECT action_index, address_id, tick_id, escrow_amount FROM dispensers WHERE status_id = ${open} AND expiration_block <= ${ledger.height} ORDER BY action_index LIMIT 20`
  );
  for (const { action_index, address_id, tick_id, escrow_amount } of matured)
    ledger.credit(action_index, address_id, tick_id, parseAmount(escrow_amount) ?? 0n);
  if (matured.length > 0)
    await connection.query(`UPDATE dispensers SET status_id = ${closed} WHERE action_index IN (?)`, [
      matured.map(({ action_index }) => action_index)
    ]);
}

function addNodeRows({ rows: buffer, height }: BlockLedger, random: Random, time: number): void {
  buffer.add('icons', {
    tick_id: random.between(1, 9),
    image: Buffer.from([random.between(0, 255), 0]),
    fetched: sqlTime(time)
  });
  buffer.add('price_snapshots', { block_index: height, price: '1.5' });
  buffer.add('mempool_transactions', { tx_hash: `pool ${height % 20}`, data: 'SEND|0|GAS|1|x' });
  buffer.add('pending_hub_pushes', { payload: `tip ${height}` });
}

/** Changes in older rows that leave no stamp, and rows that vanish. Runs after the block's own rows are written. */
export async function changeInPlace(
  connection: Connection,
  ledger: BlockLedger,
  random: Random,
  time: number
): Promise<void> {
  const { height } = ledger;
  const run = (sql: string, values: unknown[] = []) => connection.query(sql, values);
  const amount = formatAmount(BigInt(random.between(1, 10 ** 6)) * 10n ** 14n);
  const stake = await anyRow(connection, 'stakes', random);
  if (stake) {
    const key = ledger.id('index_pubkeys', createHash('sha256').update(amount).digest('hex').toUpperCase());
    await run('UPDATE stakes SET amount = ?, signing_pubkey_id = ?, deactivation_block = ? WHERE action_index = ?', [
      amount,
      key,
      random.between(0, 1) ? height + 500 : null,
      stake
    ]);
  }
  const attest = await anyRow(connection, 'attests', random);
  if (attest)
    await run('UPDATE attests SET batch_action_index = ? WHERE action_index = ?', [ledger.state.lastAction, attest]);
  const delegation = await anyRow(connection, 'delegations', random);
  if (delegation)
    await run('UPDATE delegations SET deactivation_block = ? WHERE action_index = ?', [height + 10, delegation]);
  await run('UPDATE validator_rewards SET claimed = 1 WHERE claimed = 0 ORDER BY id LIMIT 1');
  const last = ledger.state.lookups.index_tickers.last;
  if (last >= 2) {
    const [first, second] = [random.between(1, last - 1), last];
    await run(
      'INSERT INTO markets (tick1_id, tick2_id, last_price, volume, updated) VALUES (?, ?, ?, ?, ?) ON DUPLICATE KEY UPDATE last_price = VALUES(last_price), updated = VALUES(updated)',
      [first, second, amount, '0', sqlTime(time)]
    );
    if (random.between(1, 4) === 1) await run('DELETE FROM markets ORDER BY tick1_id, tick2_id LIMIT 1');
    await run('UPDATE tokens SET description = ? WHERE tick_id = ?', [`described at ${height} é`, first]);
  }
  if (random.between(1, 3) === 1) await run('DELETE FROM capabilities ORDER BY name, enabled LIMIT 1');
}

/** The key of some row, or undefined when there is none. */
async function anyRow(connection: Connection, table: string, random: Random): Promise<number | undefined> {
  const [{ last } = { last: null }] = await rows<{ last: number | null }>(
    connection,
    `SELECT MAX(action_index) AS last FROM ${table}`
  );
  if (last === null) return undefined;
  const from = random.between(0, last);
  const [row] = await rows<{ action_index: number }>(
    connection,
    `SELECT action_index FROM ${table} WHERE action_index >= ${from} ORDER BY action_index LIMIT 1`
  );
  return row?.action_index;
}

/** Epoch seconds as MariaDB writes them, in UTC. */
export function sqlTime(epochSeconds: number): string {
  return new Date(epochSeconds * 1000).toISOString().slice(0, 19).replace('T', ' ');
}
