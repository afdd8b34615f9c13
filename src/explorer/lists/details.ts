import Type from 'typebox';
import { OrNull } from '../../wire/or-null.ts';
import type { Query } from '../read/reader.ts';
import { type Columns, readRow, selectList } from './columns.ts';
import type { List, Row } from './list.ts';
import { ACTION_COLUMNS } from './written.ts';

/** The lists that have the rows of a kind of action, where it is not the kind in the plural; the first that has one counts. */
const LISTS_OF: Readonly<Record<string, readonly string[]>> = {
  ADDRESS: ['addresses'],
  BATCH: ['batches'],
  ORDER_MATCH: ['order_matches'],
  SWAP_MATCH: ['swap_matches'],
  VOTE: ['polls', 'votes', 'vote_delegations'],
  DELEGATE: ['delegations', 'contract_delegations'],
  STAKE: ['stakes', 'contract_stakes'],
  UNSTAKE: ['unstakes', 'contract_unstakes'],
  DEPLOY: ['contracts'],
  EXECUTE: ['executions'],
  WITHDRAW: ['withdrawals'],
  ATTEST: ['attestations'],
  ANCHOR: ['anchors'],
  BET: ['bets', 'bet_feeds']
};

/** An action as far as its details hang on it. */
type Action = Readonly<{ action?: unknown; action_index?: unknown }>;

/** Effect of an action, by the first row that it wrote. */
interface Detail {
  readonly method: string;
  readonly row: Row;
}

/** Actions of one page; each statement takes this many keys, so that a connection prepares one. */
const MAX_KEYS = 100;
const KEYS = Array.from({ length: MAX_KEYS }, () => '?').join(', ');
/** Rows of the actions of a page; actions without `first` have few. */
const MAX_ROWS = 1_000;
/** Fields of lists alone: texts that may be long, and values that cost more than a row. */
const LEFT_OUT = new Set([
  'state',
  'order_status',
  'swap_status',
  'escrow_remaining',
  'payout_legs',
  'pairs_json',
  'sigs_json',
  'payload',
  'encryption_key',
  'encrypted_message',
  'plaintext_message',
  'response_payload',
  'validator_signatures'
]);

/** Returns the method of the list that a kind of action is first looked for in. */
export const pluralOf = (kind: string): string => LISTS_OF[kind]?.[0] ?? `${kind.toLowerCase()}s`;

/** Returns the methods of the lists that have the rows of a kind of action. */
export const listsOf = (lists: Readonly<Record<string, List>>, kind: string): readonly string[] =>
  (LISTS_OF[kind] ?? [pluralOf(kind)]).filter((method) => method in lists);

/**
 * Reads the first rows of so many actions, at most 100, by their indexes: one statement for each kind of action among
 * them.
 *
 * @param columnsOf which columns of a list are wanted
 */
async function readFirstRows(
  query: Query,
  lists: Readonly<Record<string, List>>,
  actions: readonly Action[],
  columnsOf: (list: List) => Columns
): Promise<ReadonlyMap<string, Detail>> {
  const found = new Map<string, Detail>();
  for (const [kind, same] of Map.groupBy(actions, ({ action }) => String(action)))
    for (const method of listsOf(lists, kind)) {
      const list = lists[method]!;
      const keys = same.map(({ action_index }) => Number(action_index)).filter((key) => !found.has(String(key)));
      if (keys.length === 0) break;
      const columns = columnsOf(list);
      const within = list.within.map((column) => `, ${column}`).join('');
      const rows = await query<Row>(
        `SELECT ${selectList(columns)}, k.k AS row_key FROM (SELECT x.action_index AS k FROM actions x
           WHERE x.action_index IN (${KEYS})) k ${list.joins}${list.first ? ` WHERE ${list.first}` : ''}
         ORDER BY k.k${within} LIMIT ${MAX_ROWS}`,
        Array.from({ length: MAX_KEYS }, (_, place) => keys[place] ?? keys[0]!)
      );
      for (const row of rows) {
        const key = String(row['row_key']);
        if (!found.has(key)) found.set(key, { method, row: readRow(columns, row) });
      }
    }
  return found;
}

/** By list: an action's own columns, without those that every action has. Lists of many actions show these. */
const shortOf = new WeakMap<List, Columns>();
function shortColumns(list: List): Columns {
  const known = shortOf.get(list);
  if (known) return known;
  const short = Object.fromEntries(
    Object.entries(list.columns).filter(
      ([name]) => !(LEFT_OUT.has(name) || (name in ACTION_COLUMNS && name !== 'source'))
    )
  );
  shortOf.set(list, short);
  return short;
}

/** Kind of a VOTE, by the list that contains it. */
export const VOTE_KINDS: Readonly<Record<string, string>> = {
  polls: 'poll',
  votes: 'vote',
  vote_delegations: 'delegation'
};

/** Fields that each action of a kind has, null where the table that has its rows lacks them. */
const SHARED: Readonly<Record<string, readonly string[]>> = {
  STAKE: ['target_contract_index', 'tick'],
  VOTE: ['tick']
};

/** Returns names as fields without a value. */
export const nullFields = (names: Iterable<string>): Row => Object.fromEntries([...names].map((name) => [name, null]));

/** Returns the fields that each action of a kind has, without values. */
export const sharedFields = (kind: unknown): Row => nullFields(SHARED[String(kind)] ?? []);

const SCHEMA = {
  status: OrNull(Type.String(), { description: 'of its first row' }),
  details: Type.Unsafe<Row>({ type: 'object', description: 'the fields of its kind, of its first row' })
};

/** Actions with their statuses and details. */
export function withDetails(lists: Readonly<Record<string, List>>): NonNullable<List['more']> {
  return {
    schema: SCHEMA,
    read: async (query, actions) => {
      const found = await readFirstRows(query, lists, actions, shortColumns);
      return actions.map((action) => {
        const { method = '', row } = found.get(String(action['action_index'])) ?? {};
        const { status = null, ...own } = row ?? {};
        const details = {
          action_format: action['action_format'] ?? null,
          action_index: action['action_index'],
          source: action['source'] ?? null,
          ...sharedFields(action['action']),
          ...own,
          ...(method in VOTE_KINDS ? { vote_kind: VOTE_KINDS[method] } : {})
        };
        return { ...action, status, details };
      });
    }
  };
}
