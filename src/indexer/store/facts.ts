import { parseAmount } from '../../consensus/amount.ts';
import { type Connection, rows } from '../../db/core/connection.ts';
import type { FactLoader } from '../block/execute.ts';
import { tableOf } from '../rules/handlers.ts';
import { compareBytes } from '../state/effects.ts';
import {
  type Kind,
  type List,
  LOCKS,
  type Preferences,
  splitPair,
  type Token,
  tickKey,
  type View
} from '../state/state.ts';
import { readOffers } from './offer-facts.ts';
import { readCooling, readKeysOf, readSigners, readUnclaimed } from './signer-facts.ts';
import { VALID_STATUS } from './valid-status.ts';

type Query = Pick<Connection, 'query'>;

/** What a loader needs to know of tickers: they are all in memory. */
export interface Tickers {
  /** By `tickKey`. */
  readonly ids: ReadonlyMap<string, number>;
}

const KEYS_PER_STATEMENT = 500;

/** A loader that reads an indexer database, a statement for each kind and some hundred keys. */
export function factLoader(connection: Query, view: View, tickers: Tickers): FactLoader {
  return async (asked) => {
    for (const [kind, facts] of Map.groupBy(asked, ({ kind }) => kind)) {
      const keys = facts.map(({ key }) => key);
      for (let at = 0; at < keys.length; at += KEYS_PER_STATEMENT) {
        await LOADERS[kind](keys.slice(at, at + KEYS_PER_STATEMENT), { connection, view, tickers });
      }
    }
  };
}

interface Loading {
  readonly connection: Query;
  readonly view: View;
  readonly tickers: Tickers;
}
type Loader = (keys: readonly string[], loading: Loading) => Promise<void>;

const LOADERS: Readonly<Record<Kind, Loader>> = {
  addressId: async (keys, { connection, view }) => {
    const ids = await addressIds(connection, keys);
    for (const key of keys) view.load('addressId', key, ids.get(key));
  },
  address: async (keys, { connection, view }) => {
    const names = await addressNames(connection, keys.map(Number));
    for (const key of keys) view.load('address', key, names.get(Number(key)));
  },
  tick: async (keys, { connection, view }) => {
    const found = await rows<{ id: number; tick: string }>(
      connection,
      'SELECT id, tick FROM index_tickers WHERE id IN (?)',
      [keys.map(Number)]
    );
    const names = new Map(found.map(({ id, tick }) => [id, tick]));
    for (const key of keys) view.load('tick', key, names.get(Number(key)));
  },
  token: loadTokens,
  balance: (keys, loading) => loadPairs(keys, loading, 'balance', BALANCES),
  minted: (keys, loading) => loadPairs(keys, loading, 'minted', MINTED),
  holders: async (keys, { connection, view, tickers }) => {
    for (const key of keys) {
      const found = await rows<{ name: string }>(
        connection,
        'SELECT a.address AS name FROM balances b JOIN index_addresses a ON a.id = b.address_id WHERE b.tick_id = ?',
        [tickers.ids.get(key) ?? 0]
      );
      view.loadSet(
        'holders',
        key,
        found.map(({ name }) => name)
      );
    }
  },
  holdings: (keys, loading) => loadTickSets(keys, loading, 'holdings', 'balances b', 'b.address_id'),
  owned: (keys, loading) => loadTickSets(keys, loading, 'owned', 'tokens b', 'b.owner_id'),
  listRoot: async (keys, { connection, view }) => {
    const found = await rows<{ action_index: number; root: number }>(
      connection,
      `SELECT action_index, COALESCE(list_action_index, action_index) AS root FROM lists l
       WHERE action_index IN (?) AND status_id = ${VALID_STATUS}
         AND NOT EXISTS (SELECT 1 FROM list_transfers t WHERE t.action_index = l.action_index)`,
      [keys.map(Number)]
    );
    const roots = new Map(found.map(({ action_index, root }) => [action_index, Number(root)]));
    for (const key of keys) view.load('listRoot', key, roots.get(Number(key)));
  },
  list: async (keys, { connection, view }) => {
    for (const key of keys) view.load('list', key, await readList(connection, Number(key)));
  },
  sleep: loadSleeps,
  preferences: loadPreferences,
  past: async (keys, loading) => {
    for (const key of keys) loading.view.load('past', key, await readPast(Number(key), loading.connection));
  },
  offer: async (keys, { connection, view }) => {
    const offers = await readOffers(connection, keys.map(Number));
    for (const key of keys) view.loadOffer(key, offers.get(Number(key)));
  },
  served: async (keys, { connection, view }) => {
    for (const key of keys) view.load('served', key, await hasServed(connection, key.split('|')));
  },
  signer: async (keys, { connection, view }) => {
    const signers = await readSigners(connection, keys);
    for (const key of keys) view.load('signer', key, signers.get(key));
  },
  keysOf: async (keys, { connection, view }) => {
    const found = await readKeysOf(connection, keys);
    for (const key of keys) view.load('keysOf', key, found.get(key));
  },
  unclaimed: async (keys, { connection, view }) => {
    const found = await readUnclaimed(connection, keys);
    for (const key of keys) view.load('unclaimed', key, found.get(key));
  },
  cooling: async (keys, { connection, view }) => {
    const found = await readCooling(connection, keys.map(Number));
    for (const key of keys) view.load('cooling', key, found.get(Number(key)));
  },
  spent: async (keys, { view }) => {
    for (const key of keys) view.load('spent', key, undefined); // of the block in work, which has spent nothing yet
  },
  counter: async (keys, { connection, view }) => {
    for (const key of keys) {
      const [last] = await rows<{ last: number }>(connection, `SELECT COALESCE(MAX(${COUNTERS[key]}`);
      view.load('counter', key, Number(last!.last));
    }
  }
};

