import type { Statements } from '../../db/connection.ts';

/** Expression for the least price of a row `w` at its opening: 0 where an earlier release kept none. */
export const LEAST_PRICE = `COALESCE((SELECT MIN(p.least) FROM dispenser_watches p
    WHERE p.tx_index = w.tx_index AND p.address_id = w.address_id), 0)`;

/**
 * Keys of rows, `k (tx_index, address_id)`, to be joined. A list of pairs after IN would read the whole table from 500
 * pairs on, and takes a time that grows with its square below.
 */
export const KEYS = '(WITH k (tx_index, address_id) AS (VALUES ?) SELECT * FROM k) k';

/**
 * Ids, `k (id)`, to be joined before a table whose index is forced. A list after IN would read the whole table from 200
 * ids on: MariaDB then asks statistics in place of the index, and those of a table that it keeps open may be old.
 */
export const IDS = '(WITH k (id) AS (VALUES ?) SELECT * FROM k) k';

/** Returns an expression for the latest expiration that an address asked for: one entry of an index. @param id expression */
export function latestExtension(id: string): string {
  return `COALESCE((SELECT own.expiration FROM dispenser_extensions own
    FORCE INDEX (dispenser_extensions_address) WHERE own.address_id = ${id} ORDER BY own.expiration DESC LIMIT 1), 0)`;
}

/**
 * Returns a condition: an address is the source or the paid address of a dispenser that is open or ended after a block,
 * whose height fills both question marks. Each part reads one entry of an index.
 *
 * @param id expression for the address
 */
export function isPartySince(id: string): string {
  const parts = [
    `FORCE INDEX (dispenser_tills_pairs) WHERE p.source_id = ${id}`,
    `FORCE INDEX (dispenser_tills_takers) WHERE p.address_id = ${id} AND p.is_own = FALSE`
  ];
  const conditions = parts.flatMap((part) => [
    `EXISTS (SELECT 1 FROM dispenser_tills p ${part} AND p.ended IS NULL)`,
    `COALESCE((SELECT p.ended FROM dispenser_tills p ${part} ORDER BY p.ended DESC LIMIT 1) > ?, FALSE)`
  ]);
  return `(${conditions.join(' OR ')})`;
}

const STATEMENTS = [
  `DELETE w FROM dispenser_tills w LEFT JOIN dispensers d USING (tx_index, address_id)
   LEFT JOIN transactions t USING (tx_index)
   WHERE NOT w.source_id <=> t.source_id OR (d.tx_index IS NULL AND w.ended IS NULL)
     OR (d.tx_index IS NOT NULL AND NOT w.ended <=> d.expired_block_index)
     OR (w.ended IS NULL AND (w.due <> COALESCE(d.expiration, 0) OR w.least <> ${LEAST_PRICE}))
     OR (w.ended IS NULL AND w.due IS NULL AND (w.source_id, w.address_id) NOT IN (SELECT source_id, address_id FROM dispenser_holds))`,
  `INSERT INTO dispenser_tills (tx_index, address_id, source_id, is_own, least, due, ended)
   SELECT w.tx_index, w.address_id, t.source_id, t.source_id = w.address_id, ${LEAST_PRICE},
     IF(w.expired_block_index IS NULL, COALESCE(w.expiration, 0), NULL), w.expired_block_index
   FROM dispensers w JOIN transactions t USING (tx_index)
   LEFT JOIN dispenser_tills known USING (tx_index, address_id) WHERE known.tx_index IS NULL`
];

/**
 * Makes the tills what the other tables say, since releases before this one keep none: rows of dispensers that no edit
 * or payment changed stay, and others get the bounds of their openings.
 *
 * @throws what the connection throws
 */
export async function refreshTills(connection: Statements): Promise<void> {
  for (const statement of STATEMENTS) await connection.query(`SET STATEMENT max_statement_time = 0 FOR ${statement}`);
}
