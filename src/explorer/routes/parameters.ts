import Type from 'typebox';
import { PlatformError } from '../../errors.ts';
import { oneOf, wholeNumber } from '../../service/parameters.ts';
import type { List } from '../lists/list.ts';
import type { Question } from '../question.ts';

export const CoinSchema = Type.String({ description: 'public code of the network: BTC, TLTC, RDOGE' });
/** As long as the longest name of a token. */
export const QuerySchema = (takes: string) => Type.String({ minLength: 1, maxLength: 250, description: takes });

const DEFAULT_LIMIT = 10;
/** Rows before a page; a cursor goes deeper. */
const MAX_OFFSET = 1_000_000;

const PAGING = {
  page: Type.Optional(wholeNumber({ min: 1, digits: 6, default: 1 })),
  limit: Type.Optional(
    Type.String({
      pattern: '^(?:[1-9]\\d?|100)$',
      description: `a whole number from 1 to 100; default ${DEFAULT_LIMIT}`
    })
  ),
  sortorder: Type.Optional(oneOf(['asc', 'desc'], '; default desc, the newest first')),
  cursor: Type.Optional(
    Type.String({ minLength: 1, maxLength: 1_024, description: '`next` of the page before, instead of a page' })
  )
};

const PAST = {
  height: Type.Optional(
    wholeNumber({
      min: 0,
      note: 'the list as it was after this block; supply and price are null; its pages fit together while blocks arrive'
    })
  )
};

/** The query string of a list. */
export const pagingSchema = ({ parameters = {}, past }: List) => {
  const own = Object.keys(parameters).map((name) => [name, Type.Optional(QuerySchema('what its actions have'))]);
  return Type.Object({ ...PAGING, ...(past ? PAST : {}), ...Object.fromEntries(own) });
};

type Paging = Readonly<Partial<Record<string, string>>>;
type PathParts = Readonly<{ query?: string; type?: string }>;

/** A list's path and query string as a question. @throws {PlatformError} REQUEST_INVALID */
export function readQuestion(
  method: string,
  list: List | undefined,
  path: PathParts,
  paging: Paging
): Omit<Question, 'format'> {
  const { page, limit, sortorder, cursor, height } = paging;
  const question = {
    method,
    ...(path.query === undefined ? {} : { query: path.query }),
    ...(path.type === undefined ? {} : { type: path.type }),
    ...(cursor === undefined ? {} : { cursor }),
    ...(height === undefined || !list?.past ? {} : { height: Number(height) }),
    ...({
      page: Number(page ?? 1),
      limit: Number(limit ?? DEFAULT_LIMIT),
      order: sortorder === 'asc' ? 'asc' : 'desc'
    } as const),
    parameters: readParameters(list, paging)
  };
  if (height !== undefined && list && !list.past)
    throw new PlatformError('REQUEST_INVALID', { reason: `${method} has no past values: leave height out` });
  if (page !== undefined && cursor !== undefined)
    throw new PlatformError('REQUEST_INVALID', { reason: 'send a page or a cursor, not both' });
  if ((question.page - 1) * question.limit > MAX_OFFSET) {
    const reason = `page ${page} begins behind row ${MAX_OFFSET}: follow \`next\` of earlier pages, which goes to any depth`;
    throw new PlatformError('REQUEST_INVALID', { reason });
  }
  return question;
}

function readParameters({ parameters = {} }: Pick<List, 'parameters'> = {}, paging: Paging): Record<string, string> {
  const given = Object.keys(parameters).flatMap((name) => {
    const text = paging[name];
    return text === undefined ? [] : [[name, text] as const];
  });
  if (given.length > 1)
    throw new PlatformError('REQUEST_INVALID', {
      reason: `send one of ${given.map(([name]) => name).join(', ')}, not all`
    });
  return Object.fromEntries(given);
}
