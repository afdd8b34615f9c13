import type { ColumnCheck } from './column-checks.ts';

const NUMBER = 'CAST(amount AS DECIMAL(60,18))';

/** Balances are what was credited less what was debited; nothing is below zero. */
const BALANCES: ColumnCheck = {
  what: 'balances.amount is the sum of credits less that of debits',
  table: 'balances',
  wrong: `SELECT address_id, tick_id, SUM(held) AS balance, SUM(moved) AS moved FROM (
      SELECT address_id, tick_id, ${NUMBER} AS held, 0 AS moved FROM balances
      UNION ALL SELECT address_id, tick_id, 0, ${NUMBER} FROM credits
      UNION ALL SELECT address_id, tick_id, 0, -${NUMBER} FROM debits
    ) all_rows GROUP BY address_id, tick_id HAVING balance <> moved OR balance < 0`
};

/** A supply is what was credited less what was debited, and what is in escrow. */
const SUPPLIES: ColumnCheck = {
  what: 'tokens.supply is credits less debits, and escrows',
  table: 'tokens',
  wrong: `SELECT tick_id, SUM(supply) AS supply, SUM(moved) AS moved FROM (
      SELECT tick_id, CAST(supply AS DECIMAL(60,18)) AS supply, 0 AS moved FROM tokens
      UNION ALL SELECT tick_id, 0, ${NUMBER} FROM credits
      UNION ALL SELECT tick_id, 0, -${NUMBER} FROM debits
      UNION ALL SELECT tick_id, 0, ${NUMBER} FROM escrows
    ) all_rows GROUP BY tick_id HAVING supply <> moved`
};

const ESCROWS: ColumnCheck = {
  what: 'what leaves the escrows of a ticker came into them',
  table: 'escrows',
  wrong: `SELECT tick_id, SUM(${NUMBER}) AS escrow FROM escrows GROUP BY tick_id HAVING escrow < 0`
};

/** Sums that a ledger's tables must agree on. */
export const SUM_CHECKS: readonly ColumnCheck[] = [BALANCES, SUPPLIES, ESCROWS];

/** Checks that an obligation and its payment of coins have the same amount in the tables of both. */
export const PAYMENT_CHECKS: readonly ColumnCheck[] = [
  {
    what: 'coinpays.coin_amount covers what coinpay_obligations.coin_amount says, in one unit',
    table: 'coinpays',
    wrong: `SELECT p.action_index, p.coin_amount, o.coin_amount AS owed FROM coinpays p
      JOIN coinpay_obligations o ON o.action_index = p.obligation_action_index JOIN index_statuses s ON s.id = p.status_id
      WHERE s.status = 'valid' AND NOT CAST(p.coin_amount AS DECIMAL(60,18)) BETWEEN CAST(o.coin_amount AS DECIMAL(60,18))
        AND 10000000 * CAST(o.coin_amount AS DECIMAL(60,18))`
  }
];
