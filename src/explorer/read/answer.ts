import { PlatformError } from '../../errors.ts';
import type { Filter, List } from '../lists/list.ts';
import { LISTS } from '../lists/lists.ts';
import type { Question, Reply } from '../question.ts';
import type { Databases } from '../records/record.ts';
import { RECORDS } from '../records/records.ts';
import { writeCsv } from './csv.ts';
import { markOf } from './cursor.ts';
import { fill, type Page, type ReadPage, readPage } from './list-reader.ts';
import { readNamed, wantedNames } from './named-tokens.ts';
import { checkHeight, readPast } from './past.ts';
import { readRanked } from './ranked.ts';
import type { Query } from './reader.ts';
import { findAddress, readSubject } from './subject.ts';
import { checkStanding, findBlock, type Tip } from './tip.ts';

/** Reads what a question asks for, in one snapshot. @throws {PlatformError} by what was asked, or DATABASE_UNAVAILABLE */
export async function answerQuestion(databases: Databases, question: Question): Promise<Reply> {
  const began = performance.now();
  const list = LISTS[question.method];
  if (!list) return await answerRecord(databases, question, began);
  if (list.database === 'indexer') await databases.hints.refresh();
  if (question.queries) return await answerEach(databases, list, question, question.queries);
  const read = async (query: Query, tip: Tip | null) =>
    await readList({ query, list, question, tip, began, databases });
  if (list.database === 'indexer') return await databases.indexer(read);
  const tip = await databases.indexer(async (_, newest) => newest);
  return await databases.decoder((query) => read(query, tip));
}

/** Reads the same list for each of several texts, in one snapshot. */
async function answerEach(
  databases: Databases,
  list: List,
  question: Question,
  queries: readonly string[]
): Promise<Reply> {
  return await databases.indexer(async (query, tip) => {
    const bodies: string[] = [];
    for (const each of queries) {
      const asked = { ...question, query: each };
      bodies.push((await readList({ query, list, question: asked, tip, began: performance.now(), databases })).body);
    }
    const body = `{"data":[${bodies.join(',')}]}`;
    return { body, ...placeOf(tip), isSettled: false, isProvisional: false, next: null };
  });
}

async function answerRecord(databases: Databases, question: Question, began: number): Promise<Reply> {
  const record = RECORDS[question.method];
  if (!record) throw new PlatformError('RECORD_UNKNOWN', { reason: `there is no method ${question.method}` });
  return await databases.indexer(async (query, tip) => {
    const names = () => databases.names.at(query, tip);
    const data = await record.read({ query, tip, names, question, databases });
    const height = record.isSettled ? Number(data['block_index']) : Number.NaN;
    const isSettled = tip !== null && height <= tip.height - databases.network.undoDepth;
    return {
      body: JSON.stringify({ ...data, runtime: runtimeSince(began) }),
      ...placeOf(tip),
      isSettled,
      isProvisional: false,
      next: null
    };
  });
}

const runtimeSince = (began: number) => `${Math.round(performance.now() - began)}ms`;
const placeOf = (tip: Tip | null) => ({ height: tip?.height ?? null, mark: tip?.mark ?? null });

interface ListRead {
  readonly query: Query;
  readonly list: List;
  readonly question: Question;
  readonly tip: Tip | null;
  /** Milliseconds of the process's clock. */
  readonly began: number;
  readonly databases: Databases;
}

