import Type from 'typebox';
import { OrNull } from '../../wire/or-null.ts';
import { type Columns, rowSchema, sumOrNull } from '../lists/columns.ts';
import type { Row } from '../lists/list.ts';
import { LISTS } from '../lists/lists.ts';
import { readPage } from '../read/list-reader.ts';
import type { Query } from '../read/reader.ts';
import { findAddress, isAddressText, readHash, spellAddress } from '../read/subject.ts';
import { MAX_ROWS, type RecordMethod, type RecordRead, readRows, unknown } from './record.ts';

/** Reads the newest rows of a list, at most 100. */
async function newestOf(query: Query, method: string, address: string): Promise<readonly Row[]> {
  if (!isAddressText(address)) return [];
  const list = LISTS[method]!;
  const page = {
    filter: list.types['address']!,
    value: address,
    limit: MAX_ROWS,
    offset: 0,
    cursor: null,
    isDescending: true
  };
  return (await readPage(query, list, page)).data;
}

const sumOf = (table: string, where: string) =>
  `COALESCE((SELECT SUM(CAST(t.amount AS DECIMAL(58,18))) FROM ${table} t WHERE t.source_id = i.id ${where}), 0)`;
const COLLECTED = sumOf(
  'reward_claims',
  "AND t.status_id = (SELECT s.id FROM index_statuses s WHERE s.status = 'valid')"
);
const EARNED: Columns = {
  rewards_total: sumOrNull(sumOf('validator_rewards', '')),
  collected_total: sumOrNull(COLLECTED),
  claimable: sumOrNull(`${sumOf('validator_rewards', '')} - ${COLLECTED}`)
};
const NOTHING_EARNED = { rewards_total: '0', collected_total: '0', claimable: '0' };
const RowsSchema = Type.Array(Type.Unknown(), { description: `the newest ${MAX_ROWS}` });
const rowsSchema = (...names: readonly string[]) => Object.fromEntries(names.map((name) => [name, RowsSchema]));

async function readEarned(query: Query, address: string): Promise<Row> {
  const [found] = await readRows(query, EARNED, 'index_addresses i WHERE i.id = ?', [
    await findAddress(query, address)
  ]);
  return found ?? NOTHING_EARNED;
}

export const staking: RecordMethod = {
  summary: 'Tells what an address has staked, and earned',
  tag: 'State',
  takes: 'address',
  schema: Type.Object({
    address: Type.String(),
    chain_tip: OrNull(Type.Integer()),
    ...rowSchema(EARNED).properties,
    ...rowsSchema('positions', 'cooldowns', 'rewards', 'collects', 'slash_events'),
    ...rowsSchema('capability_positions', 'capability_cooldowns', 'capability_slash_events')
  }),
  read: async ({ query, tip, question: { query: asked = '' }, databases }) => {
    const address = await spellAddress(query, asked, databases.network.addresses);
    const rows = async (method: string) => await newestOf(query, method, address);
    return {
      address,
      chain_tip: tip?.height ?? null,
      ...(await readEarned(query, address)),
      positions: await rows('contract_stakes'),
      cooldowns: await rows('contract_unstakes'),
      capability_positions: await rows('stakes'),
      capability_cooldowns: await rows('unstakes'),
      rewards: await rows('rewards'),
      collects: await rows('collects'),
      slash_events: await rows('slash_events'),
      capability_slash_events: await rows('capability_slash_events')
    };
  }
};

/** Finds the staker that a key or an address names; null: it never staked. Anybody may name a key in a stake that is refused. */
async function findStaker({ query, question: { query: asked = '' }, databases }: RecordRead): Promise<Row | null> {
  const address = await spellAddress(query, asked, databases.network.addresses);
  const [found] = await query<Row>(
    `SELECT a.address AS source, p.pubkey AS signing_pubkey, CAST(t.action_index AS CHAR) AS stake_action_index, t.version,
       CAST(t.activation_block AS CHAR) AS activation_block, CAST(t.deactivation_block AS CHAR) AS deactivation_block,
       CAST(t.block_index AS CHAR) AS block_index
     FROM stakes t JOIN index_addresses a ON a.id = t.source_id JOIN index_pubkeys p ON p.id = t.signing_pubkey_id
     WHERE t.source_id = ? OR t.signing_pubkey_id = (SELECT i.id FROM index_pubkeys i WHERE i.pubkey = ?)
     ORDER BY t.status_id = (SELECT s.id FROM index_statuses s WHERE s.status = 'valid') DESC, t.action_index DESC LIMIT 1`,
    [(await findAddress(query, address)) ?? -1, readHash(asked) ?? '']
  );
  return found ?? null;
}

