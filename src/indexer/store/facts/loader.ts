import { rows, type Statements } from '../../../db/connection.ts';
import { pages } from '../../../db/pages.ts';
import { spread } from '../../../db/spread.ts';
import type { FactLoader } from '../../block/execute.ts';
import type { FactKey, Kind } from '../../state/facts.ts';
import { Members } from '../../state/members.ts';
import type { View } from '../../state/view.ts';
import { VALID_STATUS } from '../valid-status.ts';
import { loadListCounts, loadSleeps, readListHeads, readLists, readPast } from './actions.ts';
import { addressIds, addressNames, loadFirstSellers, loadPreferences, loadServed } from './addresses.ts';
import { readGates } from './gates.ts';
import { loadMembers } from './list-members.ts';
import type { Loader, Tickers } from './loading.ts';
import { loadAwaitedMatches, loadLiveOffers, readOffers } from './offers.ts';
import { loadBallots, loadDelegators, loadVoteDelegates, readPolls, readVoters } from './polls.ts';
import {
  readCooling,
  readKeys,
  readKeysOf,
  readPricedRounds,
  readRounds,
  readSigners,
  readUnclaimed
} from './signers.ts';
import { BALANCES, loadCounts, loadHolders, loadPairs, loadTickSets, loadTokens, MINTED } from './tokens.ts';

const KEYS_PER_STATEMENT = 500;
/** Beginnings of tickers that one statement looks for, each by a query of its own. */
const BEGINNINGS_PER_STATEMENT = 100;

/**
 * Returns a loader that reads an indexer database, with one statement for each kind and some hundred keys.
 *
 * @param connections see the same rows; each takes the next statement when it is done with one
 */
export function factLoader(connections: readonly Statements[], view: View, tickers: Tickers): FactLoader {
  return async (asked) => {
    const byKind = Map.groupBy(asked, ({ kind }) => kind);
    const ids = byKind.get('addressId') ?? [];
    byKind.delete('addressId');
    // First, because the statements of most other kinds are about ids.
    for (const kinds of [[['addressId', ids] as const], [...byKind]]) {
      const loads = kinds.flatMap(([kind, facts]) => [...loadsOf(kind, facts)]);
      await spread(connections, loads, (connection, { kind, keys }) =>
        LOADERS[kind](keys, { connection, view, tickers })
      );
    }
  };
}

/** Kind of a fact that a database has. */
type Stored = Exclude<Kind, 'spent'>;

/** Yields loads of keys of one kind, each with as many keys as a statement takes. */
function* loadsOf(
  kind: Kind,
  facts: readonly FactKey[]
): Generator<{ readonly kind: Stored; readonly keys: readonly string[] }> {
  if (kind === 'spent') return;
  // A ticker that nobody issued may be as long as an action.
  for (const keys of pages([...new Set(facts.map(({ key }) => key))], KEYS_PER_STATEMENT)) yield { kind, keys };
}

