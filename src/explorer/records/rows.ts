import Type from 'typebox';
import { OrNull } from '../../wire/or-null.ts';
import {
  bigOrNull,
  type Columns,
  flag,
  integerOrNull,
  readRow,
  rowSchema,
  selectList,
  textOrNull
} from '../lists/columns.ts';
import type { Row } from '../lists/list.ts';
import { LISTS } from '../lists/lists.ts';
import { POLL_DETAILS } from '../lists/votes.ts';
import { ACTION_COLUMNS, status } from '../lists/written.ts';
import { readActionIndex } from '../read/subject.ts';
import { optionsIn } from './action.ts';
import { MAX_ROWS, type RecordMethod, readRows, unknown, valueIn } from './record.ts';

/** Returns a record that is the row of a list, by the index of its action. */
function rowOf(what: string, method: string, more: Columns = {}): RecordMethod {
  const list = LISTS[method]!;
  const columns = { ...list.columns, ...more };
  return {
    summary: `One row of \`${method}\`, by its action`,
    tag: 'Actions',
    takes: 'action index',
    schema: Type.Object(rowSchema(columns).properties),
    read: async ({ query, question: { query: name = '' } }) => {
      const [found] = await query<Row>(`SELECT ${selectList(columns)} FROM (SELECT ? AS k) k ${list.joins} LIMIT 1`, [
        readActionIndex(name)
      ]);
      return found ? readRow(columns, found) : unknown(what, name);
    }
  };
}

const permitted = (column: string) =>
  `(SELECT p.${column} FROM contract_permissions p WHERE p.contract_index = t.action_index ORDER BY p.action_index DESC LIMIT 1)`;
/** Fields of a contract that its list leaves out; what only a machine that runs it would know is null. */
const CONTRACT: Columns = {
  code: textOrNull('t.code'),
  code_hash_ok: flag('t.code_hash <=> SHA2(t.code, 256)'),
  permissions: integerOrNull(permitted('permissions')),
  max_take_bps: integerOrNull(permitted('max_take_bps')),
  ...Object.fromEntries(
    ['abi', 'methods', 'constructor_params', 'wallet_url'].map((name) => [name, textOrNull('NULL')])
  ),
  vm_query_enabled: flag('FALSE')
};

const feed = rowOf('bet feed', 'bet_feeds', { tick_id: bigOrNull('t.tick_id'), details: textOrNull('t.details') });
const { action_index, block_index, timestamp, tx_hash } = ACTION_COLUMNS;
/** A change of a feed's status. */
const CHANGE: Columns = {
  action_index: action_index!,
  block_index: block_index!,
  timestamp: timestamp!,
  tx_hash: tx_hash!,
  status,
  synthetic: flag('a.tx_index IS NULL')
};
const CHANGES = `bet_feed_statuses t JOIN actions a ON a.action_index = t.action_index
  WHERE t.feed_action_index = ? ORDER BY t.action_index LIMIT ${MAX_ROWS}`;

const poll = rowOf('poll', 'polls', POLL_DETAILS);

/** Records that a list has as a row, by their methods. */
export const ROW_RECORDS = {
  poll: {
    ...poll,
    schema: Type.Object({ ...poll.schema.properties, options: OrNull(Type.Array(Type.Unknown())) }),
    read: async (asked) => {
      const row = await poll.read(asked);
      return { ...row, options: optionsIn(row['options']) };
    }
  },
  contract: rowOf('contract', 'contracts', CONTRACT),
  bet_feed: {
    ...feed,
    schema: Type.Object({
      ...feed.schema.properties,
      details_json: Type.Unknown(),
      outcome_labels: Type.Null(),
      pools: Type.Array(Type.Unknown()),
      timeline: Type.Array(rowSchema(CHANGE))
    }),
    read: async (asked) => {
      const row = await feed.read(asked);
      const { query } = asked;
      const timeline = await readRows(query, CHANGE, CHANGES, [String(row['action_index'])]);
      return { ...row, details_json: valueIn(row['details']), outcome_labels: null, pools: [], timeline };
    }
  }
} as const satisfies Readonly<Record<string, RecordMethod>>;
