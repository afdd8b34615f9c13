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

const AT_ONCE = 5_000;
/** The last finalized round of a pair is its price, however old it is. */
const IS_NO_PRICE = `NOT (t.status = 'finalized' AND t.id = (
  SELECT MAX(n.id) FROM price_snapshots n WHERE n.coin_pair = t.coin_pair AND n.status = 'finalized' AND n.origin = t.origin))`;
/** A later price of the feed holds. */
const IS_REPLACED = `EXISTS (SELECT 1 FROM oracle_prices n WHERE n.source_address = t.source_address AND n.coin = t.coin
  AND n.tick = t.tick AND n.fiat = t.fiat AND n.source_chain = t.source_chain
  AND (n.effective_at, n.id) > (t.effective_at, t.id) AND n.effective_at <= UNIX_TIMESTAMP())`;

/** Every table that callers fill. */
const AGED: readonly AgedRows[] = [
  { days: 'untrustedDays', table: 'chain_tips', since: 'updated_at', where: 'NOT t.trusted' },
  { days: 'untrustedDays', table: 'validator_rewards', since: 'created_at', where: 'NOT t.trusted' },
  { days: 'untrustedDays', table: 'price_carriers', since: 'created_at', where: 'NOT t.trusted' },
  { days: 'untrustedDays', table: 'oracle_prices', since: 'created_at', where: `NOT t.trusted AND ${IS_REPLACED}` },
  { days: 'untrustedDays', table: 'price_snapshots', since: 'created_at', where: `NOT t.trusted AND ${IS_NO_PRICE}` },
  { days: 'historyDays', table: 'chain_tips', since: 'updated_at', where: 'TRUE' },
  { days: 'historyDays', table: 'validator_rewards', since: 'created_at', where: 'TRUE' },
  { days: 'historyDays', table: 'price_carriers', since: 'created_at', where: 'TRUE' },
  { days: 'historyDays', table: 'oracle_prices', since: 'created_at', where: IS_REPLACED },
  { days: 'historyDays', table: 'price_snapshots', since: 'created_at', where: IS_NO_PRICE },
  { days: 'historyDays', table: 'reorg_attestations', since: 'created_at', where: 'TRUE' }
];

/** Deletes a batch of the rows that are older than they may get. @returns whether there may be more */
export async function pruneOld(connection: Connection, retention: Retention): Promise<boolean> {
  for (const { days, table, since, where } of AGED) {
    if (retention[days] === 0) continue;
    const [{ affectedRows }] = (await connection.query(
      `DELETE d FROM ${table} d JOIN (
         SELECT ${keyOf(table)} FROM ${table} t WHERE t.${since} < NOW() - INTERVAL ? DAY AND ${where} LIMIT ${AT_ONCE}) old
         USING (${keyOf(table)})`,
      [retention[days]]
    )) as unknown as [{ affectedRows: number }];
    if (affectedRows === AT_ONCE) return true;
  }
  return false;
}

/** Keys of tables that have no id. */
const KEYS: Readonly<Record<string, string>> = {
  chain_tips: 'coin, network',
  price_carriers: 'round_number, source_chain'
};
const keyOf = (table: string) => KEYS[table] ?? 'id';
