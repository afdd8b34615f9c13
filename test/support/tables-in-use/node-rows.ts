import { rows } from '../../../src/db/connection.ts';
import { createRandom } from '../../../src/devnet/random.ts';
import type { DbType } from '../../../src/wire/data/database.ts';
import type { Setting } from './block-context.ts';
import { RowBuffer } from './rows.ts';
import { NODE_TABLES } from './tables.ts';
import { fillRow, hex, type Place } from './values.ts';

/** Writes and changes rows of one node, in no transaction of a block: subscriptions, queues, notes. */
export async function writeNodeRows(setting: Setting, dbType: DbType, height: number): Promise<void> {
  const { connection, tables } = setting;
  const [found] = await rows<{ id: number }>(connection, 'SELECT COUNT(*) AS id FROM schema_migrations');
  const turn = Number(found!.id);
  const random = createRandom(`${setting.seed} node ${turn}`);
  let written = 0;
  const serial = () => turn * 1_000 + written++;
  const any = () => random.between(1, 9);
  const pools = { address: any, tick: any, pubkey: any, memo: any, status: any, coin: any, fiat: any, mimeType: any };
  const place: Place = {
    random,
    height,
    serial,
    time: 1_700_000_000 + height,
    actionIndex: turn,
    pools: { ...pools, action: any }
  };
  const buffer = new RowBuffer();
  for (const table of dbType === 'indexer' ? NODE_TABLES : (['schema_migrations'] as const)) {
    const unique = { token_id: serial(), push_id: serial(), call_id: hex(`call ${serial()}`), name: `${serial()} é` };
    const columns = new Set(tables.get(table)!.columns.map(({ name }) => name));
    const given = Object.fromEntries(Object.entries(unique).filter(([name]) => columns.has(name)));
    buffer.add(table, fillRow(tables.get(table)!, place, given));
  }
  await buffer.flush(connection);
  if (dbType === 'decoder') {
    await connection.query('DELETE FROM mempool_transactions WHERE tx_hash < ?', [hex(`${turn}`)]);
    buffer.add(
      'mempool_transactions',
      fillRow(tables.get('mempool_transactions')!, place, { tx_hash: hex(`${turn}`) })
    );
    await buffer.flush(connection);
    return;
  }
  await connection.query(
    "UPDATE pending_hub_pushes SET attempts = attempts + 1, last_error = 'é' ORDER BY id DESC LIMIT 2"
  );
  await connection.query("UPDATE icons SET status = 'ok', attempts = attempts + 1 ORDER BY id LIMIT 1");
  await connection.query(`DELETE FROM pending_hub_pushes WHERE action_index < ${turn - 3}`);
}
