import { type Connection, rows } from '../../../db/connection.ts';
import { type Ballot, ballotKey, type Choice, type Poll } from '../../state/poll.ts';
import { readDecimalOr0, readWhole } from '../read-decimal.ts';
import { VALID_STATUS } from '../valid-status.ts';

type Query = Pick<Connection, 'query'>;

/** Reads valid polls, by the index of their action. */
export async function readPolls(connection: Query, indexes: readonly number[]): Promise<Map<number, Poll>> {
  const found = await rows<Record<string, string | number | null>>(
    connection,
    `SELECT p.*, i.tick, a.address AS source,
       (SELECT MAX(v.block_index) FROM votes v WHERE v.poll_index = p.action_index AND v.status_id = ${VALID_STATUS}) AS last_ballot
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

/** Reads the indexes of the polls that are open. */
export async function readOpenPolls(connection: Query): Promise<number[]> {
  const found = await rows<{ action_index: number }>(
    connection,
    `SELECT action_index FROM polls WHERE poll_status = 'open' AND status_id = ${VALID_STATUS} ORDER BY action_index`
  );
  return found.map(({ action_index: index }) => Number(index));
}

/** Reads newest ballots, by `ballotKey`. */
export async function readBallots(connection: Query, keys: readonly string[]): Promise<Map<string, Ballot>> {
  const [polls, voters] = [0, 1].map((half) => [...new Set(keys.map((key) => key.split('|')[half]!))]);
  const found = await rows<Record<'poll_index' | 'action_index' | 'choice', number> & { voter: string; share: string }>(
    connection,
    `SELECT v.poll_index, v.action_index, v.choice, v.share, a.address AS voter FROM votes v
     JOIN index_addresses a ON a.id = v.voter_address_id
     WHERE v.poll_index IN (?) AND a.address IN (?) AND v.status_id = ${VALID_STATUS}`,
    [polls!.map(Number), voters]
  );
  const newest = new Map<string, { index: number; choices: Choice[] }>();
  for (const { poll_index: poll, action_index: index, choice: option, share, voter } of found) {
    const key = ballotKey(Number(poll), voter);
    const kept = newest.get(key);
    const choice = { option, share: readWhole(share) };
    if (kept === undefined || kept.index < index) newest.set(key, { index, choices: [choice] });
    else if (kept.index === index) kept.choices.push(choice);
  }
  return new Map([...newest].map(([key, { choices }]) => [key, choices]));
}

/** Returns the addresses that voted in each poll with a valid VOTE. */
export async function readVoters(connection: Query, polls: readonly number[]): Promise<Map<number, string[]>> {
  const found = await rows<{ poll: number; voter: string }>(
    connection,
    `SELECT DISTINCT v.poll_index AS poll, a.address AS voter FROM votes v
     JOIN index_addresses a ON a.id = v.voter_address_id WHERE v.poll_index IN (?) AND v.status_id = ${VALID_STATUS}`,
    [polls]
  );
  const voters = Map.groupBy(found, ({ poll }) => Number(poll));
  return new Map([...voters].map(([poll, own]) => [poll, own.map(({ voter }) => voter)]));
}

/** Returns the newest delegations of the votes of tokens, from delegator to delegate, by the id of the ticker. */
export async function readVoteDelegates(
  connection: Query,
  tickIds: readonly number[]
): Promise<Map<number | undefined, Map<string, string>>> {
  if (tickIds.length === 0) return new Map();
  const found = await rows<{ tick: number; from: string; to: string | null }>(
    connection,
    `SELECT d.tick_id AS tick, f.address AS \`from\`, t.address AS \`to\` FROM vote_delegations d
     JOIN index_addresses f ON f.id = d.delegator_address_id LEFT JOIN index_addresses t ON t.id = d.delegate_address_id
     WHERE d.tick_id IN (?) AND d.status_id = ${VALID_STATUS} ORDER BY d.action_index`,
    [tickIds]
  );
  const delegates = new Map<number | undefined, Map<string, string>>();
  for (const { tick, from, to } of found) {
    const own = delegates.get(Number(tick)) ?? new Map<string, string>();
    delegates.set(Number(tick), own);
    if (to === null) own.delete(from);
    else own.set(from, to);
  }
  return delegates;
}