const LOADERS: Readonly<Record<Stored, Loader>> = {
  addressId: async (keys, loading) => {
    await addressIds(loading, keys);
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
  tickId: async (keys, { connection, view }) => {
    const found = await rows<{ id: number; tick: string }>(
      connection,
      'SELECT id, tick FROM index_tickers WHERE tick IN (?)',
      [keys]
    );
    const ids = new Map(found.map(({ id, tick }) => [tick, id]));
    for (const key of keys) view.load('tickId', key, ids.get(key));
  },
  token: loadTokens,
  tickBeginning: async (keys, { connection, view }) => {
    for (let at = 0; at < keys.length; at += BEGINNINGS_PER_STATEMENT) {
      const part = keys.slice(at, at + BEGINNINGS_PER_STATEMENT);
      const first = part.map((_, n) => `(SELECT ${n} AS n FROM index_tickers WHERE tick LIKE ? LIMIT 1)`);
      const patterns = part.map((key) => `${key.replace(/[\\%_]/g, '\\$&')}%`);
      const found = new Set(
        (await rows<{ n: number }>(connection, first.join(' UNION ALL '), patterns)).map(({ n }) => Number(n))
      );
      for (const [n, key] of part.entries()) view.load('tickBeginning', key, found.has(n));
    }
  },
  balance: (keys, loading) => loadPairs(keys, loading, 'balance', BALANCES),
  minted: (keys, loading) => loadPairs(keys, loading, 'minted', MINTED),
  holders: loadHolders,
  holderCount: (keys, loading) => loadCounts(keys, loading, 'holders', loading.tickers.ids),
  holdings: (keys, loading) => loadTickSets(keys, loading, 'holdings', 'balances b', 'b.address_id'),
  owned: (keys, loading) => loadTickSets(keys, loading, 'owned', 'tokens b', 'b.owner_id'),
  holdingCount: async (keys, loading) => loadCounts(keys, loading, 'holdings', await addressIds(loading, keys)),
  ownedCount: async (keys, loading) => loadCounts(keys, loading, 'owned', await addressIds(loading, keys)),
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
    const lists = await readLists(connection, keys.map(Number));
    for (const key of keys) view.loadList(key, lists.get(Number(key)));
  },
  listHead: async (keys, { connection, view }) => {
    const heads = await readListHeads(connection, keys.map(Number));
    for (const key of keys) view.load('listHead', key, heads.get(Number(key)));
  },
  member: loadMembers,
  listCount: loadListCounts,
  sleep: loadSleeps,
  preferences: loadPreferences,
  past: async (keys, { connection, view }) => {
    const past = await readPast(connection, keys.map(Number));
    for (const key of keys) view.load('past', key, past.get(Number(key)));
  },
  offer: async (keys, { connection, view }) => {
    const offers = await readOffers(connection, keys.map(Number));
    for (const key of keys) view.loadOffer(key, offers.get(Number(key)));
  },
  liveOffers: loadLiveOffers,
  awaitedMatches: loadAwaitedMatches,
  served: loadServed,
  firstSeller: loadFirstSellers,
  signer: async (keys, { connection, view }) => {
    const signers = await readSigners(connection, keys);
    for (const key of keys) view.load('signer', key, signers.get(key));
  },
  keysOf: async (keys, { connection, view }) => {
    const found = await readKeysOf(connection, keys);
    for (const key of keys) view.load('keysOf', key, new Members(new Set(found.get(key))));
  },
  keys: async (keys, { connection, view }) => {
    for (const key of keys) view.load('keys', key, new Members(new Set(await readKeys(connection))));
  },
  poll: async (keys, { connection, view }) => {
    const found = await readPolls(connection, keys.map(Number));
    for (const key of keys) view.load('poll', key, found.get(Number(key)));
  },
  ballot: loadBallots,
  voters: async (keys, { connection, view }) => {
    const voters = await readVoters(connection, keys.map(Number));
    for (const key of keys) view.loadSet('voters', key, voters.get(Number(key)) ?? []);
  },
  voteDelegate: loadVoteDelegates,
  delegators: loadDelegators,
  gate: async (keys, { connection, view, tickers }) => {
    // A text that is no ticker may be as long as a transaction.
    const gates = await readGates(
      connection,
      keys.filter((key) => tickers.ids.has(key))
    );
    for (const key of keys) view.load('gate', key, gates.get(key));
  },
  pricedRound: async (keys, { connection, view }) => {
    const found = await readPricedRounds(connection, keys.map(Number));
    for (const key of keys) view.load('pricedRound', key, found.has(Number(key)));
  },
  rounds: async (keys, { connection, view }) => {
    for (const key of keys) view.load('rounds', key, await readRounds(connection));
  },
  unclaimed: async (keys, { connection, view }) => {
    const found = await readUnclaimed(connection, keys);
    for (const key of keys) view.load('unclaimed', key, found.get(key));
  },
  cooling: async (keys, { connection, view }) => {
    const found = await readCooling(connection, keys.map(Number));
    for (const key of keys) view.load('cooling', key, found.get(Number(key)));
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