async function readList(asked: ListRead): Promise<Reply> {
  const { query, list, question, tip, began, databases } = asked;
  const { undoDepth } = databases.network;
  const { filter: plain, text } = findFilter(list, question);
  const filter = list.database === 'indexer' ? databases.hints.of(plain) : plain;
  const mark = () => markOf(question, text);
  const cursor = question.cursor === undefined ? null : databases.cursors.read(question.cursor, mark());
  if (cursor && list.database === 'indexer') await checkStanding(query, cursor.block);
  if (question.height !== undefined) await checkHeight(query, question.height, tip);
  const names = () => databases.names.at(query, tip);
  const isKnown = !list.isElsewhere;
  const value = isKnown ? await readSubject(query, names, filter.takes, text, databases.network.addresses) : null;
  const { limit, page, format } = question;
  const wanted = {
    filter,
    limit,
    cursor,
    value: value ?? '',
    offset: cursor ? 0 : (page - 1) * limit,
    isDescending: question.order === 'desc'
  };
  const found = value === null ? NO_PAGE : await readRows(asked, wanted);
  const { end } = found;
  const data = list.more && found.data.length > 0 ? await list.more.read(query, found.data) : found.data;
  const isPast = question.height !== undefined;
  const beside = list.beside ? await list.beside.read(query, value, { text, isPast }) : {};
  const isCounted = format === 'json' && value !== null;
  const total = value === null ? 0 : isCounted ? (found.total ?? (await readTotal(asked, wanted, found))) : null;
  // The pages of a past block go on as long as it stands, whatever comes above it.
  const begun = question.height === undefined ? tip : await findBlock(query, question.height);
  const next = end && begun ? databases.cursors.write(mark(), begun, end) : null;
  const body =
    format === 'csv'
      ? writeCsv(Object.keys(list.columns), found.data)
      : JSON.stringify({
          data,
          total,
          ...beside,
          runtime: runtimeSince(began),
          next
        });
  // Of several pages of now none is: a cursor ends with the tip that it was made at.
  const height =
    question.height ?? (filter.takes === 'height' && list.isSettled && !list.hasLaterFields ? Number(value) : null);
  const isSettled =
    height !== null &&
    tip !== null &&
    height <= tip.height - undoDepth &&
    (next === null || question.height !== undefined);
  const isProvisional = isCounted && total === null && isCountable(list);
  return { body, ...placeOf(tip), isSettled: isSettled && !isProvisional, isProvisional, next };
}

const NO_PAGE: ReadPage & { readonly total?: number } = { data: [], end: null };
/** In place of `{query}` where a client has none. */
const ABSENT = 'null';

async function readRows(asked: ListRead, page: Page): Promise<typeof NO_PAGE> {
  const { query, list, tip, databases } = asked;
  const { height } = asked.question;
  if (list.rank !== undefined && height === undefined) return await readRanked(query, list, page);
  const wanted = wantedNames(page);
  if (wanted) return await readNamed(query, list, page, await databases.names.at(query, tip), wanted);
  if (height === undefined) return await readPage(query, list, page);
  const { value, cursor, ...paging } = page;
  const id = page.filter.takes === 'address' ? await findAddress(query, String(value)) : Number(value);
  if (id === null) return NO_PAGE;
  const by = list.past ?? 'address_id';
  return await readPast(query, { ...paging, by, id, height, after: cursor && Number(cursor.key) });
}

const isCountable = ({ database, textKeys }: List) => database === 'indexer' && !textKeys;

/** Returns the number of rows of a list: by its last page, by numbers without gaps, or by a count; null: not counted yet. */
async function readTotal(
  { query, list, question: { method, type, parameters, height }, tip, databases }: ListRead,
  { filter, value, cursor, offset }: Page,
  { data, end }: ReadPage
): Promise<number | null> {
  if (!cursor && end === null && (offset === 0 || data.length > 0)) return offset + data.length;
  const isUnknown =
    filter.takes === 'address' && data.length === 0 && (await findAddress(query, String(value))) === null;
  if (isUnknown) return 0;
  if (filter.total !== undefined) {
    const [found] = await query<{ total: number | null }>(filter.total, fill(filter.total, value));
    return Number(found?.total ?? 0);
  }
  if (tip === null || height !== undefined || !isCountable(list)) return null;
  const name = JSON.stringify([method, type ?? null, Object.keys(parameters), value]);
  return await databases.totals.read(query, { list, filter, value, name }, tip);
}

/** Returns the filter that a question names, and the text that it takes. */
function findFilter(
  { types, usual, all, parameters = {} }: List,
  question: Question
): { filter: Filter; text: string } {
  if (question.query !== undefined && !(question.query === ABSENT && all)) {
    const filter = types[question.type ?? usual ?? ''];
    if (filter) return { filter, text: question.query };
  }
  const [name, text] = Object.entries(question.parameters)[0] ?? [];
  if (name !== undefined && parameters[name]) return { filter: parameters[name], text: text! };
  if (all) return { filter: all, text: '' };
  const reason = `${question.method} needs {query} and one of these types: ${Object.keys(types).join(', ')}`;
  throw new PlatformError('PARAMETER_MISSING', { reason });
}
