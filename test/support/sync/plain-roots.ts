import { createHash } from 'node:crypto';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { sql } from '../sql.ts';

const NAMES = ['litecoin', 'regtest'];
const sha = (...parts: readonly (Buffer | string)[]) =>
  createHash('sha256')
    .update(Buffer.concat(parts.map((part) => Buffer.from(part))))
    .digest();
const leaf = (fields: readonly string[]) => sha(Buffer.of(0), fields.join('\0'));
const node = (left: Buffer, right: Buffer) => sha(Buffer.of(1), left, right);

const EMPTY = [sha(Buffer.of(2), 'PLATFORM_EMPTY_LEAF')];
for (let height = 0; height < 256; height++) EMPTY.push(node(EMPTY[height]!, EMPTY[height]!));

/** The state roots of an indexer database as it stands, by their definition and from its rows alone. */
export async function plainRoots(of: DatabaseCoordinates): Promise<{
  height: number;
  balances_root: string;
  block_merkle_root: string | null;
}> {
  const [tip] = await sql(of, 'SELECT MAX(block_index) AS height FROM blocks');
  const height = Number(tip?.['height']);
  return { height, balances_root: await balancesRoot(of), block_merkle_root: await blockRoot(of, height) };
}

async function balancesRoot(of: DatabaseCoordinates): Promise<string> {
  const found = await sql(
    of,
    'SELECT address, tick, CAST(amount AS DECIMAL(65,18)) AS amount FROM balances JOIN index_addresses a ON a.id = address_id JOIN index_tickers t ON t.id = tick_id WHERE CAST(amount AS DECIMAL(65,18)) <> 0'
  );
  let level = new Map<bigint, Buffer>();
  for (const { address, tick, amount } of found) {
    const path = sha(['PLATFORM_BAL', ...NAMES, String(address), String(tick)].join('\0'));
    level.set(BigInt(`0x${path.toString('hex')}`), leaf([String(amount)]));
  }
  for (const empty of EMPTY.slice(0, 256)) {
    const parents = new Map<bigint, Buffer>();
    for (const place of level.keys()) {
      const left = place & ~1n;
      parents.set(place >> 1n, node(level.get(left) ?? empty, level.get(left | 1n) ?? empty));
    }
    level = parents;
  }
  return (level.get(0n) ?? EMPTY[256]!).toString('hex');
}

async function blockRoot(of: DatabaseCoordinates, height: number): Promise<string | null> {
  const inBlock = `action_index IN (SELECT action_index FROM actions WHERE block_index = ${height})`;
  for (const table of ['contracts', 'contract_executions', 'deposits', 'withdrawals']) {
    if ((await sql(of, `SELECT 1 FROM ${table} WHERE ${inBlock} LIMIT 1`)).length > 0) return null;
  }
  if ((await sql(of, `SELECT 1 FROM contract_state WHERE block_index = ${height} LIMIT 1`)).length > 0) return null;
  let level: Buffer[] = [];
  for (const kind of ['credits', 'debits', 'escrows']) {
    const found = await sql(
      of,
      `SELECT action_index, address, tick, amount FROM ${kind} JOIN index_addresses a ON a.id = address_id JOIN index_tickers t ON t.id = tick_id WHERE ${inBlock} ORDER BY action_index, BINARY CONVERT(address USING utf8mb4), BINARY tick, BINARY amount`
    );
    level.push(...found.map((row) => leaf(['L', kind, ...Object.values(row).map(String)])));
  }
  const actions = await sql(
    of,
    `SELECT action_index, COALESCE(tx_index, ''), action FROM actions JOIN index_actions i ON i.id = action_id WHERE block_index = ${height} ORDER BY action_index`
  );
  level.push(...actions.map((row) => leaf(['A', ...Object.values(row).map(String)])));
  while (level.length === 0 || !Number.isInteger(Math.log2(level.length))) level.push(EMPTY[0]!);
  while (level.length > 1) level = level.flatMap((left, at) => (at % 2 === 0 ? [node(left, level[at + 1]!)] : []));
  return level[0]!.toString('hex');
}
