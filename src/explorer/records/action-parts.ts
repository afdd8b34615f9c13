import type { Row } from '../lists/list.ts';
import type { Query } from '../read/reader.ts';
import { MAX_ROWS } from './record.ts';

/** Kinds of offers whose state later actions change. */
export type Stated = 'order' | 'swap' | 'dispenser';

const VALID = "(SELECT i.id FROM index_statuses i WHERE i.status = 'valid')";
const EXPIRED = "(SELECT i.id FROM index_statuses i WHERE i.status = 'expired')";
const exact = (column: string) => `CAST(COALESCE(NULLIF(${column}, ''), '0') AS DECIMAL(58,18))`;

/**
 * Returns SQL for the remaining amount of a trade to give or to get, over `o`: the older side of a match gives what the newer one
 * gets.
 */
export function leftOf(kind: 'order' | 'swap', side: 'give' | 'get'): string {
  const other = side === 'give' ? 'get' : 'give';
  // A match that nobody paid for used nothing of the order that was to pay in the chain's coin.
  const counts = `(o.give_tick_id IS NOT NULL OR m.status_id <> COALESCE(${EXPIRED}, 0))`;
  const used = (place: 'give' | 'get', column: string) =>
    `COALESCE((SELECT SUM(${exact(`m.${column}_amount`)}) FROM ${kind}_matches m
       WHERE m.${place}_action_index = o.action_index AND ${counts}), 0)`;
  return `${exact(`o.${side}_amount`)} - ${used('give', other)} - ${used('get', side)}`;
}

/** Returns a field of an offer after its edits, over `o`. */
export const offerNow = (kind: Stated, column: string) =>
  `COALESCE((SELECT e.${column} FROM ${kind}_edits e WHERE e.${kind}_action_index = o.action_index AND e.status_id = ${VALID}
     AND e.${column} IS NOT NULL ORDER BY e.action_index DESC LIMIT 1), o.${column})`;
const DISPENSER_LEFT = `${exact('o.give_escrow')}
  + COALESCE((SELECT SUM(${exact('e.give_escrow')}) FROM dispenser_edits e
      WHERE e.dispenser_action_index = o.action_index AND e.status_id = ${VALID}), 0)
  - COALESCE((SELECT SUM(${exact('d.give_amount')}) FROM dispenses d
      WHERE d.dispenser_action_index = o.action_index AND d.status_id = ${VALID}), 0)`;

/** Reads the state of an offer: its remaining amounts, newest expiration, lists and status; all null for one that was refused. */
export async function readOfferState(query: Query, kind: Stated, index: number): Promise<Row> {
  const left =
    kind === 'dispenser'
      ? `${DISPENSER_LEFT} AS give_remaining`
      : `${leftOf(kind, 'give')} AS give_remaining, ${leftOf(kind, 'get')} AS get_remaining`;
  const [found = {}] = await query<Row>(
    `SELECT ${left}, ${['expiration', 'allow_list', 'block_list'].map((column) => `${offerNow(kind, column)} AS ${column}`).join(', ')},
       (SELECT i.status FROM ${kind}_statuses s JOIN index_statuses i ON i.id = s.status_id
        WHERE s.${kind}_action_index = o.action_index ORDER BY s.action_index DESC LIMIT 1) AS status
     FROM ${kind}s o WHERE o.action_index = ?`,
    [index]
  );
  return Object.fromEntries(Object.entries(found).map(([name, value]) => [name, value === null ? null : plain(value)]));
}

/** Reads who cancelled a dispenser; null while nobody did. */
export async function readCanceller(query: Query, index: number): Promise<Row> {
  const [found] = await query<{ address: string | null }>(
    `SELECT i.address FROM dispenser_statuses s JOIN index_addresses i ON i.id = s.cancelled_by_id
     WHERE s.dispenser_action_index = ? ORDER BY s.action_index DESC LIMIT 1`,
    [index]
  );
  return { cancelled_by: found?.address ?? null };
}

/** Returns a sum without the zeros that SQL puts behind it. */
const plain = (value: unknown): string =>
  String(value)
    .replace(/(\.\d*?)0+$/, '$1')
    .replace(/\.$/, '');

