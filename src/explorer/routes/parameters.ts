import Type from 'typebox';
import { nearestWithin } from '../../config/nearest.ts';
import { PlatformError } from '../../errors.ts';
import { wholeNumber } from '../../service/schema/parameters.ts';
import type { List } from '../lists/list.ts';
import type { Question } from '../question.ts';

export const CoinSchema = Type.String({ description: 'public code of the network: BTC, TLTC, RDOGE' });
/** Returns the schema of a query, as long as the longest name of a token. */
export const QuerySchema = (takes: string) => Type.String({ minLength: 1, maxLength: 250, description: takes });

const MOST_ROWS = 100;
/** Letters that a slip of a name adds, drops or changes. */
const MOST_EDITS = 1;
/** Rows before a page; a cursor goes deeper. */
const MAX_OFFSET = 1_000_000;
const MAX_DIGITS = 15;

/** Returns a schema that takes any text: what is no such number counts as left out. */
const lenient = (description: string) => Type.Optional(Type.String({ maxLength: 1_024, description }));

const pagingOf = ({ most, usual, order }: { most: number; usual: number; order: 'asc' | 'desc' }) => ({
  page: lenient('a whole number from 1; default 1'),
  limit: lenient(`rows: 1 to ${most}; default ${usual}; more counts as ${most}, less as 1`),
  sortorder: lenient(`asc or desc; default ${order}`),
  cursor: lenient('`next` of the page before, instead of a page'),
  start: lenient('rows before the page, a multiple of its rows, instead of a page'),
  length: lenient('the same as limit, where there is none; below 1: the most')
});

const PAST = {
  height: Type.Optional(
    wholeNumber({
      min: 0,
      note: 'the list as it was after this block; supply and price are null; its pages fit together while blocks arrive'
    })
  )
};

/** The query string of a list. */
export const pagingSchema = ({
  parameters = {},
  past,
  most = MOST_ROWS,
  usualRows = most,
  usualOrder = 'desc'
}: Paged) => {
  const own = Object.keys(parameters).map((name) => [name, Type.Optional(QuerySchema('what its actions have'))]);
  return Type.Object({
    ...pagingOf({ most, usual: usualRows, order: usualOrder }),
    ...(past ? PAST : {}),
    ...Object.fromEntries(own)
  });
};

/** Paging of a list. */
export type Paged = Partial<Pick<List, 'past' | 'most' | 'usualOrder'>> & {
  /** Rows of a page without a limit; default the most. */
  readonly usualRows?: number;
  /** Query parameters by their names. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** All of them may be sent; else one. */
  readonly areAll?: boolean;
};
type Paging = Readonly<Partial<Record<string, string>>>;
type PathParts = Readonly<Record<string, string> & { query?: string; type?: string; coin?: string }>;

/** Reads a list's path and query string as a question. @throws {PlatformError} REQUEST_INVALID */
export function readQuestion(
  method: string,
  list: Paged | undefined,
  { query, type, coin: _, ...named }: PathParts,
  paging: Paging
): Omit<Question, 'format'> {
  checkNames(method, list, paging);
  const { page, sortorder, cursor, height } = paging;
  const { most = MOST_ROWS, usualRows = most, usualOrder = 'desc' } = list ?? {};
  const limit = readLimit(paging, usualRows, most);
  const question = {
    method,
    ...(query === undefined ? {} : { query }),
    ...(type === undefined ? {} : { type }),
    ...(cursor === undefined ? {} : { cursor }),
    ...(height === undefined || !list?.past ? {} : { height: Number(height) }),
    page: readWithin(page, 1, Number.MAX_SAFE_INTEGER) + readStart(paging, limit) / limit,
    limit,
    order: readOrder(sortorder) ?? usualOrder,
    parameters: { ...readParameters(list ?? {}, paging), ...named }
  };
  if (page !== undefined && cursor !== undefined)
    throw new PlatformError('REQUEST_INVALID', { reason: 'send a page or a cursor, not both' });
  if ((question.page - 1) * question.limit > MAX_OFFSET) {
    const reason = `page ${question.page} begins behind row ${MAX_OFFSET}: follow \`next\` of earlier pages, which goes to any depth`;
    throw new PlatformError('REQUEST_INVALID', { reason });
  }
  return question;
}

/** Reads the rows of a page, which some clients call its length. */
function readLimit({ limit, length }: Paging, usual: number, most: number): number {
  return limit === undefined && /^(?:0+|-\d+)$/.test(length ?? '') ? most : readWithin(limit ?? length, usual, most);
}

/** Reads the rows before a page, of a client that counts no pages. @throws {PlatformError} REQUEST_INVALID */
function readStart({ start, page, cursor }: Paging, limit: number): number {
  if (start === undefined || !/^\d+$/.test(start) || Number(start) === 0) return 0;
  if (page !== undefined || cursor !== undefined)
    throw new PlatformError('REQUEST_INVALID', { reason: 'send a start, a page or a cursor, not several of them' });
  if (Number(start) % limit === 0) return Number(start);
  throw new PlatformError('REQUEST_INVALID', { reason: `start must be a multiple of the page's ${limit} rows` });
}

/** Reads a whole number from 1 to a most; what is no number counts as left out. */
function readWithin(text: string | undefined, usual: number, most: number): number {
  if (text === undefined || !/^-?\d+$/.test(text)) return usual;
  return text.length > MAX_DIGITS ? most : Math.min(Math.max(Number(text), 1), most);
}

const readOrder = (text: string | undefined): 'asc' | 'desc' | undefined => {
  const word = text?.toLowerCase();
  return word === 'asc' || word === 'desc' ? word : undefined;
};

/**
 * Refuses a parameter that is probably a slip of one that changes the answer; others are left alone, such as those that a browser's
 * tools add.
 *
 * @throws {PlatformError} REQUEST_INVALID
 */
function checkNames(method: string, list: Paged | undefined, given: Paging): void {
  if (given['height'] !== undefined && !list?.past)
    throw new PlatformError('REQUEST_INVALID', { reason: `${method} has no past values: leave height out` });
  if (!list) return;
  const known = Object.keys(pagingSchema(list).properties);
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue;
    const meant = nearestWithin(name.replace(/\[.*/s, ''), known, MOST_EDITS);
    if (meant === undefined) continue;
    const reason = `unknown parameter ${JSON.stringify(name.slice(0, 80))}: did you mean ${meant}?`;
    throw new PlatformError('REQUEST_INVALID', { reason });
  }
}

function readParameters({ parameters = {}, areAll = false }: Paged, paging: Paging): Record<string, string> {
  const given = Object.keys(parameters).flatMap((name) => {
    const text = paging[name];
    return text === undefined ? [] : [[name, text] as const];
  });
  if (given.length > 1 && !areAll)
    throw new PlatformError('REQUEST_INVALID', {
      reason: `send one of ${given.map(([name]) => name).join(', ')}, not all`
    });
  return Object.fromEntries(given);
}