const COUNTERS: Readonly<Record<string, string>> = {
  address: 'id), 0) AS last FROM index_addresses',
  ticker: 'id), 0) AS last FROM index_tickers',
  action: 'action_index), 0) AS last FROM actions',
  transaction: 'tx_index), 0) AS last FROM transactions'
};

/** An address is ASCII; no other text can have an id. */
const ADDRESS = /^[\x21-\x7e]{1,120}$/;

async function addressIds(connection: Query, addresses: readonly string[]): Promise<Map<string, number>> {
  const possible = addresses.filter((address) => ADDRESS.test(address));
  if (possible.length === 0) return new Map();
  const found = await rows<{ id: number; address: string }>(
    connection,
    'SELECT id, address FROM index_addresses WHERE address IN (?)',
    [possible]
  );
  return new Map(found.map(({ id, address }) => [address, id]));
}

async function addressNames(connection: Query, ids: readonly number[]): Promise<Map<number, string>> {
  const found = await rows<{ id: number; address: string }>(
    connection,
    'SELECT id, address FROM index_addresses WHERE id IN (?)',
    [ids]
  );
  return new Map(found.map(({ id, address }) => [id, address]));
}

type TokenRow = Readonly<Record<string, string | number | null>>;

async function loadTokens(keys: readonly string[], { connection, view, tickers }: Loading): Promise<void> {
  const ids = keys.flatMap((key) => tickers.ids.get(key) ?? []);
  const found =
    ids.length === 0
      ? []
      : await rows<TokenRow>(
          connection,
          `SELECT t.*, i.tick, o.address AS owner, c.tick AS callback_tick FROM tokens t
           JOIN index_tickers i ON i.id = t.tick_id JOIN index_addresses o ON o.id = t.owner_id
           LEFT JOIN index_tickers c ON c.id = t.callback_tick_id WHERE t.tick_id IN (?)`,
          [ids]
        );
  const tokens = new Map(found.map((row) => [tickKey(String(row['tick'])), readToken(row)]));
  for (const key of keys) view.load('token', key, tokens.get(key));
}

