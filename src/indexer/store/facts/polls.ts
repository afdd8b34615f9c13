import { rows, type Statements } from '../../../db/connection.ts';
import { splitPair } from '../../state/keys.ts';
import type { Poll } from '../../state/poll.ts';
import { DECIDES, newestDeciding } from '../decisions.ts';
import { readDecimalOr0, readWhole } from '../read-decimal.ts';
import { VALID_STATUS } from '../valid-status.ts';
import { addressIds } from './addresses.ts';
import type { Loading } from './loading.ts';

/** Reads valid polls, by the index of their action. */
export async function readPolls(connection: Statements, indexes: readonly number[]): Promise<Map<number, Poll>> {
  const found = await rows<Record<string, string | number | null>>(
    connection,
    `SELECT p.*, i.tick, a.address AS source,
       (SELECT b.block_index FROM actions b WHERE b.action_index = ${newestDeciding('ballotOfAny', 'p.action_index')}) AS last_ballot
     FROM polls p JOIN index_tickers i ON i.id = p.tick_id JOIN actions x ON x.action_index = p.action_index
     JOIN index_addresses a ON a.id = x.source_id
     WHERE p.action_index IN (?) AND p.status_id = ${VALID_STATUS}`,
    [indexes]
  );
  return new Map(found.map((row) => [Number(row['action_index']), pollOf(row)]));
}

function pollOf(row: Readonly<Record<string, string | number | null>>): Poll {
  const amount = (name: string) => readDecimalOr0(row[name]);
  return {
    index: Number(row['action_index']),
    source: String(row['source']),
    tick: String(row['tick']),
    endBlock: readWhole(row['end_block']),
    options: (JSON.parse(String(row['options'])) as string[]).length,
    maxSelections: readWhole(row['max_selections']),
    tallyMode: row['tally_mode'] as Poll['tallyMode'],
    weightMode: row['weight_mode'] as Poll['weightMode'],
    quorum: amount('quorum'),
    minVoters: readWhole(row['min_voters']),
    minBalance: amount('min_vote_balance'),
    threshold: row['decide_threshold'] == null ? null : amount('decide_threshold'),
    deposit: amount('deposit_amount'),
    isOpen: row['poll_status'] === 'open',
    lastBallot: Number(row['last_ballot'] ?? 0)
  };
}

/** Reads which polls of some actions are open, the oldest first. @param from first action @param to last action */
export async function readOpenPolls(connection: Statements, from: number, to: number) {
  const found = await rows<{ index: number; end: number }>(
    connection,
    `SELECT action_index AS \`index\`, end_block AS end FROM polls FORCE INDEX (action_index)
     WHERE action_index BETWEEN ? AND ? AND poll_status = 'open' AND status_id = ${VALID_STATUS} ORDER BY action_index`,
    [from, to]
  );
  return found.map(({ index, end }) => ({ index: Number(index), endBlock: readWhole(end), isOpen: true }));
}

/** Reads which of some polls are open. @param indexes of actions, other ones among them */
export async function readOpenPollsOf(connection: Statements, indexes: readonly number[]) {
  const found = await rows<{ index: number; end: number }>(
    connection,
    `SELECT action_index AS \`index\`, end_block AS end FROM polls
     WHERE action_index IN (?) AND poll_status = 'open' AND status_id = ${VALID_STATUS}`,
    [indexes]
  );
  return found.map(({ index, end }) => ({ index: Number(index), endBlock: readWhole(end), isOpen: true }));
}

