import Type from 'typebox';
import { bigOrNull, type Columns, rowSchema, sumOrNull, ticker } from '../lists/columns.ts';
import type { Query } from '../read/reader.ts';
import { findAddress, spellAddress } from '../read/subject.ts';
import { type RecordMethod, type RecordRead, readRows } from './record.ts';

/** Actions whose changes are read, and rows of these. */
const [MOST_ACTIONS, MOST_CHANGES] = [100, 300];
/** Rows of an address in escrow that are added up. */
const MOST_ESCROWS = 10_000;
const DECIMAL = 'DECIMAL(58,18)';
const KEYS = Array.from({ length: MOST_ACTIONS }, () => '?').join(', ');
/** Records for pages alone: no path leads to them. */
const OF_PAGES = { tag: 'State', paths: [], takes: 'address' } as const;

const SUM: Columns = { tick: ticker('t.tick_id'), amount: sumOrNull('t.amount') };
const CHANGE: Columns = { action_index: bigOrNull('t.action_index'), ...SUM };

async function idOf({ query, question, databases }: RecordRead): Promise<number> {
  const name = await spellAddress(query, question.query ?? '', databases.network.addresses);
  return (await findAddress(query, name)) ?? -1;
}

/** Returns SQL for what a table added to an address, or took from it, by some actions. */
const changesIn = (table: string, sign: string) =>
  `SELECT m.action_index, m.tick_id, ${sign}CAST(m.amount AS ${DECIMAL}) AS amount FROM ${table} m
   WHERE m.address_id = ? AND m.action_index IN (${KEYS})`;

/** Reads the changes of a balance by actions, below zero where they took something. */
async function readChanges(query: Query, id: number, actions: readonly number[]) {
  if (actions.length === 0) return [];
  const keys = Array.from({ length: MOST_ACTIONS }, (_, place) => actions[place] ?? actions[0]!);
  const from = `(SELECT c.action_index, c.tick_id, SUM(c.amount) AS amount
    FROM (${changesIn('credits', '')} UNION ALL ${changesIn('debits', '-')}) c
    GROUP BY c.action_index, c.tick_id HAVING SUM(c.amount) <> 0 LIMIT ${MOST_CHANGES}) t`;
  return await readRows(query, CHANGE, from, [id, ...keys, id, ...keys]);
}

export const changesOf: RecordMethod = {
  ...OF_PAGES,
  summary: 'Changes of the balances of an address by some actions; a refused action changes nothing',
  parameters: ['actions'],
  schema: Type.Object({ changes: Type.Array(rowSchema(CHANGE)) }),
  read: async (asked) => {
    const named = (asked.question.parameters['actions'] ?? '').split(',').filter((index) => /^\d{1,15}$/.test(index));
    return { changes: await readChanges(asked.query, await idOf(asked), named.slice(0, MOST_ACTIONS).map(Number)) };
  }
};

export const escrowOf: RecordMethod = {
  ...OF_PAGES,
  summary: 'Amounts of an address in escrow, by token; null where it has too many rows to add up',
  schema: Type.Object({ escrow: Type.Union([Type.Null(), Type.Array(rowSchema(SUM))]) }),
  read: async (asked) => {
    const id = await idOf(asked);
    const rows = `SELECT e.tick_id, e.amount FROM escrows e WHERE e.address_id = ? LIMIT ${MOST_ESCROWS + 1}`;
    const [length] = await asked.query<{ count: number }>(`SELECT COUNT(*) AS count FROM (${rows}) r`, [id]);
    if (Number(length?.count ?? 0) > MOST_ESCROWS) return { escrow: null };
    const from = `(SELECT r.tick_id, SUM(CAST(r.amount AS ${DECIMAL})) AS amount FROM (${rows}) r
      GROUP BY r.tick_id HAVING SUM(CAST(r.amount AS ${DECIMAL})) > 0) t`;
    return { escrow: await readRows(asked.query, SUM, from, [id]) };
  }
};