/** A token from its row of `tokens`, with `tick`, `owner` and `callback_tick` as texts. */
export function readToken(row: TokenRow): Token {
  const number = (name: string) => (row[name] == null ? null : Number(row[name]));
  const amount = (name: string) => parseAmount(String(row[name] ?? '')) ?? 0n;
  return {
    id: Number(row['tick_id']),
    tick: String(row['tick']),
    owner: String(row['owner']),
    supply: amount('supply'),
    maxSupply: amount('max_supply'),
    maxMint: amount('max_mint'),
    mintAddressMax: amount('mint_address_max'),
    decimals: Number(row['decimals']),
    description: row['description'] == null ? null : String(row['description']),
    locks: Object.fromEntries(LOCKS.map((lock) => [lock, row[lock] === 1])) as Token['locks'],
    callbackBlock: number('callback_block'),
    callbackTick: row['callback_tick'] == null ? null : String(row['callback_tick']),
    callbackAmount: row['callback_amount'] == null ? null : amount('callback_amount'),
    allowList: number('allow_list'),
    blockList: number('block_list'),
    mintStartBlock: number('mint_start_block') ?? 0,
    mintStopBlock: number('mint_stop_block') ?? 0,
    actionIndex: Number(row['action_index']),
    lastActionIndex: Number(row['last_action_index']),
    escrowActionIndex: number('escrow_action_index')
  };
}

const BALANCES = `SELECT w.n, b.amount FROM ? w STRAIGHT_JOIN balances b ON b.address_id = w.a AND b.tick_id = w.t`;
const MINTED = `SELECT w.n, SUM(CAST(m.amount AS DECIMAL(60,18))) AS amount FROM ? w
  STRAIGHT_JOIN actions x ON x.source_id = w.a STRAIGHT_JOIN mints m ON m.action_index = x.action_index AND m.tick_id = w.t
  WHERE m.status_id = ${VALID_STATUS} GROUP BY w.n`;

/** @param sql reads `n` and `amount` of a table of numbered pairs, which stands for the `?` in it */
async function loadPairs(
  keys: readonly string[],
  { connection, view, tickers }: Loading,
  kind: 'balance' | 'minted',
  sql: string
): Promise<void> {
  const pairs = keys.map(splitPair);
  const ids = await addressIds(connection, [...new Set(pairs.map(([, address]) => address))]);
  const wanted = pairs.flatMap(([tick, address], n) => {
    const [a, t] = [ids.get(address), tickers.ids.get(tick)];
    return a === undefined || t === undefined ? [] : [`SELECT ${n} AS n, ${a} AS a, ${t} AS t`];
  });
  const found =
    wanted.length === 0
      ? []
      : await rows<{ n: number; amount: string }>(connection, sql.replace('?', `(${wanted.join(' UNION ALL ')})`));
  const amounts = new Map(found.map(({ n, amount }) => [Number(n), parseAmount(String(amount)) ?? 0n]));
  for (const [n, key] of keys.entries()) view.load(kind, key, amounts.get(n));
}

async function loadTickSets(
  keys: readonly string[],
  { connection, view }: Loading,
  kind: 'holdings' | 'owned',
  table: string,
  column: string
): Promise<void> {
  const ids = await addressIds(connection, keys);
  for (const key of keys) {
    const found = await rows<{ tick: string }>(
      connection,
      `SELECT i.tick FROM ${table} JOIN index_tickers i ON i.id = b.tick_id WHERE ${column} = ?`,
      [ids.get(key) ?? 0]
    );
    view.loadSet(
      kind,
      key,
      found.map(({ tick }) => tickKey(tick))
    );
  }
}

async function readList(connection: Query, root: number): Promise<List | undefined> {
  const [made] = await rows<{ type: string; source: string; owner: string | null; newest: number }>(
    connection,
    `SELECT l.type, s.address AS source,
       (SELECT a.address FROM list_transfers t JOIN index_addresses a ON a.id = t.destination_id
        WHERE t.list_action_index = l.action_index ORDER BY t.action_index DESC LIMIT 1) AS owner,
       (SELECT COALESCE(MAX(e.action_index), l.action_index) FROM lists e
        WHERE e.list_action_index = l.action_index AND e.edit IS NOT NULL AND e.status_id = ${VALID_STATUS}) AS newest
     FROM lists l JOIN actions x ON x.action_index = l.action_index JOIN index_addresses s ON s.id = x.source_id
     WHERE l.action_index = ? AND l.status_id = ${VALID_STATUS}`,
    [root]
  );
  if (!made) return undefined;
  const [table, column] = made.type === '1' ? ['index_tickers', 'tick'] : ['index_addresses', 'address'];
  const items = await rows<{ item: string }>(
    connection,
    `SELECT i.${column} AS item FROM list_items l JOIN ${table} i ON i.id = l.item_id WHERE l.action_index = ?`,
    [made.newest]
  );
  return {
    type: Number(made.type),
    owner: made.owner ?? made.source,
    items: items.map(({ item }) => item).sort(compareBytes)
  };
}

