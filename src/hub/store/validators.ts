import { formatAmount } from '../../consensus/amount.ts';
import { type Connection, rows, type SqlRow } from '../../db/connection.ts';
import { PlatformError } from '../../errors.ts';

/** A row of `validators`. */
export interface Validator extends SqlRow {
  readonly signing_pubkey: string;
  /** `host:port`, or a WebSocket URL. */
  readonly addr: string;
  readonly chains: string | null;
  readonly status: 'active' | 'suspended' | 'removed';
  readonly created_at: string;
  readonly updated_at: string;
}

/** A row of `validator_capabilities`. */
interface ValidatorCapability extends SqlRow {
  readonly signing_pubkey: string;
  readonly capability: string;
  readonly qualified: number;
  readonly self_test_ok: number | null;
  readonly enabled: number;
  readonly self_test_at: string | null;
  readonly self_test_msg: string | null;
  readonly qualified_at_block: number | null;
}

/** Rewards of validators in one round. */
export interface Rewards {
  readonly round: number;
  readonly reward_type: string;
  readonly block_index: number;
  readonly rewards: readonly { readonly pubkey: string; readonly amount: string }[];
}

/** One reward of a validator. */
interface EarnedReward extends SqlRow {
  readonly round_number: number;
  readonly reward_type: string;
  readonly amount: string;
  readonly block_index: number;
  /** Whether a trusted caller pushed it. */
  readonly trusted: boolean;
}

/** @see selectRewards */
interface EarnedRewards {
  readonly total: string;
  readonly newest: EarnedReward[];
}

/** Most active validators: each is told to everybody who asks for the list. */
const MOST_ACTIVE = 10_000;
const NEWEST_REWARDS = 100;
const COLUMNS = 'signing_pubkey, addr, chains, status, created_at, updated_at';

/** Reads some of the active ones, by their keys. @param after a key; '' for the first */
export const pageOfValidators = (connection: Connection, after: string, most: number): Promise<Validator[]> =>
  rows<Validator>(
    connection,
    `SELECT ${COLUMNS} FROM validators WHERE signing_pubkey > ? AND status = 'active' ORDER BY signing_pubkey LIMIT ?`,
    [after, most]
  );

/** Returns whether an active one has the address. */
export async function hasValidatorAt(connection: Connection, addr: string): Promise<boolean> {
  return (await keysAt(connection, addr)).length > 0;
}

/** Returns the keys of the active ones that have the address. */
export async function keysAt(connection: Connection, addr: string): Promise<readonly string[]> {
  const found = await rows(
    connection,
    "SELECT signing_pubkey FROM validators WHERE addr = ? AND status = 'active' ORDER BY signing_pubkey",
    [addr]
  );
  return found.map((row) => String(row['signing_pubkey']));
}

/** Returns the number of active validators, and those of some keys that are active. */
export async function selectActiveKeys(
  connection: Connection,
  keys: readonly string[]
): Promise<{ readonly count: number; readonly active: readonly string[] }> {
  const [total] = await rows<{ count: number }>(
    connection,
    "SELECT COUNT(*) AS count FROM validators WHERE status = 'active'"
  );
  if (keys.length === 0) return { count: Number(total!.count), active: [] };
  const found = await rows<Pick<Validator, 'signing_pubkey'>>(
    connection,
    "SELECT signing_pubkey FROM validators WHERE status = 'active' AND signing_pubkey IN (?) ORDER BY signing_pubkey",
    [keys]
  );
  return { count: Number(total!.count), active: found.map(({ signing_pubkey: key }) => key) };
}

/** Reads one of any status; undefined when the key is unknown. */
export async function selectValidator(connection: Connection, pubkey: string): Promise<Validator | undefined> {
  return (await rows<Validator>(connection, `SELECT ${COLUMNS} FROM validators WHERE signing_pubkey = ?`, [pubkey]))[0];
}

/** Makes a validator active, and removes an earlier key of the same address. @throws {PlatformError} REQUEST_INVALID */
export async function upsertValidator(connection: Connection, pubkey: string, addr: string): Promise<void> {
  await upsert(connection, pubkey, addr);
  await refuseTooMany(connection);
}

async function refuseTooMany(connection: Connection): Promise<void> {
  const { count } = await selectActiveKeys(connection, []);
  if (count <= MOST_ACTIVE) return;
  const reason = `the hub keeps ${MOST_ACTIVE} active validators: remove some by deregistervalidator`;
  throw new PlatformError('REQUEST_INVALID', { reason });
}

async function upsert(connection: Connection, pubkey: string, addr: string): Promise<void> {
  await connection.query(
    "UPDATE validators SET status = 'removed' WHERE addr = ? AND signing_pubkey <> ? AND status = 'active'",
    [addr, pubkey]
  );
  await connection.query(
    `INSERT INTO validators (signing_pubkey, addr, status) VALUES (?, ?, 'active')
     ON DUPLICATE KEY UPDATE addr = VALUES(addr), status = 'active'`,
    [pubkey, addr]
  );
}