/** Reads what an address has at stake: a top-up is a row of its own. A position that does not count yet is one, and no active stake. */
const ACTIVE = `SELECT COUNT(*) AS positions,
    CAST(COALESCE(SUM(IF(t.activation_block <= ?, CAST(t.amount AS DECIMAL(58,8)), 0)), 0) AS CHAR) AS stake
  FROM stakes t WHERE t.source_id = (SELECT i.id FROM index_addresses i WHERE i.address = ?)
    AND t.status_id = (SELECT s.id FROM index_statuses s WHERE s.status = 'valid')
    AND (t.deactivation_block IS NULL OR t.deactivation_block > ?)`;

export const validator: RecordMethod = {
  summary: 'A validator, by its key or its address: its stakes, keys and rewards',
  tag: 'State',
  takes: 'key of 64 hex digits, or address',
  schema: Type.Object({
    query: Type.String(),
    registry: Type.Null(),
    registry_known: Type.Boolean({ description: 'a hub has the register: an explorer does not know it' }),
    position_count: Type.Integer(),
    ...rowSchema(EARNED).properties,
    ...rowsSchema('stakes', 'unstakes', 'delegations', 'revocations', 'rewards', 'collects', 'slash_events'),
    ...rowsSchema('rotations', 'capabilities', 'capability_slash_events', 'nodeproofs', 'attestation_quality')
  }),
  read: async (asked) => {
    const { query, question } = asked;
    const found = (await findStaker(asked)) ?? unknown('validator', question.query ?? '');
    const address = String(found['source']);
    const rows = async (method: string) => await newestOf(query, method, address);
    const height = asked.tip?.height ?? 0;
    const [active] = await query<{ stake: string; positions: number }>(ACTIVE, [height, address, height]);
    return {
      ...found,
      query: question.query,
      registry: null,
      registry_known: false,
      active_stake: String(active!.stake),
      position_count: Number(active!.positions),
      ...(await readEarned(query, address)),
      stakes: await rows('stakes'),
      unstakes: await rows('unstakes'),
      delegations: await rows('delegations'),
      revocations: await rows('delegation_revocations'),
      rotations: [],
      rewards: await rows('rewards'),
      collects: await rows('collects'),
      capabilities: [],
      capability_slash_events: await rows('capability_slash_events'),
      slash_events: [],
      nodeproofs: await rows('full_node_verifications'),
      attestation_quality: []
    };
  }
};

const FEED_STATES = ['open', 'closed', 'resolved', 'resolved_void', 'cancelled', 'expired'] as const;

export const oracle: RecordMethod = {
  summary: 'The bets that an address decides',
  tag: 'State',
  takes: 'address',
  schema: Type.Object({
    address: Type.String(),
    active_feeds: Type.Integer(),
    total_feeds: Type.Integer(),
    counts: Type.Object(Object.fromEntries(FEED_STATES.map((state) => [state, Type.Integer()]))),
    fees_earned: Type.Array(Type.Unknown()),
    reputation_caveat: Type.String()
  }),
  read: async ({ query, question: { query: asked = '' }, databases }) => {
    const address = await spellAddress(query, asked, databases.network.addresses);
    const found = await query<{ state: string; count: number }>(
      `SELECT s.status AS state, COUNT(*) AS count FROM bet_feeds t JOIN actions a ON a.action_index = t.action_index
       JOIN index_statuses s ON s.id = t.feed_status_id WHERE a.source_id = ? GROUP BY s.status`,
      [(await findAddress(query, address)) ?? -1]
    );
    const counts = Object.fromEntries(
      FEED_STATES.map((state) => [state, Number(found.find((row) => row.state === state)?.count ?? 0)])
    );
    return {
      address,
      active_feeds: counts['open'],
      total_feeds: Object.values(counts).reduce((sum, count) => sum + count, 0),
      counts,
      fees_earned: [],
      reputation_caveat: 'counts of bets say nothing of whether they were decided rightly'
    };
  }
};
