import { findNetwork } from '../../../coin/find-network.ts';
import { type Connection, quoteName, rows } from '../../../db/connection.ts';
import { PlatformError } from '../../../errors.ts';
import type { DatabaseId } from '../../../wire/data/database.ts';
import { CHECKPOINT_COLUMNS, type Checkpoint } from '../../../wire/log/checkpoint.ts';
import type { SourceLayout } from '../../tables/source-layout.ts';

const TABLE = 'state_checkpoints';

/**
 * Reads the checkpoint of one block of the database's own chain, the latest of several. The table may hold those of
 * other chains too.
 *
 * @param height null: the highest block that has one
 * @throws {PlatformError} RECORD_UNKNOWN where there is none, or no such table
 */
export async function readCheckpoint(
  connection: Connection,
  { chain, network }: DatabaseId,
  layout: SourceLayout,
  height: number | null
): Promise<Checkpoint> {
  const table = layout.tables.find(({ name }) => name === TABLE);
  const columns = new Set(table?.columns.map(({ name }) => name));
  if (!columns.has('block_index')) {
    throw new PlatformError('RECORD_UNKNOWN', { reason: 'this database records no checkpoints' });
  }
  const order = ['block_index', 'checkpoint_seq'].filter((name) => columns.has(name)).map((name) => `${name} DESC`);
  const conditions: [sql: string, value: unknown][] = [];
  if (height !== null) conditions.push(['block_index = ?', height]);
  // The `chain` of a row is a chain's name or its ticker.
  const known = findNetwork(`${chain}/${network}`);
  const names = [...new Set([chain, ...(known ? [known.chain, known.ticker] : [])])];
  if (columns.has('chain')) conditions.push(['chain IN (?)', names]);
  if (columns.has('network')) conditions.push(['network = ?', network]);
  const [row] = await rows(
    connection,
    `SELECT * FROM ${quoteName(TABLE)} WHERE ${conditions.map(([sql]) => sql).join(' AND ') || 'TRUE'} ORDER BY ${order.join(', ')} LIMIT 1`,
    conditions.map(([, value]) => value)
  );
  if (!row) {
    const reason = height === null ? 'there is no checkpoint yet' : `block ${height} has no checkpoint`;
    throw new PlatformError('RECORD_UNKNOWN', { reason });
  }
  const fields = Object.keys(CHECKPOINT_COLUMNS).map((name) => [name, plain(row[name])]);
  return {
    chain,
    network,
    ...(Object.fromEntries(fields) as Omit<Checkpoint, 'chain' | 'network' | 'validator_signatures'>),
    validator_signatures: readSignatures(row['validator_signatures'])
  };
}

/** Returns a hash as text: it may be kept as bytes. */
function plain(value: unknown): unknown {
  return Buffer.isBuffer(value) ? value.toString('hex') : (value ?? null);
}

/** Parses a JSON list of signatures; malformed text, or a list of other things, has no signature. */
function readSignatures(text: unknown): Checkpoint['validator_signatures'] {
  let found: unknown;
  try {
    found = JSON.parse(String(text ?? '[]'));
  } catch (caught) {
    throw new PlatformError(
      'DATABASE_UNUSABLE',
      { reason: `${TABLE}.validator_signatures is not JSON` },
      { cause: caught }
    );
  }
  const isSignature = (each: unknown): each is Checkpoint['validator_signatures'][number] =>
    typeof each === 'object' &&
    each !== null &&
    typeof Reflect.get(each, 'pubkey') === 'string' &&
    typeof Reflect.get(each, 'sig') === 'string';
  return Array.isArray(found) ? found.filter(isSignature) : [];
}