/** Takes an active validator out, by its key or its address. @throws {PlatformError} RECORD_UNKNOWN */
export async function removeValidator(
  connection: Connection,
  { pubkey, addr }: { readonly pubkey: string | null; readonly addr: string | null }
): Promise<void> {
  const [{ affectedRows }] = (await connection.query(
    "UPDATE validators SET status = 'removed' WHERE (signing_pubkey = ? OR addr = ?) AND status = 'active'",
    [pubkey, addr]
  )) as unknown as [{ affectedRows: number }];
  if (affectedRows === 0)
    throw new PlatformError('RECORD_UNKNOWN', { reason: `no active validator has ${pubkey ?? addr}` });
}

/** Returns a validator's rewards as trusted callers pushed them, and the newest rewards, those of trusted callers first. */
export async function selectRewards(connection: Connection, pubkey: string): Promise<EarnedRewards> {
  const [sum] = await rows<{ total: string }>(
    connection,
    'SELECT CAST(CAST(COALESCE(SUM(CAST(amount AS DECIMAL(58, 18))), 0) AS DECIMAL(65, 18)) AS CHAR) AS total FROM validator_rewards WHERE validator_pubkey = ? AND NOT claimed AND trusted',
    [pubkey]
  );
  const newest = await rows<EarnedReward>(
    connection,
    `SELECT round_number, reward_type, CAST(amount AS CHAR) AS amount, block_index, trusted FROM validator_rewards
     WHERE validator_pubkey = ? ORDER BY trusted DESC, id DESC LIMIT ${NEWEST_REWARDS}`,
    [pubkey]
  );
  return {
    // Of 18 places; more digits than one amount may have.
    total: formatAmount(BigInt(sum!.total.replace('.', ''))),
    newest: newest.map((reward) => ({ ...reward, trusted: Boolean(reward.trusted) }))
  };
}

/** Makes each of them active. @see upsertValidator */
export async function upsertValidators(
  connection: Connection,
  validators: readonly { readonly signing_pubkey: string; readonly addr: string }[]
): Promise<void> {
  for (const { signing_pubkey, addr } of validators) await upsert(connection, signing_pubkey.toLowerCase(), addr);
  await refuseTooMany(connection);
}

/** Returns the capabilities of validators, by key and capability. */
export const selectCapabilities = (
  connection: Connection,
  {
    pubkey,
    capability,
    most
  }: {
    /** Null: of all. */
    readonly pubkey: string | null;
    /** Null: any. */
    readonly capability: string | null;
    readonly most: number;
  }
): Promise<ValidatorCapability[]> =>
  rows<ValidatorCapability>(
    connection,
    `SELECT signing_pubkey, capability, qualified, self_test_ok, enabled, self_test_at, self_test_msg, qualified_at_block
       FROM validator_capabilities WHERE (? IS NULL OR signing_pubkey = ?) AND (? IS NULL OR capability = ?)
       ORDER BY signing_pubkey, capability LIMIT ?`,
    [pubkey, pubkey, capability, capability, most]
  );

/** Rewards that callers told who are not trusted; of more the oldest go. */
const MOST_BY_STRANGERS = 10_000;

/**
 * Keeps what is new; the same reward of the same round again is skipped, unless a stranger told it before and somebody trusted
 * tells it now.
 *
 * @returns how many were kept
 */
export async function insertRewards(
  connection: Connection,
  { round, reward_type, block_index, rewards }: Rewards,
  trusted: boolean
): Promise<number> {
  if (rewards.length === 0) return 0;
  const keys = rewards.map(({ pubkey }) => pubkey.toLowerCase());
  if (trusted)
    await connection.query(
      'DELETE FROM validator_rewards WHERE round_number = ? AND reward_type = ? AND validator_pubkey IN (?) AND NOT trusted',
      [round, reward_type, keys]
    );
  const [{ affectedRows }] = (await connection.query(
    'INSERT IGNORE INTO validator_rewards (validator_pubkey, round_number, reward_type, amount, block_index, trusted) VALUES ?',
    [rewards.map(({ amount }, at) => [keys[at], round, reward_type, amount, block_index, trusted])]
  )) as unknown as [{ affectedRows: number }];
  if (!trusted) await dropOldest(connection);
  return affectedRows;
}

async function dropOldest(connection: Connection): Promise<void> {
  const [counted] = await rows<{ n: number }>(
    connection,
    'SELECT COUNT(*) AS n FROM validator_rewards WHERE trusted = 0'
  );
  const surplus = Number(counted?.n ?? 0) - MOST_BY_STRANGERS;
  if (surplus > 0)
    await connection.query('DELETE FROM validator_rewards WHERE trusted = 0 ORDER BY id LIMIT ?', [surplus]);
}