/** Loads newest ballots, by `ballotKey`. No other ballot is read. */
export async function loadBallots(keys: readonly string[], loading: Loading): Promise<void> {
  const { connection, view } = loading;
  const named = keys.map(splitPair);
  const ids = await addressIds(loading, [...new Set(named.map(([, voter]) => voter))]);
  const asked = named.flatMap(([poll, voter], n) =>
    ids.has(voter) ? [`(${n}, ${Number(poll)}, ${ids.get(voter)})`] : []
  );
  const found =
    asked.length === 0
      ? []
      : await rows<Record<'n' | 'choice', number> & { share: string }>(
          connection,
          `WITH w (n, p, a) AS (VALUES ${asked.join(', ')}) SELECT b.n, v.choice, v.share FROM
             (SELECT w.n, w.p, w.a, ${newestDeciding('ballot', 'w.p', 'w.a')} AS newest FROM w) b
           STRAIGHT_JOIN votes v ON v.poll_index = b.p AND v.voter_address_id = b.a AND v.action_index = b.newest
           WHERE v.status_id = ${VALID_STATUS}`
        );
  const ballots = Map.groupBy(found, ({ n }) => Number(n));
  for (const [n, key] of keys.entries()) {
    const choices = ballots.get(n)?.map(({ choice: option, share }) => ({ option, share: readWhole(share) }));
    view.load('ballot', key, choices);
  }
}

/** Returns the addresses that voted in each poll with a valid VOTE. */
export async function readVoters(connection: Statements, polls: readonly number[]): Promise<Map<number, string[]>> {
  const found = await rows<{ poll: number; voter: string }>(
    connection,
    `SELECT d.poll, a.address AS voter FROM (SELECT DISTINCT subject AS poll, other AS id FROM deciding_actions
       WHERE kind = ${DECIDES.ballot} AND subject IN (?)) d JOIN index_addresses a ON a.id = d.id`,
    [polls]
  );
  const voters = Map.groupBy(found, ({ poll }) => Number(poll));
  return new Map([...voters].map(([poll, own]) => [poll, own.map(({ voter }) => voter)]));
}

/** Loads who votes for addresses, by `pairKey`. No other delegation is read. */
export async function loadVoteDelegates(keys: readonly string[], loading: Loading): Promise<void> {
  const { connection, view, tickers } = loading;
  const pairs = keys.map(splitPair);
  const ids = await addressIds(loading, [...new Set(pairs.map(([, address]) => address))]);
  const asked = pairs.flatMap(([tick, address], n) => {
    const [t, a] = [tickers.ids.get(tick), ids.get(address)];
    return t === undefined || a === undefined ? [] : [`(${n}, ${t}, ${a})`];
  });
  const found =
    asked.length === 0
      ? []
      : await rows<{ n: number; delegate: string }>(
          connection,
          `WITH w (n, t, a) AS (VALUES ${asked.join(', ')}) SELECT v.n, i.address AS delegate FROM
             (SELECT w.n, w.t, w.a, ${newestDeciding('voteDelegation', 'w.t', 'w.a')} AS newest FROM w) v
           STRAIGHT_JOIN vote_delegations d ON d.tick_id = v.t AND d.delegator_address_id = v.a AND d.action_index = v.newest
           STRAIGHT_JOIN index_addresses i ON i.id = d.delegate_address_id`
        );
  const delegates = new Map(found.map(({ n, delegate }) => [Number(n), delegate]));
  for (const [n, key] of keys.entries()) view.load('voteDelegate', key, delegates.get(n));
}

/** Loads the addresses that let others vote with tokens, by `tickKey`: the newest delegation of each address counts. */
export async function loadDelegators(keys: readonly string[], { connection, view, tickers }: Loading): Promise<void> {
  const ids = keys.flatMap((key) => tickers.ids.get(key) ?? []);
  const found =
    ids.length === 0
      ? []
      : await rows<{ tick: number; delegator: string }>(
          connection,
          `SELECT n.subject AS tick, f.address AS delegator FROM (SELECT subject, other, MAX(action_index) AS newest
             FROM deciding_actions WHERE kind = ${DECIDES.voteDelegation} AND subject IN (?) GROUP BY subject, other) n
           STRAIGHT_JOIN vote_delegations d ON d.action_index = n.newest AND d.tick_id = n.subject
           STRAIGHT_JOIN index_addresses f ON f.id = n.other WHERE d.delegate_address_id IS NOT NULL`,
          [ids]
        );
  const delegators = Map.groupBy(found, ({ tick }) => Number(tick));
  for (const key of keys) {
    const own = delegators.get(tickers.ids.get(key) ?? 0) ?? [];
    view.loadSet(
      'delegators',
      key,
      own.map(({ delegator }) => delegator)
    );
  }
}
