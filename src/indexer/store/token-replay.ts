import { rows, type Statements } from '../../db/connection.ts';
import { blankToken, type Issued, issuedToken } from '../actions/tokens/issue.ts';
import { LOCKS, type LockName, type Token } from '../state/token.ts';
import { readDecimal, readWhole } from './read-decimal.ts';
import { VALID_STATUS } from './valid-status.ts';

/** ISSUEs of tokens that one statement reads. */
const ISSUES_PER_STATEMENT = 2_000;
/** Key of the valid ISSUEs of a ticker. Without it MariaDB may read all actions of the ledger for each token. */
const ISSUES_OF_TICKER = 'tick_id_status_id';

/**
 * Returns tokens as their remaining valid ISSUEs make them, applied one after the other. A block may have changed very
 * many, so one statement reads the ISSUEs of several.
 */
export async function replay(connection: Statements, tokens: readonly Token[]): Promise<ReadonlyMap<number, Token>> {
  const replayed = new Map<number, Token>();
  for (const group of await groupsOf(connection, tokens)) {
    const byId = new Map(group.map((token) => [token.id, token]));
    for (let after = 0; ; ) {
      const issues = await readIssues(connection, [...byId.keys()], after);
      for (const row of issues) {
        const { id, tick, actionIndex, supply } = byId.get(Number(row['tick_id']))!;
        const blank = () => ({ ...blankToken(id, tick, actionIndex, String(row['source'])), supply });
        replayed.set(id, issuedToken(readIssued(row), replayed.get(id) ?? blank(), Number(row['action_index'])));
      }
      if (issues.length < ISSUES_PER_STATEMENT) break;
      after = Number(issues.at(-1)!['action_index']);
    }
  }
  return replayed;
}

/** Returns tokens in groups whose valid ISSUEs are as many as one statement reads. A token with more is alone. */
async function groupsOf(connection: Statements, tokens: readonly Token[]): Promise<readonly (readonly Token[])[]> {
  if (tokens.length === 0) return [];
  const found = await rows<{ id: number; count: number }>(
    connection,
    `SELECT tick_id AS id, COUNT(*) AS count FROM issues FORCE INDEX (${ISSUES_OF_TICKER})
     WHERE tick_id IN (?) AND status_id = ${VALID_STATUS} GROUP BY tick_id`,
    [tokens.map(({ id }) => id)]
  );
  const counts = new Map(found.map(({ id, count }) => [Number(id), Number(count)]));
  const groups: Token[][] = [];
  let left = 0;
  for (const token of tokens) {
    const count = counts.get(token.id) ?? 0;
    if (count > left || groups.length === 0) {
      groups.push([]);
      left = ISSUES_PER_STATEMENT;
    }
    groups.at(-1)!.push(token);
    left -= count;
  }
  return groups;
}

/** Reads the next valid ISSUEs of tickers behind an action, the oldest first. An owner may have sent millions. */
async function readIssues(connection: Statements, ticks: readonly number[], after: number) {
  return await rows<Record<string, string | number | null>>(
    connection,
    `SELECT STRAIGHT_JOIN i.*, s.address AS source, a.address AS transfer, c.tick AS callback_tick
     FROM issues i FORCE INDEX (${ISSUES_OF_TICKER})
     JOIN actions x ON x.action_index = i.action_index JOIN index_addresses s ON s.id = x.source_id
     LEFT JOIN index_addresses a ON a.id = i.transfer_id LEFT JOIN index_tickers c ON c.id = i.callback_tick_id
     WHERE i.tick_id IN (?) AND i.action_index > ? AND i.status_id = ${VALID_STATUS}
     ORDER BY i.action_index LIMIT ${ISSUES_PER_STATEMENT}`,
    [ticks, after]
  );
}

/** Reads the fields of an ISSUE from its row in `issues`. */
function readIssued(row: Readonly<Record<string, string | number | null>>): Issued {
  const text = (name: string) => (row[name] == null ? null : String(row[name]));
  const amount = (name: string) => (row[name] == null ? undefined : readDecimal(row[name]));
  const number = (name: string) => (row[name] == null ? undefined : readWhole(row[name]));
  const list = (name: string) => (row[name] == null ? undefined : { root: readWhole(row[name]) });
  const callbackTick = text('callback_tick');
  return {
    maxSupply: amount('max_supply'),
    maxMint: amount('max_mint'),
    mintAddressMax: amount('mint_address_max'),
    callbackAmount: amount('callback_amount'),
    mintStartBlock: number('mint_start_block'),
    mintStopBlock: number('mint_stop_block'),
    callbackBlock: number('callback_block'),
    decimals: number('decimals') ?? null,
    description: text('description'),
    callbackTick: callbackTick === null ? null : { tick: callbackTick },
    transfer: text('transfer'),
    allowList: list('allow_list'),
    blockList: list('block_list'),
    locks: Object.fromEntries(LOCKS.map((lock) => [lock, text(lock) ?? ''])) as Record<LockName, string>
  };
}
