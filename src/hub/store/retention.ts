import type { Connection } from '../../db/connection.ts';

/** Days for which rows are kept; 0: for ever. */
interface Retention {
  /** Days for rows that callers pushed who are not trusted. */
  readonly untrustedDays: number;
  /** Days for history: old rounds, prices that no longer hold, rewards, reports. */
  readonly historyDays: number;
}

/** Rows of a table that go when they are so old. */
interface AgedRows {
  readonly days: keyof Retention;
  readonly table: string;
  /** The column whose time counts. */
  readonly since: string;
  /** SQL condition on `t`, the table. */
  readonly where: string;
}

/** Rows of a table of which the newest stay. */
interface SurplusRows {
  readonly table: string;
  /** The column by which they are newer. */
  readonly by: string;
  /** SQL condition on `t`, the table. */
  readonly where: string;
}

/** Rows that are deleted in one turn of the writers, some tenths of a second: others wait for it. */
const AT_ONCE = 500;
/** Most rows of each kind of SURPLUS. */
const MOST_OF_EACH = 10_000;
/** The last finalized round of a pair is its price, however old it is. */
const IS_NO_PRICE = `NOT (t.status = 'finalized' AND t.round_number = (
  SELECT n.round_number FROM price_snapshots n WHERE n.coin_pair = t.coin_pair AND n.status = 'finalized' AND n.origin = t.origin
   ORDER BY n.round_number DESC LIMIT 1))`;
/** A later price of the feed holds. */
const IS_REPLACED = `EXISTS (SELECT 1 FROM oracle_prices n WHERE n.source_address = t.source_address AND n.coin = t.coin
  AND n.tick = t.tick AND n.fiat = t.fiat AND n.source_chain = t.source_chain
  AND (n.effective_at, n.id) > (t.effective_at, t.id) AND n.effective_at <= UNIX_TIMESTAMP())`;

/** Every table that callers fill. */
const AGED: readonly AgedRows[] = [
  { days: 'untrustedDays', table: 'chain_tips', since: 'updated_at', where: 'NOT t.trusted' },
  { days: 'untrustedDays', table: 'validator_rewards', since: 'created_at', where: 't.trusted = 0' },
  { days: 'untrustedDays', table: 'price_carriers', since: 'created_at', where: 'NOT t.trusted' },
  { days: 'untrustedDays', table: 'oracle_prices', since: 'created_at', where: `t.trusted = 0 AND ${IS_REPLACED}` },
  { days: 'untrustedDays', table: 'price_snapshots', since: 'created_at', where: `NOT t.trusted AND ${IS_NO_PRICE}` },
  { days: 'historyDays', table: 'chain_tips', since: 'updated_at', where: 'TRUE' },
  { days: 'historyDays', table: 'validator_rewards', since: 'created_at', where: 'TRUE' },
  { days: 'historyDays', table: 'price_carriers', since: 'created_at', where: 'TRUE' },
  { days: 'historyDays', table: 'oracle_prices', since: 'created_at', where: IS_REPLACED },
  { days: 'historyDays', table: 'price_snapshots', since: 'created_at', where: IS_NO_PRICE },
  { days: 'historyDays', table: 'reorg_attestations', since: 'created_at', where: 'TRUE' }
];

/** Condition of a proposal that is decided or over, and is not the last one of its parameter that passed, which holds. */
const IS_PAST = `(t.status IN ('failed', 'expired') OR (t.status = 'voting' AND t.voting_end < 1000 * UNIX_TIMESTAMP())
  OR (t.status = 'passed' AND EXISTS (
    SELECT 1 FROM governance_proposals n WHERE n.parameter = t.parameter AND n.status = 'passed' AND n.id > t.id)))`;

/** Rows that everybody may write to a hub without a key, and of which nothing follows. */
const SURPLUS: readonly SurplusRows[] = [
  { table: 'validators', by: 'updated_at', where: "t.status = 'removed'" },
  { table: 'attestations', by: 'id', where: "t.status <> 'attested'" },
  { table: 'swap_records', by: 'id', where: "t.status IN ('initiated', 'failed')" },
  { table: 'reorg_attestations', by: 'id', where: "t.status <> 'confirmed'" },
  { table: 'governance_proposals', by: 'id', where: IS_PAST }
];

/** Deletes a batch of the rows of which there are too many. @returns whether there may be more */
export async function pruneSurplus(connection: Connection): Promise<boolean> {
  for (const { table, by, where } of SURPLUS) {
    const deleted = await deleteSome(
      connection,
      table,
      `SELECT ${keyOf(table)} FROM ${table} t WHERE ${where} ORDER BY t.${by} DESC LIMIT ${AT_ONCE} OFFSET ${MOST_OF_EACH}`
    );
    if (deleted > 0 && table === 'governance_proposals')
      await connection.query(
        'DELETE v FROM governance_votes v LEFT JOIN governance_proposals p USING (proposal_id) WHERE p.id IS NULL'
      );
    if (deleted === AT_ONCE) return true;
  }
  return false;
}

/** Deletes a batch of the rows that are older than they may get. @returns whether there may be more */
export async function pruneOld(connection: Connection, retention: Retention): Promise<boolean> {
  for (const { days, table, since, where } of AGED) {
    if (retention[days] === 0) continue;
    const deleted = await deleteSome(
      connection,
      table,
      `SELECT ${keyOf(table)} FROM ${table} t WHERE t.${since} < NOW() - INTERVAL ? DAY AND ${where} LIMIT ${AT_ONCE}`,
      [retention[days]]
    );
    if (deleted === AT_ONCE) return true;
  }
  return false;
}

/** Deletes the rows of a table whose keys a query finds. @returns how many */
async function deleteSome(
  connection: Connection,
  table: string,
  query: string,
  values: readonly unknown[] = []
): Promise<number> {
  const [{ affectedRows }] = (await connection.query(
    `DELETE d FROM ${table} d JOIN (${query}) old USING (${keyOf(table)})`,
    [...values]
  )) as unknown as [{ affectedRows: number }];
  return affectedRows;
}

/** Keys of tables that have no id. */
const KEYS: Readonly<Record<string, string>> = {
  validators: 'signing_pubkey',
  chain_tips: 'coin, network',
  price_carriers: 'round_number, source_chain'
};
const keyOf = (table: string) => KEYS[table] ?? 'id';
