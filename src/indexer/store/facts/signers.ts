import { rows, type Statements } from '../../../db/connection.ts';
import { REVOKE_FORMAT } from '../../actions/validators/delegate.ts';
import { MOST_ROUNDS, type PriceRound } from '../../state/facts.ts';
import type { Cooling, Delegation, Signer, Stake } from '../../state/signer.ts';
import { readDecimal, readWhole, readWholeOrNull } from '../read-decimal.ts';
import { VALID_STATUS } from '../valid-status.ts';

type Row = Record<string, string | number | null>;

/** Reads keys as the ledger has them, by their 64 hex digits. Keys that no action has named are missing. */
export async function readSigners(connection: Statements, pubkeys: readonly string[]): Promise<Map<string, Signer>> {
  const named = await rows<{ id: number; pubkey: string }>(
    connection,
    'SELECT id, pubkey FROM index_pubkeys WHERE pubkey IN (?)',
    [pubkeys]
  );
  if (named.length === 0) return new Map();
  const ids = named.map(({ id }) => id);
  const rowsOf = async (table: string, join = '') =>
    Map.groupBy(
      await rows<Row>(
        connection,
        `SELECT r.*, a.address AS source FROM ${table} r JOIN index_addresses a ON a.id = r.source_id ${join}
         WHERE r.signing_pubkey_id IN (?) AND r.status_id = ${VALID_STATUS} ORDER BY r.action_index`,
        [ids]
      ),
      (row) => Number(row['signing_pubkey_id'])
    );
  // A revocation has a row of its own, which is no delegation.
  const unlessRevoke = `JOIN actions x ON x.action_index = r.action_index AND x.action_format <> ${REVOKE_FORMAT}`;
  const [stakes, delegations] = [await rowsOf('stakes'), await rowsOf('delegations', unlessRevoke)];
  const ends = await rows<{ id: number; revoked: number | null; banned: number }>(
    connection,
    `SELECT k.id,
       (SELECT MIN(r.deactivation_block) FROM stake_key_revocations r
        WHERE r.signing_pubkey_id = k.id AND r.status_id = ${VALID_STATUS}) AS revoked,
       EXISTS (SELECT 1 FROM capability_slash_events e WHERE e.signing_pubkey_id = k.id) AS banned
     FROM index_pubkeys k WHERE k.id IN (?)`,
    [ids]
  );
  const cooling = Map.groupBy(
    await rows<Row>(
      connection,
      `SELECT u.*, a.address AS source FROM unstakes u JOIN index_addresses a ON a.id = u.source_id
       WHERE u.signing_pubkey_id IN (?) AND u.status_id = ${VALID_STATUS} ORDER BY u.action_index`,
      [ids]
    ),
    (row) => Number(row['signing_pubkey_id'])
  );
  const endOf = new Map(ends.map((end) => [end.id, end]));
  return new Map(
    named.map(({ id, pubkey }) => {
      const { revoked = null, banned = 0 } = endOf.get(id) ?? {};
      return [
        pubkey,
        {
          stakes: (stakes.get(id) ?? []).map(stakeOf),
          delegations: (delegations.get(id) ?? []).map(spanOf),
          revokedFrom: revoked === null ? null : Number(revoked),
          cooling: (cooling.get(id) ?? []).map(coolingOf),
          isBanned: Number(banned) === 1
        }
      ];
    })
  );
}

/** Reads every key that was ever staked behind or delegated, in the order of their ids. No key of a refused row is read. */
export async function readKeys(connection: Statements): Promise<string[]> {
  const keysIn = (table: string) =>
    `SELECT DISTINCT signing_pubkey_id AS id FROM ${table} WHERE status_id = ${VALID_STATUS}`;
  const found = await rows<{ pubkey: string }>(
    connection,
    `SELECT k.pubkey FROM (${keysIn('stakes')} UNION ${keysIn('delegations')}) valid
     STRAIGHT_JOIN index_pubkeys k ON k.id = valid.id ORDER BY k.id`
  );
  return found.map(({ pubkey }) => pubkey);
}

