import Type from 'typebox';
import { canonicalAddress } from '../../coin/script/address.ts';
import { OrNull } from '../../wire/or-null.ts';
import type { Query } from '../read/reader.ts';
import { findAddress, type ReadNames, readHash, spellAddress } from '../read/subject.ts';
import { findHeight } from './chain.ts';
import type { RecordMethod, RecordRead } from './record.ts';

/** Facts of the chain come first: anybody may name a token like a height or a hash. */
const FOUND = ['transaction', 'block', 'action', 'address', 'token'] as const;
/** Kinds that existing clients ask for besides; no key finds the words of messages. */
const ASKED = [...FOUND, 'broadcast'] as const;

const FoundSchema = Type.Object(
  Object.fromEntries(
    ['address', 'hash', 'tick', 'description'].map((name) => [name, Type.Optional(OrNull(Type.String()))])
  )
);

export const search: RecordMethod = {
  summary: 'Finds what a text names: a transaction, a block, an action, an address, tokens that begin so',
  tag: 'State',
  takes: 'text',
  types: ASKED,
  isPaged: { usualRows: 10 },
  schema: Type.Object({
    data: Type.Array(FoundSchema, { description: 'the same, in a form of their own each' }),
    total: Type.Integer(),
    totals: Type.Object({
      addresses: Type.Integer(),
      tokens: Type.Integer(),
      transactions: Type.Integer(),
      broadcasts: Type.Integer()
    }),
    results: Type.Array(
      Type.Object({
        type: Type.Unsafe<string>({ type: 'string', enum: [...FOUND] }),
        value: Type.String({ description: 'what the method of that name takes' })
      })
    ),
    unused_address: OrNull(Type.String(), {
      description: 'the text as an address of the network that has done nothing yet'
    })
  }),
  read: async (asked) => {
    const { query: name = '', type } = asked.question;
    const results: { type: string; value: string }[] = [];
    for (const each of FOUND.filter((found) => type === undefined || found === type))
      for (const value of await FINDERS[each](asked, name)) results.push({ type: each, value });
    const address = canonicalAddress(name, asked.databases.network.addresses) ?? null;
    const kept = results.slice(0, asked.question.limit);
    return {
      ...(await inUse(asked.query, kept)),
      results: kept,
      unused_address: results.length === 0 ? address : null
    };
  }
};

interface Found {
  readonly type: string;
  readonly value: string;
}

/** Returns results in the form that existing clients read: the fields of each kind. */
async function inUse(query: Query, results: readonly Found[]) {
  const described = await describe(
    query,
    results.flatMap(({ type, value }) => (type === 'token' ? [value] : []))
  );
  const data: Record<string, string | null>[] = [];
  for (const { type, value } of results) {
    if (type === 'address') data.push({ address: value });
    if (type === 'transaction') data.push({ hash: value });
    if (type === 'token') data.push({ tick: value, description: described.get(value) ?? null });
  }
  const count = (wanted: string) => results.filter(({ type }) => type === wanted).length;
  const totals = {
    addresses: count('address'),
    tokens: count('token'),
    transactions: count('transaction'),
    broadcasts: 0
  };
  return { data, total: data.length, totals };
}

/** Reads the descriptions of tokens by their tickers, in one statement, which a connection prepares once. */
async function describe(query: Query, ticks: readonly string[]): Promise<ReadonlyMap<string, string | null>> {
  if (ticks.length === 0) return new Map();
  const found = await query<{ tick: string; description: string | null }>(
    `SELECT i.tick, t.description FROM index_tickers i JOIN tokens t ON t.tick_id = i.id
     WHERE i.tick IN (${Array.from({ length: MAX_TICKERS }, () => '?').join(', ')})`,
    Array.from({ length: MAX_TICKERS }, (_, place) => ticks[place] ?? ticks[0]!)
  );
  return new Map(found.map(({ tick, description }) => [tick, description]));
}

type Finder = (asked: RecordRead, name: string) => Promise<readonly string[]>;

const FINDERS: Readonly<Record<(typeof FOUND)[number], Finder>> = {
  address: findAddresses,
  token: ({ names, question: { limit } }, name) => findTickers(names, name, limit),
  transaction: ({ query }, name) =>
    exists(query, 'transactions x JOIN index_transactions i ON i.id = x.tx_hash_id', 'i.hash', readHash(name)),
  block: findBlocks,
  action: ({ query }, name) => existsNumber(query, 'actions', 'action_index', name)
};

/** Finds an address as it is written, or as this system writes it: QR codes have capitals. */
async function findAddresses({ query, databases }: RecordRead, name: string): Promise<string[]> {
  const spelled = await spellAddress(query, name, databases.network.addresses);
  return (await findAddress(query, spelled)) === null ? [] : [spelled];
}

/** Finds a block by its height, or by the hash that the chain gives it. */
async function findBlocks({ query, databases }: RecordRead, name: string): Promise<string[]> {
  const hash = readHash(name);
  const height = hash === null ? null : await findHeight(query, databases, hash);
  return await existsNumber(query, 'blocks', 'block_index', height === null ? name : String(height));
}

/** Most rows of a page. */
const MAX_TICKERS = 100;

/** Returns tokens whose names begin with a text in any case, the shortest first. */
async function findTickers(names: ReadNames, name: string, most: number): Promise<string[]> {
  const wanted = name.toLowerCase();
  const known = await names();
  const found = await known.filter(`begin ${wanted}`, (lower) => lower.startsWith(wanted));
  const first: string[] = [];
  for (const tick of known.ticksOf(found)) {
    if (first.length === most && isBefore(first[most - 1]!, tick)) continue;
    const place = first.findIndex((other) => isBefore(tick, other));
    if (place >= 0) first.splice(place, 0, tick);
    else if (first.length < most) first.push(tick);
    first.length = Math.min(first.length, most);
  }
  return first;
}

const isBefore = (one: string, other: string) =>
  one.length < other.length || (one.length === other.length && one < other);

async function exists(query: Query, from: string, column: string, value: string | number | null): Promise<string[]> {
  const found = await query(`SELECT 1 FROM ${from} WHERE ${column} = ? LIMIT 1`, [value]);
  return found.length > 0 ? [String(value)] : [];
}

async function existsNumber(query: Query, table: string, column: string, name: string): Promise<string[]> {
  return /^\d{1,15}$/.test(name) ? await exists(query, table, column, Number(name)) : [];
}
