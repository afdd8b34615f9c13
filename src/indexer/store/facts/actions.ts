import { rows, type Statements } from '../../../db/connection.ts';
import { pages } from '../../../db/pages.ts';
import { type ActionTable, tablesOf } from '../../actions/handlers.ts';
import { REFUSED_PREFIX } from '../../rules/action-definition.ts';
import { type List, type ListCount, type ListHead, type PastAction, SHORT_LIST } from '../../state/facts.ts';
import { splitPair } from '../../state/keys.ts';
import { DECIDES, newestDeciding } from '../decisions.ts';
import { readWhole } from '../read-decimal.ts';
import { VALID_STATUS } from '../valid-status.ts';
import { addressIds, pairsOf } from './addresses.ts';
import { readMembers } from './list-members.ts';
import type { Loading } from './loading.ts';

/** Lists whose items one statement counts, each by queries of its own. */
const HEADS_PER_STATEMENT = 100;

type Length = { root: number; items: number };

interface Head {
  /** Action that made the list. */
  readonly root: number;
  readonly type: string;
  readonly source: string;
  readonly owner: string | null;
  /** Newest edit after which all members were kept; the first action where none was. */
  readonly kept: number;
}

/** Reads the heads of lists, by the actions that made them. No item is read, only its place in the index. */
export async function readListHeads(connection: Statements, roots: readonly number[]): Promise<Map<number, ListHead>> {
  const heads = await readHeads(connection, roots);
  const counts = await readCounts(connection, roots);
  const lengths = new Map([...counts].map(([root, { size, changes }]) => [root, size + changes]));
  const others = heads.filter(({ root }) => !counts.has(Number(root)));
  for (const page of pages(others, HEADS_PER_STATEMENT))
    for (const { root, items } of await rows<Length>(connection, page.flatMap(itemsOf).join(' UNION ALL ')))
      lengths.set(Number(root), (lengths.get(Number(root)) ?? 0) + Number(items));
  return new Map(
    heads.map(({ root, type, source, owner }) => {
      const isLong = lengths.get(Number(root))! > SHORT_LIST;
      const size = counts.get(Number(root))?.size;
      const head = { type: Number(type), owner: owner ?? source, isLong };
      return [Number(root), size === undefined ? head : { ...head, size }];
    })
  );
}

/** Returns SQL that counts the items of a list that were kept last, and those of edits since, a few more than SHORT_LIST at most. */
function itemsOf({ root, kept }: Head): string[] {
  return [
    `list_items i WHERE i.action_index = ${Number(kept)}`,
    `deciding_actions d STRAIGHT_JOIN list_edits e ON e.action_index = d.action_index
       WHERE d.kind = ${DECIDES.editedList} AND d.subject = ${Number(root)} AND d.other = 0 AND d.action_index > ${Number(kept)}`
  ].map((from) => {
    return `(SELECT ${Number(root)} AS root, COUNT(*) AS items FROM (SELECT 1 FROM ${from} LIMIT ${SHORT_LIST + 1}) c)`;
  });
}

/** Reads lists, by the actions that made them. */
export async function readLists(connection: Statements, roots: readonly number[]): Promise<Map<number, List>> {
  const heads = await readHeads(connection, roots);
  const lists = new Map<number, List>();
  for (const [type, own] of Map.groupBy(heads, (head) => Number(head.type))) {
    const members = await readMembers(
      connection,
      type,
      own.map(({ root, kept }) => ({ root: Number(root), kept: Number(kept) }))
    );
    for (const { root, source, owner } of own)
      lists.set(Number(root), { type, owner: owner ?? source, ...members(Number(root)) });
  }
  return lists;
}

/** Loads the numbers of lists. A list of an earlier release is read whole for them, until its next edit. */
export async function loadListCounts(keys: readonly string[], { connection, view }: Loading): Promise<void> {
  const roots = keys.map(Number);
  const counts = await readCounts(connection, roots);
  const others = roots.filter((root) => !counts.has(root));
  const lists = others.length === 0 ? [] : await readLists(connection, others);
  for (const [root, { members, changes }] of lists) counts.set(root, { size: members.size, changes });
  for (const key of keys) view.load('listCount', key, counts.get(Number(key)));
}