/** Returns the finalised rounds of prices among `rounds`. */
export async function readPricedRounds(connection: Statements, rounds: readonly number[]): Promise<Set<number>> {
  const found = await rows<{ round: number }>(
    connection,
    `SELECT round_number AS round FROM prices WHERE round_number IN (?) AND status_id = ${VALID_STATUS}`,
    [rounds]
  );
  return new Set(found.map(({ round }) => Number(round)));
}

/**
 * Reads the valid rounds of prices with the highest numbers, the highest first.
 *
 * @param height last block that may have written one; default: all may
 */
export async function readRounds(connection: Statements, height = Number.MAX_SAFE_INTEGER): Promise<PriceRound[]> {
  const found = await rows<{ round: number; timestamp: number; pairs: string }>(
    connection,
    `SELECT p.round_number AS round, p.round_timestamp AS timestamp, p.pairs_json AS pairs FROM prices p
     JOIN actions x ON x.action_index = p.action_index
     WHERE p.version = 0 AND p.validation_status = 'valid' AND p.status_id = ${VALID_STATUS} AND x.block_index <= ?
     ORDER BY p.round_number DESC LIMIT ${MOST_ROUNDS}`,
    [height]
  );
  return found.map(({ round, timestamp, pairs }) => {
    return { round: readWhole(round), timestamp: readWhole(timestamp), pairs: JSON.parse(pairs) };
  });
}

function spanOf(row: Row): Delegation {
  return {
    index: Number(row['action_index']),
    source: String(row['source']),
    from: readWhole(row['activation_block']),
    to: readWholeOrNull(row['deactivation_block'])
  };
}

function stakeOf(row: Row): Stake {
  return { ...spanOf(row), amount: readDecimal(row['amount']) };
}

function coolingOf(row: Row): Cooling {
  return {
    index: Number(row['action_index']),
    source: String(row['source']),
    amount: readDecimal(row['amount']),
    until: readWhole(row['cooldown_end_block'])
  };
}

/** Reads the keys that addresses have ever staked behind, by address, in the order of their first stakes. */
export async function readKeysOf(connection: Statements, addresses: readonly string[]): Promise<Map<string, string[]>> {
  const found = await rows<{ source: string; pubkey: string }>(
    connection,
    `SELECT a.address AS source, k.pubkey FROM index_addresses a JOIN stakes s ON s.source_id = a.id
     JOIN index_pubkeys k ON k.id = s.signing_pubkey_id
     WHERE a.address IN (?) AND s.status_id = ${VALID_STATUS} GROUP BY a.id, k.id ORDER BY MIN(s.action_index)`,
    [addresses]
  );
  const keys = Map.groupBy(found, ({ source }) => source);
  return new Map([...keys].map(([source, rows]) => [source, rows.map(({ pubkey }) => pubkey)]));
}

/** Reads what addresses have earned and not yet claimed, as counts of 10^-18, by address. */
export async function readUnclaimed(
  connection: Statements,
  addresses: readonly string[]
): Promise<Map<string, bigint>> {
  const sumOf = (table: string, where: string) =>
    `(SELECT COALESCE(SUM(CAST(r.amount AS DECIMAL(60,18))), 0) FROM ${table} r WHERE r.source_id = a.id${where})`;
  const found = await rows<{ address: string; earned: string; claimed: string }>(
    connection,
    `SELECT a.address, ${sumOf('validator_rewards', '')} AS earned,
       ${sumOf('reward_claims', ` AND r.status_id = ${VALID_STATUS}`)} AS claimed
     FROM index_addresses a WHERE a.address IN (?)`,
    [addresses]
  );
  return new Map(found.map(({ address, earned, claimed }) => [address, readDecimal(earned) - readDecimal(claimed)]));
}

/** Reads the unstakes whose cooldown ends at the given heights, by height. */
export async function readCooling(connection: Statements, heights: readonly number[]): Promise<Map<number, Cooling[]>> {
  const found = await rows<Row>(
    connection,
    `SELECT u.action_index, u.cooldown_end_block, u.amount, a.address AS source FROM unstakes u
     JOIN index_addresses a ON a.id = u.source_id
     WHERE u.cooldown_end_block IN (?) AND u.status_id = ${VALID_STATUS}`,
    [heights]
  );
  const byHeight = Map.groupBy(found, (row) => Number(row['cooldown_end_block']));
  return new Map([...byHeight].map(([height, rows]) => [height, rows.map(coolingOf)]));
}