/** Few addresses and tokens ever slept: their rows are few, and lead to the actions. */
async function loadSleeps(keys: readonly string[], { connection, view, tickers }: Loading): Promise<void> {
  const named = keys.map(splitPair);
  const addresses = await addressIds(
    connection,
    named.flatMap(([type, name]) => (type === 'address' ? [name] : []))
  );
  const ids = (wanted: readonly (number | undefined)[]) => [0, ...wanted.filter((id) => id !== undefined)];
  const found = await rows<{ type: number; id: number; resume_block: string }>(
    connection,
    `SELECT s.action_index, 1 AS type, x.source_id AS id, s.resume_block FROM sleeps s
       STRAIGHT_JOIN actions x ON x.action_index = s.action_index
       WHERE s.type = 1 AND s.status_id = ${VALID_STATUS} AND x.source_id IN (?)
     UNION ALL SELECT action_index, 2, tick_id, resume_block FROM sleeps
       WHERE type = 2 AND status_id = ${VALID_STATUS} AND tick_id IN (?) ORDER BY action_index`,
    [
      ids([...addresses.values()]),
      ids(named.map(([type, name]) => (type === 'tick' ? tickers.ids.get(name) : undefined)))
    ]
  );
  const newest = new Map(found.map(({ type, id, resume_block }) => [`${type} ${id}`, Number(resume_block)]));
  for (const [place, [type, name]] of named.entries()) {
    const id = type === 'tick' ? `2 ${tickers.ids.get(name)}` : `1 ${addresses.get(name)}`;
    view.load('sleep', keys[place]!, newest.get(id));
  }
}

async function loadPreferences(keys: readonly string[], { connection, view }: Loading): Promise<void> {
  const ids = await addressIds(connection, keys);
  const found = await rows<Record<'id' | 'fee' | 'memo' | 'dispenser', number | null>>(
    connection,
    `SELECT x.source_id AS id, p.fee_preference AS fee, p.require_memo AS memo, p.dispenser_preference AS dispenser
     FROM addresses p STRAIGHT_JOIN actions x ON x.action_index = p.action_index
     WHERE p.status_id = ${VALID_STATUS} AND x.source_id IN (?) ORDER BY p.action_index`,
    [[0, ...ids.values()]]
  );
  const newest = new Map<number, Preferences>();
  for (const { id, fee, memo, dispenser } of found) {
    const former = newest.get(id!)?.dispenser ?? null;
    newest.set(id!, { fee: fee ?? 0, requiresMemo: memo === 1, dispenser: dispenser ?? former });
  }
  for (const key of keys) view.load('preferences', key, newest.get(ids.get(key) ?? 0));
}

async function hasServed(connection: Query, addresses: readonly string[]): Promise<boolean> {
  const ids = await addressIds(connection, addresses);
  const found = await rows(
    connection,
    `SELECT 1 FROM dispensers d JOIN actions x ON x.action_index = d.action_index
     WHERE d.get_address_id = ? AND x.source_id = ? AND d.status_id = ${VALID_STATUS} LIMIT 1`,
    [ids.get(addresses[1]!) ?? 0, ids.get(addresses[0]!) ?? 0]
  );
  return found.length > 0;
}

/** @returns the action when any row of it is valid */
async function readPast(index: number, connection: Query) {
  const [action] = await rows<{ name: string }>(
    connection,
    'SELECT i.action AS name FROM actions x JOIN index_actions i ON i.id = x.action_id WHERE x.action_index = ?',
    [index]
  );
  const table = action && tableOf(action.name);
  if (!action || !table) return undefined;
  const isIssue = table === 'issues';
  const [valid] = await rows<{ tick: string | null }>(
    connection,
    `SELECT ${isIssue ? 'i.tick' : 'NULL AS tick'} FROM ${table} r ${isIssue ? 'LEFT JOIN index_tickers i ON i.id = r.tick_id' : ''}
     WHERE r.action_index = ? AND r.status_id = ${VALID_STATUS} LIMIT 1`,
    [index]
  );
  return valid && { name: action.name, tick: valid.tick };
}
