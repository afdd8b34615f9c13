import type { ChainNetwork } from '../../coin/chains.ts';
import { hasCode } from '../../errors.ts';
import type { ExplorerReport } from '../report.ts';
import type { Html } from './html.ts';
import type { LinkTo, Row } from './parts.ts';

/** Question of a page: the name in the path of the method's route, or its parameters. */
interface PageQuestion {
  readonly query?: string;
  readonly type?: string;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly cursor?: string;
  readonly limit?: number;
}

/** Reads a method's answer for a page. @throws {PlatformError} as the route of the method does */
export type ReadAnswer = (
  method: string,
  asked?: PageQuestion
) => Promise<{
  readonly data: unknown;
  readonly next: string | null;
  /** Whether a list is in its own order; one that is too long for that is in the order of its keys. */
  readonly isRanked: boolean;
}>;

/** Title and content of a page. */
export interface View {
  readonly title: string;
  readonly body: Html;
}

/** Input of a page: the names in its path, the cursor of its list, and functions that read answers and make links. */
export interface Asked {
  readonly name: string;
  /** The second name of a path that has two. */
  readonly other: string;
  readonly cursor?: string;
  readonly network: ChainNetwork;
  /** The last report of the network's actor; null before the first. */
  readonly report: ExplorerReport | null;
  readonly read: ReadAnswer;
  readonly linkTo: LinkTo;
}

export const rowsOf = (data: unknown) => data as readonly Row[];
export const rowOf = (data: unknown) => data as Row;
export const textOf = (value: unknown) => (value === null || value === undefined ? null : String(value));

/** Returns a question's cursor, as far as it has one. */
export const after = (cursor: string | undefined) => (cursor === undefined ? {} : { cursor });

/** Returns what a read finds that a page can do without; null where its table or database is not there. */
async function orNull<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading;
  } catch (caught) {
    if (hasCode(caught, 'TABLE_LACKING') || hasCode(caught, 'DATABASE_UNAVAILABLE')) return null;
    throw caught;
  }
}

/** Reads an answer that a page can do without; null where its table or database is not there. */
export const readOptional = (read: ReadAnswer, method: string, asked: PageQuestion) => orNull(read(method, asked));

/** Returns the rows in a field of an answer that a page can do without; null where its table is not there. */
export async function readRowsIn(
  read: ReadAnswer,
  method: string,
  field: string,
  asked: PageQuestion
): Promise<readonly Row[] | null> {
  const found = await readOptional(read, method, asked);
  return found && rowsOf(rowOf(found.data)[field] ?? []);
}

/** Returns the number of blocks from one to the newest, both counted. */
export async function confirmationsOf(read: ReadAnswer, height: unknown): Promise<string | null> {
  const [newest] = rowsOf((await read('blocks', { limit: 1 })).data);
  if (newest === undefined || height === null || height === undefined) return null;
  return String(Math.max(0, Number(newest['block_index']) - Number(height) + 1));
}
