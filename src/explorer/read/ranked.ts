import { PlatformError } from '../../errors.ts';
import { readRow, selectList } from '../lists/columns.ts';
import type { List } from '../lists/list.ts';
import { boundWays, fill, type Page, type ReadPage, type Value } from './list-reader.ts';
import type { Query } from './reader.ts';

/** Rows that are put in order for one page: some half a second. */
const MAX_RANKED = 200_000;
/** Separator of the rank and the key of a row in a cursor; a rank may be any text, a key is a number. */
const BEFORE_KEY = '\u0000';

/**
 * Reads a page of a list that is in the order of its `rank`, for which no index is: all rows of the filter are looked at. Where there
 * are too many, the remedy is a past height, by which pages come in the order of their keys.
 *
 * @throws {PlatformError} REQUEST_INVALID
 */
export async function readRanked(query: Query, list: List, page: Page): Promise<ReadPage> {
  const { filter, value, limit, offset, cursor, isDescending } = page;
  const [way] = boundWays(filter);
  const { by: rank, bound } = list.rank!;
  const { from, key, where } = way!;
  await checkLength(query, page);
  const direction = isDescending ? 'DESC' : 'ASC';
  const beyond = isDescending ? '<' : '>';
  const after = cursor ? `AND (${rank} ${beyond} ${bound} OR (${rank} = ${bound} AND ${key} ${beyond} ?))` : '';
  const [ranked = '', last = ''] = cursor?.key.split(BEFORE_KEY) ?? [];
  const values: Value[] = [...fill(where, value), ...(cursor ? [ranked, ranked, Number(last)] : [])];
  const found = await query<Record<string, unknown>>(
    `SELECT ${selectList(list.columns)}, k.k AS row_key, CAST(k.ranked AS CHAR) AS ranked
     FROM (SELECT ${key} AS k, ${rank} AS ranked FROM ${from} WHERE ${where} ${after}
       ORDER BY ranked ${direction}, k ${direction} LIMIT ? OFFSET ?) k ${list.joins}
     WHERE ${way!.rows} ORDER BY k.ranked ${direction}, k.k ${direction}`,
    [...values, limit + 1, offset, ...fill(way!.rows, value)]
  );
  const kept = found.slice(0, limit);
  const end = kept.at(-1);
  const isMore = found.length > kept.length && end !== undefined;
  return {
    data: kept.map((row) => readRow(list.columns, row)),
    end: isMore ? { key: `${String(end['ranked'])}${BEFORE_KEY}${String(end['row_key'])}`, given: 1 } : null
  };
}

async function checkLength(query: Query, { filter, value }: Page): Promise<void> {
  const [way] = boundWays(filter);
  const [found] = await query<{ rows: number }>(
    `SELECT COUNT(*) AS \`rows\` FROM (SELECT 1 FROM ${way!.from} WHERE ${way!.where} LIMIT ${MAX_RANKED + 1}) r`,
    fill(way!.where, value)
  );
  if (Number(found?.rows ?? 0) <= MAX_RANKED) return;
  const reason = `there are more than ${MAX_RANKED} rows to put in order: send the height of a block, and follow \`next\``;
  throw new PlatformError('REQUEST_INVALID', { reason });
}