/** Reads the numbers of lists that are known since their newest edits. */
async function readCounts(connection: Statements, roots: readonly number[]): Promise<Map<number, ListCount>> {
  if (roots.length === 0) return new Map();
  const found = await rows<Record<'root' | 'size' | 'changes', number>>(
    connection,
    `WITH w (id) AS (VALUES ${roots.map((root) => `(${root})`).join(', ')})
     SELECT v.id AS root, c.members AS size, c.changes FROM
       (SELECT w.id, (SELECT n.action_index FROM list_counts n WHERE n.list = w.id ORDER BY n.action_index DESC LIMIT 1) AS newest,
          ${newestDeciding('editedList')} AS edited FROM w LIMIT ${roots.length}) v
     STRAIGHT_JOIN list_counts c ON c.list = v.id AND c.action_index = v.newest WHERE v.newest >= COALESCE(v.edited, 0)`
  );
  return new Map(
    found.map(({ root, size, changes }) => [Number(root), { size: Number(size), changes: Number(changes) }])
  );
}

async function readHeads(connection: Statements, roots: readonly number[]): Promise<Head[]> {
  return await rows<{ [K in keyof Head]: Head[K] }>(
    connection,
    `SELECT l.action_index AS root, l.type, s.address AS source,
       (SELECT a.address FROM list_transfers t JOIN index_addresses a ON a.id = t.destination_id
        WHERE t.list_action_index = l.action_index ORDER BY t.action_index DESC LIMIT 1) AS owner,
       COALESCE(${newestDeciding('keptList')}, l.action_index) AS kept
     FROM (SELECT action_index AS id FROM lists WHERE action_index IN (?)) w JOIN lists l ON l.action_index = w.id JOIN actions x ON x.action_index = l.action_index JOIN index_addresses s ON s.id = x.source_id
     WHERE l.status_id = ${VALID_STATUS}`,
    [roots]
  );
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
    [false, `FROM sleeps r WHERE r.action_index = ${newestDeciding('sleep')}`],
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
 * Reads actions that have a row that was not refused, by their indexes. A later status of a valid row, such as
 * `released`, counts as valid.
 */
export async function readPast(connection: Statements, indexes: readonly number[]): Promise<Map<number, PastAction>> {
  const named = await rows<{ index: number; name: string }>(
    connection,
    `SELECT x.action_index AS \`index\`, i.action AS name FROM actions x JOIN index_actions i ON i.id = x.action_id
     WHERE x.action_index IN (?)`,
    [indexes]
  );
  const past = new Map<number, PastAction>();
  for (const [name, actions] of Map.groupBy(named, (action) => action.name))
    for (const table of tablesOf(name)) {
      const asked = actions.map(({ index }) => `(${Number(index)})`).join(', ');
      const found = await rows<{ index: number; tick: string | null }>(
        connection,
        `WITH w (id) AS (VALUES ${asked}) SELECT w.id AS \`index\`, ${validRow(table)} AS tick FROM w`
      );
      for (const { index, tick } of found) if (tick !== null) past.set(Number(index), { name, tick: tick || null });
    }
  return past;
}

/** Returns SQL for the ticker of a valid row of the action `w.id`, empty for other actions than ISSUE; NULL for no row. */
function validRow({ name, keepsValidOnly, takesParts }: ActionTable): string {
  const isIssue = name === 'issues';
  // Rows of a table without statuses are all valid.
  const where = keepsValidOnly
    ? 'r.slash_action_index = w.id'
    : `r.action_index = w.id AND ${takesParts ? `r.status_id = ${VALID_STATUS}` : `(SELECT s.status FROM index_statuses s WHERE s.id = r.status_id) NOT LIKE '${REFUSED_PREFIX}%'`}`;
  return `(SELECT ${isIssue ? "COALESCE(i.tick, '')" : "''"} FROM ${name} r
    ${isIssue ? 'LEFT JOIN index_tickers i ON i.id = r.tick_id' : ''} WHERE ${where} LIMIT 1)`;
}
