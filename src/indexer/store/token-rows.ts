import { formatAmount } from '../../consensus/amount.ts';
import { rows, type Statements } from '../../db/connection.ts';
import { LOCKS, type Token } from '../state/token.ts';

const PER_STATEMENT = 500;

/** Writes tokens as they are now, over their rows where they have any. Owners and callback tickers must have ids. */
export async function writeTokens(connection: Statements, tokens: readonly Token[]): Promise<void> {
  for (let at = 0; at < tokens.length; at += PER_STATEMENT) {
    await writeSome(connection, tokens.slice(at, at + PER_STATEMENT));
  }
}

async function writeSome(connection: Statements, tokens: readonly Token[]): Promise<void> {
  const owners = await idsOf(
    connection,
    'index_addresses',
    'address',
    tokens.map(({ owner }) => owner)
  );
  const ticks = await idsOf(
    connection,
    'index_tickers',
    'tick',
    tokens.flatMap(({ callbackTick }) => callbackTick ?? [])
  );
  const written = tokens.map((token) => rowOf(token, owners, ticks));
  const columns = Object.keys(written[0]!);
  const overwrite = columns.map((column) => `${column} = VALUES(${column})`).join(', ');
  await connection.query(`INSERT INTO tokens (${columns.join(', ')}) VALUES ? ON DUPLICATE KEY UPDATE ${overwrite}`, [
    written.map((row) => Object.values(row))
  ]);
}

async function idsOf(connection: Statements, table: string, column: string, texts: readonly string[]) {
  if (texts.length === 0) return new Map<string, number>();
  const found = await rows<{ id: number; text: string }>(
    connection,
    `SELECT id, ${column} AS text FROM ${table} WHERE ${column} IN (?)`,
    [[...new Set(texts)]]
  );
  return new Map(found.map(({ id, text }) => [text, id]));
}

/** Returns the row of a token. Its surrogate id is the id of its ticker. */
function rowOf(token: Token, owners: ReadonlyMap<string, number>, ticks: ReadonlyMap<string, number>) {
  return {
    id: token.id,
    tick_id: token.id,
    action_index: token.actionIndex,
    last_action_index: token.lastActionIndex,
    supply: formatAmount(token.supply),
    max_supply: formatAmount(token.maxSupply),
    max_mint: formatAmount(token.maxMint),
    decimals: token.decimals,
    description: token.description,
    ...Object.fromEntries(LOCKS.map((lock) => [lock, Number(token.locks[lock])])),
    callback_block: token.callbackBlock,
    callback_tick_id: token.callbackTick === null ? null : (ticks.get(token.callbackTick) ?? null),
    callback_amount: token.callbackAmount === null ? null : formatAmount(token.callbackAmount),
    allow_list: token.allowList,
    block_list: token.blockList,
    mint_address_max: formatAmount(token.mintAddressMax),
    mint_start_block: token.mintStartBlock,
    mint_stop_block: token.mintStopBlock,
    owner_id: owners.get(token.owner)!,
    escrow_action_index: token.escrowActionIndex
  };
}
