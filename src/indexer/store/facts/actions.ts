import { rows } from '../../../db/core/connection.ts';
import { REMOVE } from '../../actions/notes/list.ts';
import { REFUSED_PREFIX } from '../../rules/action-definition.ts';
import { tablesOf } from '../../rules/handlers.ts';
import type { List } from '../../state/facts.ts';
import { splitPair } from '../../state/keys.ts';
import { Members } from '../../state/members.ts';
import { readWhole } from '../read-decimal.ts';
import { VALID_STATUS } from '../valid-status.ts';
import { addressIds, newestAction, pairsOf } from './addresses.ts';
import type { Loading, Query } from './loading.ts';

/** Reads a list: the members that were kept last, and what valid edits changed since. */
export async function readList(connection: Query, root: number): Promise<List | undefined> {
  const [made] = await rows<{ type: string; source: string; owner: string | null; kept: number }>(
    connection,
    `SELECT l.type, s.address AS source,
       (SELECT a.address FROM list_transfers t JOIN index_addresses a ON a.id = t.destination_id
        WHERE t.list_action_index = l.action_index ORDER BY t.action_index DESC LIMIT 1) AS owner,
       COALESCE((SELECT e.action_index FROM lists e WHERE e.list_action_index = l.action_index AND e.edit IS NOT NULL
          AND e.status_id = ${VALID_STATUS} AND EXISTS (SELECT 1 FROM list_items i WHERE i.action_index = e.action_index)
        ORDER BY e.action_index DESC LIMIT 1), l.action_index) AS kept
     FROM lists l JOIN actions x ON x.action_index = l.action_index JOIN index_addresses s ON s.id = x.source_id
     WHERE l.action_index = ? AND l.status_id = ${VALID_STATUS}`,
    [root]
  );
  if (!made) return undefined;
  const [table, column] = made.type === '1' ? ['index_tickers', 'tick'] : ['index_addresses', 'address'];
  const kept = await rows<{ item: string }>(
    connection,
    `SELECT i.${column} AS item FROM list_items l JOIN ${table} i ON i.id = l.item_id WHERE l.action_index = ?`,
    [made.kept]
  );
  const changed = await rows<{ item: string; edit: string }>(
    connection,
    `SELECT i.${column} AS item, l.edit FROM lists l JOIN list_edits e ON e.action_index = l.action_index
     JOIN ${table} i ON i.id = e.item_id
     WHERE l.list_action_index = ? AND l.action_index > ? AND l.edit IS NOT NULL AND l.status_id = ${VALID_STATUS}
       AND e.status_id = ${VALID_STATUS} ORDER BY l.action_index`,
    [root, made.kept]
  );
  const items = new Set(kept.map(({ item }) => item));
  for (const { item, edit } of changed) {
    if (edit === REMOVE) items.delete(item);
    else items.add(item);
  }
  return {
    type: Number(made.type),
    owner: made.owner ?? made.source,
    members: new Members(items),
    changes: changed.length
  };
}

/** Loads the newest valid SLEEP of each key. No other action of an address or a ticker is read. */
export async function loadSleeps(keys: readonly string[], loading: Loading): Promise<void> {
  const { connection, view, tickers } = loading;
  const named = keys.map(splitPair);
  const addresses = await addressIds(
    loading,
    named.flatMap(([type, name]) => (type === 'address' ? [name] : []))
  );
  const wanted = named.flatMap(([type, name], n) => {
    const id = type === 'tick' ? tickers.ids.get(name) : addresses.get(name);
    return id === undefined ? [] : [{ n, id, isTick: type === 'tick' }];
  });
  const listOf = (isTick: boolean) =>
    pairsOf(wanted.filter((each) => each.isTick === isTick).map(({ n, id }) => [n, id]));
  const newest = new Map<number, string | null>();
  for (const [isTick, source] of [
    [false, `${newestAction('SLEEP', 'sleeps', 'r.type = 1')}`],
    [
      true,
      `FROM sleeps r WHERE r.tick_id = w.id AND r.status_id = ${VALID_STATUS} AND r.type = 2 ORDER BY r.action_index DESC`
    ]
  ] as const) {
    const list = listOf(isTick);
    if (list === null) continue;
    const found = await rows<{ n: number; resume_block: string | null }>(
      connection,
      `WITH w (n, id) AS (${list}) SELECT w.n, (SELECT r.resume_block ${source} LIMIT 1) AS resume_block FROM w`
    );
    for (const { n, resume_block } of found) newest.set(Number(n), resume_block);
  }
  for (const [n, key] of keys.entries()) {
    const resumes = newest.get(n) ?? null;
    view.load('sleep', key, resumes === null ? undefined : readWhole(resumes));
  }
}

/**
 * Reads an action that has a row that was not refused. A later status of a valid row, such as `released`, counts as
 * valid.
 */
export async function readPast(index: number, connection: Query) {
  const [action] = await rows<{ name: string }>(
    connection,
    'SELECT i.action AS name FROM actions x JOIN index_actions i ON i.id = x.action_id WHERE x.action_index = ?',
    [index]
  );
  for (const { name, keepsValidOnly } of action ? tablesOf(action.name) : []) {
    const isIssue = name === 'issues';
    // Rows of a table without statuses are all valid.
    const where = keepsValidOnly
      ? 'r.slash_action_index = ?'
      : `r.action_index = ? AND (SELECT s.status FROM index_statuses s WHERE s.id = r.status_id) NOT LIKE '${REFUSED_PREFIX}%'`;
    const [valid] = await rows<{ tick: string | null }>(
      connection,
      `SELECT ${isIssue ? 'i.tick' : 'NULL AS tick'} FROM ${name} r
       ${isIssue ? 'LEFT JOIN index_tickers i ON i.id = r.tick_id' : ''} WHERE ${where} LIMIT 1`,
      [index]
    );
    if (valid) return { name: action!.name, tick: valid.tick };
  }
  return undefined;
}
