import Type from 'typebox';
import { type Columns, readRow, rowSchema, selectList } from '../lists/columns.ts';
import type { Row } from '../lists/list.ts';
import { LISTS } from '../lists/lists.ts';
import { POLL_DETAILS } from '../lists/votes.ts';
import { readActionIndex } from '../read/subject.ts';
import { optionsIn } from './action.ts';
import { type RecordMethod, unknown } from './record.ts';

/** A record that is the row of a list, by the index of its action. */
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

const poll = rowOf('poll', 'polls', POLL_DETAILS);

/** Records that a list has as a row, by their methods. */
export const ROW_RECORDS = {
  poll: {
    ...poll,
    schema: Type.Object({ ...poll.schema.properties, options: Type.Union([Type.Array(Type.Unknown()), Type.Null()]) }),
    read: async (asked) => {
      const row = await poll.read(asked);
      return { ...row, options: optionsIn(row['options']) };
    }
  },
  contract: rowOf('contract', 'contracts'),
  bet_feed: rowOf('bet feed', 'bet_feeds'),
  xcall: rowOf('call', 'xcalls'),
  attestation: rowOf('attestation', 'attestations'),
  anchor: rowOf('anchor', 'anchors')
} as const satisfies Readonly<Record<string, RecordMethod>>;
