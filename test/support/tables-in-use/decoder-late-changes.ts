import { type Connection, rows } from '../../../src/db/connection.ts';
import type { Change } from './late-changes.ts';
import { hex } from './values.ts';

/** Writes one late change at a height. @returns null where no row can be changed so */
type Write = (connection: Connection, height: number, depth: number) => Promise<Omit<Change, 'kind'> | null>;

const WRITES = {
  /** A dispenser of any age expires. */
  dispenserExpired: async (connection, height, depth) => {
    const row = await dispenserOf(connection, height - depth);
    if (!row) return null;
    await connection.query('UPDATE dispensers SET expired_block_index = ? WHERE tx_index = ? AND address_id = ?', [
      height,
      ...Object.values(row.key)
    ]);
    return { table: 'dispensers', ...row };
  },
  /** One more address may pay an old dispenser. */
  dispenserDelegated: async (connection, height, depth) => {
    const row = await dispenserOf(connection, height - depth);
    if (!row) return null;
    const [address] = await rows<{ id: number }>(connection, 'SELECT MAX(id) AS id FROM index_addresses');
    const key = { tx_index: row.key.tx_index, address_id: Number(address!.id) };
    await connection.query(
      `INSERT IGNORE INTO dispensers (tx_index, address_id, expiration, oracle_address_id, source_address_id, expired_block_index)
       SELECT tx_index, ?, expiration, oracle_address_id, source_address_id, NULL FROM dispensers WHERE tx_index = ? ORDER BY address_id LIMIT 1`,
      [key.address_id, key.tx_index]
    );
    return { table: 'dispensers', key, block: row.block };
  },
  /** An address that was paid long ago spends for the first time. */
  pubkeyFound: async (connection, height, depth) => {
    const [found] = await rows<{ id: number; block: number }>(
      connection,
      `SELECT o.destination_id AS id, t.block_index AS block FROM transactions t JOIN transaction_outputs o USING (tx_index)
         LEFT JOIN pubkeys p ON p.address_id = o.destination_id
       WHERE t.block_index BETWEEN ${height - depth - 200} AND ${height - depth} AND p.address_id IS NULL AND o.destination_id > 1
       ORDER BY t.block_index DESC, o.tx_index, o.vout LIMIT 1`
    );
    if (!found) return null;
    const key = { address_id: Number(found.id) };
    await connection.query('INSERT INTO pubkeys (address_id, pubkey) VALUES (?, ?)', [
      key.address_id,
      `02${hex(`late ${key.address_id}`)}`
    ]);
    return { table: 'pubkeys', key, block: null };
  },
  /** Definitions allow it, and no owner is known to do it: a row that no block has yet. */
  transactionUnstamped: async (connection, height, depth) => {
    const row = await transactionOf(connection, `block_index <= ${height - depth} ORDER BY block_index DESC, tx_index`);
    if (!row) return null;
    await connection.query('UPDATE transactions SET block_index = NULL WHERE tx_index = ?', [row.key.tx_index]);
    return { table: 'transactions', ...row };
  },
  /** It gets its block, `depth` blocks back. */
  transactionStamped: async (connection, height, depth) => {
    const row = await transactionOf(connection, 'block_index IS NULL ORDER BY tx_index');
    if (!row) return null;
    await connection.query('UPDATE transactions SET block_index = ? WHERE tx_index = ?', [
      height - depth,
      row.key.tx_index
    ]);
    return { table: 'transactions', key: row.key, block: height - depth };
  }
} as const satisfies Readonly<Record<string, Write>>;

export type DecoderLateKind = keyof typeof WRITES;

/** Late changes of a decoder that its owner makes. */
export const DECODER_LATE_KINDS = ['dispenserExpired', 'dispenserDelegated', 'pubkeyFound'] as const;

/** One late change of a decoder, as deep as asked or a little deeper. @returns null where no row can be changed so */
export async function changeDecoderLate(
  connection: Connection,
  kind: DecoderLateKind,
  height: number,
  depth: number
): Promise<Change | null> {
  const found = await WRITES[kind](connection, height, depth);
  return found && { kind, ...found };
}

async function dispenserOf(connection: Connection, newest: number) {
  const [row] = await rows<{ tx: number; address: number; block: number }>(
    connection,
    `SELECT d.tx_index AS tx, d.address_id AS address, t.block_index AS block FROM dispensers d JOIN transactions t USING (tx_index)
     WHERE d.expired_block_index IS NULL AND t.block_index <= ${newest} ORDER BY d.tx_index DESC, d.address_id LIMIT 1`
  );
  return row && { key: { tx_index: Number(row.tx), address_id: Number(row.address) }, block: Number(row.block) };
}

async function transactionOf(connection: Connection, which: string) {
  const [row] = await rows<{ tx: number; block: number | null }>(
    connection,
    `SELECT tx_index AS tx, block_index AS block FROM transactions WHERE ${which} LIMIT 1`
  );
  return row && { key: { tx_index: Number(row.tx) }, block: row.block === null ? null : Number(row.block) };
}