/** Tables of the texts of items, by the type of a list. */
const ITEMS: Readonly<Record<string, string>> = {
  1: '(SELECT x.tick FROM index_tickers x WHERE x.id = t.item_id)',
  2: '(SELECT x.address FROM index_addresses x WHERE x.id = t.item_id)',
  3: 'CAST(t.item_id AS CHAR)'
};

/** Counts the rows of which the first are shown. @param from what is counted, as after FROM */
export async function totalOf(
  query: Query,
  shown: readonly unknown[],
  from: string,
  values: readonly number[]
): Promise<string> {
  if (shown.length < MAX_ROWS) return String(shown.length);
  const [counted] = await query<{ total: number | string }>(`SELECT COUNT(*) AS total FROM ${from}`, values);
  return String(counted!.total);
}

/** `edit` of a LIST that takes items out. */
const REMOVE = "'2'";

/**
 * The members of a list, as after FROM: those that an action kept last, and what valid edits changed since. An indexer
 * keeps all members with few edits only.
 *
 * Values: the action that kept them, the list, the action that kept them.
 */
const MEMBERS = `(
  WITH kept AS (SELECT i.item_id FROM list_items i WHERE i.action_index = ?),
    changed AS (
      SELECT e.item_id, MAX(l.action_index) AS last_edit FROM lists l JOIN list_edits e ON e.action_index = l.action_index
      WHERE l.list_action_index = ? AND l.action_index > ? AND l.edit IS NOT NULL
        AND l.status_id = ${VALID} AND e.status_id = ${VALID} GROUP BY e.item_id)
  SELECT k.item_id FROM kept k WHERE k.item_id NOT IN (SELECT c.item_id FROM changed c)
  UNION ALL
  SELECT c.item_id FROM changed c JOIN lists l ON l.action_index = c.last_edit WHERE l.edit <> ${REMOVE}
) t`;

/**
 * Reads what a LIST says: its items, what it changed, and the present members of its list; the first hundred of each, and
 * how many there are.
 */
export async function readListOf(query: Query, index: number, { type, list_action_index: root }: Row): Promise<Row> {
  const of = Number(root ?? index);
  const [newest] = await query<{ at: number | null; kept: number | null }>(
    `SELECT MAX(l.action_index) AS at,
       (SELECT e.action_index FROM lists e WHERE e.list_action_index = ? AND e.status_id = ${VALID}
          AND EXISTS (SELECT 1 FROM list_items i WHERE i.action_index = e.action_index)
        ORDER BY e.action_index DESC LIMIT 1) AS kept
     FROM lists l WHERE l.list_action_index = ? AND l.status_id = ${VALID}`,
    [of, of]
  );
  const kept = Number(newest?.kept ?? of);
  const read = async (from: string, values: readonly number[], status = 'NULL') => {
    const found = await query<{ item: string | null; status: string | null }>(
      `SELECT ${ITEMS[String(type)] ?? ITEMS['3']} AS item, ${status} AS status FROM ${from} ORDER BY item LIMIT ${MAX_ROWS}`,
      values
    );
    return { found, total: await totalOf(query, found, from, values) };
  };
  const rowsOf = (table: string) => `${table} t WHERE t.action_index = ?`;
  const name = String(type) === '1' ? 'tick' : String(type) === '2' ? 'address' : 'list';
  const [own, edits, current] = [
    await read(rowsOf('list_items'), [index]),
    await read(rowsOf('list_edits'), [index], '(SELECT i.status FROM index_statuses i WHERE i.id = t.status_id)'),
    await read(MEMBERS, [kept, of, kept])
  ];
  return {
    list: own.found.map(({ item }) => item),
    list_total: own.total,
    edits: edits.found.map(({ item, status }) => ({ [name]: item, status })),
    edits_total: edits.total,
    state: {
      edit_resolution_active: true,
      membership_action_index: Math.max(of, Number(newest?.at ?? 0)),
      current_list: current.found.map(({ item }) => item),
      current_list_total: current.total
    }
  };
}
