import { type Connection, rows } from '../../db/core/connection.ts';

type Query = Pick<Connection, 'query'>;

/** What validators earned in a round of a hub. */
export interface PushedRewards {
  readonly round: number;
  readonly reward_type: string;
  readonly block_index: number;
  /** Keys in small letters, amounts as plain decimals. */
  readonly rewards: readonly { readonly pubkey: string; readonly amount: string }[];
}

/** Rewards that one block takes in; further ones come with the next. */
const PER_BLOCK = 1_000;
/** Beside those of the chain's own rounds, which have 0. */
const PUSHED_QUALIFIER = 1;

/**
 * Keeps rewards until the next block takes them in; they are durable when it returns. Of a key, round and type the first one
 * counts, and keys that nobody stakes behind are left out. One call at a time.
 *
 * @param sources who stakes behind keys, by key  @returns how many are new
 */
export async function keepRewards(
  connection: Query,
  { round, reward_type: type, block_index: height, rewards }: PushedRewards,
  sources: ReadonlyMap<string, string>
): Promise<number> {
  const wanted = new Map(rewards.filter(({ pubkey }) => sources.has(pubkey)).map((reward) => [reward.pubkey, reward]));
  if (wanted.size === 0) return 0;
  const known = await rows<{ pubkey: string }>(
    connection,
    `SELECT validator_pubkey AS pubkey FROM recovery_pending_rewards
     WHERE validator_pubkey IN (?) AND reward_type = ? AND round_reference = ?`,
    [[...wanted.keys()], type, round]
  );
  for (const { pubkey } of known) wanted.delete(pubkey);
  if (wanted.size === 0) return 0;
  await connection.query(
    `INSERT INTO recovery_pending_rewards
       (source_address, validator_pubkey, reward_type, round_reference, amount, block_index) VALUES ?`,
    [[...wanted.values()].map(({ pubkey, amount }) => [sources.get(pubkey), pubkey, type, round, amount, height])]
  );
  return wanted.size;
}

type Waiting = {
  readonly id: number;
  readonly source: string;
  readonly pubkey: string;
  readonly type: string;
  readonly round: number;
  readonly amount: string;
  readonly height: number;
};

/** Whether rewards wait for a block. */
export async function hasRewards(connection: Query): Promise<boolean> {
  const found = await rows(connection, 'SELECT 1 FROM recovery_pending_rewards WHERE applied = 0 LIMIT 1');
  return found.length > 0;
}

/** Takes rewards that wait into the ledger with a block, inside its transaction. @returns whether there were some */
export async function applyRewards(connection: Query, height: number): Promise<boolean> {
  const waiting = await rows<Waiting>(
    connection,
    `SELECT id, source_address AS source, validator_pubkey AS pubkey, reward_type AS type, round_reference AS round, amount,
       block_index AS height FROM recovery_pending_rewards WHERE applied = 0 ORDER BY id LIMIT ${PER_BLOCK}`
  );
  if (waiting.length === 0) return false;
  const idsOf = async (table: string, column: string, texts: readonly string[]) => {
    const found = await rows<{ id: number; text: string }>(
      connection,
      `SELECT id, ${column} AS text FROM ${table} WHERE ${column} IN (?)`,
      [texts]
    );
    return new Map(found.map(({ id, text }) => [text, id]));
  };
  const sources = await idsOf('index_addresses', 'address', [...new Set(waiting.map(({ source }) => source))]);
  const keys = await idsOf('index_pubkeys', 'pubkey', [...new Set(waiting.map(({ pubkey }) => pubkey))]);
  // A stake may have been taken back with its block: its reward waits until it is there again.
  const ready = waiting.filter(({ source, pubkey }) => sources.has(source) && keys.has(pubkey));
  if (ready.length === 0) return false;
  await connection.query(
    `INSERT IGNORE INTO validator_rewards (source_id, signing_pubkey_id, reward_type, round_reference, round_qualifier, amount,
       block_index, derive_block_index) VALUES ?`,
    [
      ready.map(({ source, pubkey, type, round, amount, height: told }) => [
        ...[sources.get(source), keys.get(pubkey), type, round, PUSHED_QUALIFIER, amount, told, height]
      ])
    ]
  );
  await connection.query('UPDATE recovery_pending_rewards SET applied = 1, applied_block = ? WHERE id IN (?)', [
    height,
    ready.map(({ id }) => id)
  ]);
  return true;
}

/** Rewards that blocks from a height on took in wait again, inside the transaction of a rollback. */
export async function releaseRewards(connection: Query, height: number): Promise<void> {
  await connection.query(
    'UPDATE recovery_pending_rewards SET applied = 0, applied_block = NULL WHERE applied_block >= ?',
    [height]
  );
}
