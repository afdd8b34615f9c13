import { rows, type Statements } from '../../../db/connection.ts';
import { pages } from '../../../db/pages.ts';
import { REMOVE } from '../../actions/notes/list.ts';
import { LIST_OF_TICKS, type List } from '../../state/facts.ts';
import { splitPair, tickKey } from '../../state/keys.ts';
import { Members } from '../../state/members.ts';
import { DECIDES, newestDeciding } from '../decisions.ts';
import { VALID_STATUS } from '../valid-status.ts';
import { addressIds, pairsOf } from './addresses.ts';
import type { Loading } from './loading.ts';

/** List whose members are read. */
interface Kept {
  /** Action that made the list. */
  readonly root: number;
  /** Newest edit after which all members were kept; the first action where none was. */
  readonly kept: number;
}

/** Items that one statement reads, or those of one action. One text may name hundreds of long lists. */
const ITEMS_PER_STATEMENT = 50_000;
/** Id of the item that is looked for, by the type of the list. */
const ITEM = `IF(l.type = ${LIST_OF_TICKS}, w.tick, w.address)`;
/** Conditions of the items that count, by table. */
const COUNTING = { list_items: 'TRUE', list_edits: `status_id = ${VALID_STATUS}` } as const;

/**
 * Reads the members of lists of one type: those that were kept last, and what valid edits changed since. @returns a
 * function that returns those of a list, by the action that made it
 */
export async function readMembers(
  connection: Statements,
  type: number,
  lists: readonly Kept[]
): Promise<(root: number) => Pick<List, 'members' | 'changes'>> {
  const edits = await rows<{ root: number; action: number; edit: string }>(
    connection,
    `WITH w (n, id) AS (${pairsOf(lists.map(({ root, kept }) => [root, kept]))})
     SELECT w.n AS root, l.action_index AS action, l.edit FROM w
     STRAIGHT_JOIN deciding_actions d ON d.kind = ${DECIDES.editedList} AND d.subject = w.n AND d.other = 0
       AND d.action_index > w.id STRAIGHT_JOIN lists l ON l.action_index = d.action_index ORDER BY l.action_index`
  );
  const kept = await readItems(
    connection,
    'list_items',
    lists.map(({ kept }) => kept)
  );
  const edited = await readItems(
    connection,
    'list_edits',
    edits.map(({ action }) => action)
  );
  const names = await readNames(connection, type, [kept, edited]);
  const keptOf = new Map(lists.map((list) => [list.root, kept.get(list.kept)]));
  const editsOf = Map.groupBy(edits, ({ root }) => Number(root));
  return (root) => {
    const members = new Set<string>();
    for (const id of keptOf.get(root) ?? []) members.add(names.get(id)!);
    let changes = 0;
    for (const { action, edit } of editsOf.get(root) ?? [])
      for (const id of edited.get(Number(action)) ?? []) {
        const item = names.get(id)!;
        if (members.has(item) !== (edit === REMOVE)) continue; // it changed nothing
        if (edit === REMOVE) members.delete(item);
        else members.add(item);
        changes++;
      }
    return { members: new Members(members), changes };
  };
}

/**
 * Loads by `memberKey` whether lists have items: the newest edit that names one decides, or the members that were kept
 * since. No other member is read, and no other edit.
 */
export async function loadMembers(keys: readonly string[], loading: Loading): Promise<void> {
  const { connection, view, tickers } = loading;
  const pairs = keys.map(splitPair);
  const ids = await addressIds(loading, [...new Set(pairs.map(([, item]) => item))]);
  const wanted = pairs.flatMap(([root, item], n) => {
    const [address, tick] = [ids.get(item) ?? null, tickers.ids.get(tickKey(item)) ?? null];
    return address === null && tick === null ? [] : [`(${n}, ${Number(root)}, ${address}, ${tick})`];
  });
  const found =
    wanted.length === 0
      ? []
      : await rows<{ n: number; edit: string | null; isKept: number }>(
          connection,
          `WITH w (n, id, address, tick) AS (VALUES ${wanted.join(', ')})
           SELECT v.n, (SELECT e.edit FROM lists e WHERE e.action_index = v.edited AND v.edited > v.kept) AS edit,
             EXISTS (SELECT 1 FROM list_items i FORCE INDEX (action_index_item_id)
               WHERE i.action_index = v.kept AND i.item_id = v.item) AS isKept
           FROM (SELECT w.n, ${ITEM} AS item, COALESCE(${newestDeciding('keptList')}, w.id) AS kept,
               ${newestDeciding('editedItem', 'w.id', ITEM)} AS edited
             FROM w STRAIGHT_JOIN lists l ON l.action_index = w.id
             LIMIT ${wanted.length}) v` // the limit keeps MariaDB from reading both for each mention
        );
  const members = new Set(
    found.flatMap(({ n, edit, isKept }) => ((edit === null ? isKept : edit !== REMOVE) ? [Number(n)] : []))
  );
  for (const [n, key] of keys.entries()) view.load('member', key, members.has(n));
}

/** Ids of items, by the action that wrote them. */
type Items = ReadonlyMap<number, readonly number[]>;

/** Reads the items of actions in statements of about equal length. */
async function readItems(
  connection: Statements,
  table: keyof typeof COUNTING,
  actions: readonly number[]
): Promise<Items> {
  const items = new Map<number, number[]>();
  for (const part of await partsOf(connection, table, actions)) {
    const found = await rows<{ action: number; item: number }>(
      connection,
      `SELECT action_index AS action, item_id AS item FROM ${table} WHERE action_index IN (?) AND ${COUNTING[table]}`,
      [part]
    );
    for (const { action, item } of found) {
      const known = items.get(Number(action));
      if (known) known.push(Number(item));
      else items.set(Number(action), [Number(item)]);
    }
  }
  return items;
}

/** Splits actions into parts with at most ITEMS_PER_STATEMENT items together; an action with more goes alone. */
async function partsOf(connection: Statements, table: string, actions: readonly number[]): Promise<number[][]> {
  const parts: number[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const page of pages(actions)) {
    const counted = await rows<{ action: number; items: number }>(
      connection,
      `SELECT action_index AS action, COUNT(*) AS items FROM ${table} WHERE action_index IN (?) GROUP BY action_index`,
      [page]
    );
    for (const { action, items } of counted) {
      size += Number(items);
      if (size > ITEMS_PER_STATEMENT) {
        parts.push([]);
        size = Number(items);
      }
      parts.at(-1)!.push(Number(action));
    }
  }
  return parts;
}

/** Reads the texts of items by their ids, each once. */
async function readNames(connection: Statements, type: number, read: readonly Items[]): Promise<Map<number, string>> {
  const ids = new Set<number>();
  for (const items of read) for (const own of items.values()) for (const id of own) ids.add(id);
  const [table, column] = type === LIST_OF_TICKS ? ['index_tickers', 'tick'] : ['index_addresses', 'address'];
  const names = new Map<number, string>();
  for (const page of pages([...ids], ITEMS_PER_STATEMENT)) {
    const found = await rows<{ id: number; name: string }>(
      connection,
      `SELECT id, ${column} AS name FROM ${table} WHERE id IN (?)`,
      [page]
    );
    for (const { id, name } of found) names.set(Number(id), name);
  }
  return names;
}
