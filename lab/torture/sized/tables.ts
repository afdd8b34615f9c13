import type { Connection } from '../../../src/db/connection.ts';
import { BASE_TABLES } from '../base.ts';

/** Rows of the tables of a case: below and above each bound at which a source looks in another way. */
export const SIZES = [5_000, 25_000, 250_000, 2_000_000] as const;
/** Blocks that are there when a replica starts. The rows of the tables are spread over them. */
export const FIRST_BLOCKS = 20_000;
export const FIRST_HEIGHT = 100;
/** A partition of `years` covers so many of its numbers. */
export const YEAR = 5_000;
/** Tables up to this many rows are compared whole at every block. */
const WHOLE_UP_TO = 250_000;

export interface SizedTable {
  readonly name: string;
  /** Column that orders its rows. */
  readonly key: 'id' | 'action_index';
  /** Rows at the start. */
  readonly size: number;
  /** Compared whole at every block; else by touched rows and by turns. */
  readonly isWhole: boolean;
}

const HELD =
  'owner_id BIGINT UNSIGNED NOT NULL, amount VARCHAR(40) NOT NULL, status_id INT NULL, note VARCHAR(60) NULL, KEY (owner_id)';
const ID = 'id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY';

/** Tables whose rows change in place without a stamp (`held`), and tables of blocks whose old rows change (`offers`). */
export function sizedTables(sizes: readonly number[]): readonly SizedTable[] {
  return sizes.flatMap((size) => [
    { name: `held_${size}`, key: 'id' as const, size, isWhole: size <= WHOLE_UP_TO },
    { name: `offers_${size}`, key: 'action_index' as const, size, isWhole: size <= WHOLE_UP_TO }
  ]);
}

/** Makes and fills all tables, and the first blocks. */
export async function createTables(connection: Connection, seed: string, sizes: readonly number[]): Promise<void> {
  const run = (sql: string) => connection.query(sql);
  const create = (name: string, definition: string, rest = '') =>
    run(
      `CREATE TABLE ${name} (${definition}) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci ${rest}`
    );
  for (const [name, definition] of Object.entries(BASE_TABLES.indexer)) await create(name, definition);
  await run(
    `INSERT INTO index_transactions (id, hash) SELECT seq, SHA2(CONCAT('${seed} ', seq), 256) FROM seq_1_to_${2 * FIRST_BLOCKS + 1}`
  );
  await run(
    `INSERT INTO blocks (block_index, block_time, ledger_hash_id, actions_hash_id, contract_hash_id)
     SELECT ${FIRST_HEIGHT} - 1 + seq, 1700000000 + seq * 150, seq * 2, seq * 2 + 1, 1 FROM seq_1_to_${FIRST_BLOCKS}`
  );
  const block = `${FIRST_HEIGHT} + MOD(seq, ${FIRST_BLOCKS})`;
  for (const { name, key, size } of sizedTables(sizes)) {
    const isHeld = key === 'id';
    await create(
      name,
      isHeld
        ? `${ID}, ${HELD}`
        : 'action_index BIGINT UNSIGNED NOT NULL PRIMARY KEY, block_index BIGINT UNSIGNED NOT NULL, remaining VARCHAR(40) NOT NULL, status_id INT NULL, KEY (block_index)'
    );
    await run(
      isHeld
        ? `INSERT INTO ${name} (owner_id, amount, status_id, note) SELECT MOD(seq, 997), seq * 7, MOD(seq, 5), CONCAT('note ', seq) FROM seq_1_to_${size}`
        : `INSERT INTO ${name} SELECT seq, ${block}, seq * 3, MOD(seq, 4) FROM seq_1_to_${size} ORDER BY seq`
    );
  }
  const [small = 0, medium = small] = sizes;
  await create(
    'children',
    `${ID}, held_id BIGINT UNSIGNED NULL, KEY (held_id), CONSTRAINT child_of FOREIGN KEY (held_id) REFERENCES held_${medium} (id) ON DELETE CASCADE ON UPDATE CASCADE`
  );
  await create(
    'heirs',
    `${ID}, held_id BIGINT UNSIGNED NULL, KEY (held_id), CONSTRAINT heir_of FOREIGN KEY (held_id) REFERENCES held_${small} (id) ON DELETE SET NULL ON UPDATE CASCADE`
  );
  await run(`INSERT INTO children (held_id) SELECT id FROM held_${medium} ORDER BY id`);
  await run(`INSERT INTO heirs (held_id) SELECT id FROM held_${small} ORDER BY id`);
  await create('totals', 'kind VARCHAR(20) NOT NULL PRIMARY KEY, n BIGINT NOT NULL');
  await run("INSERT INTO totals VALUES ('changed', 0), ('made', 0)");
  await run(
    `CREATE TRIGGER counts_changes AFTER UPDATE ON held_${small} FOR EACH ROW UPDATE totals SET n = n + 1 WHERE kind = 'changed'`
  );
  await run(
    `CREATE TRIGGER counts_rows AFTER INSERT ON held_${small} FOR EACH ROW UPDATE totals SET n = n + 1 WHERE kind = 'made'`
  );
  for (const name of ['left_side', 'right_side', 'drafts']) {
    await create(name, `${ID}, text VARCHAR(40) NOT NULL`);
    await run(`INSERT INTO ${name} (text) SELECT CONCAT('${name} ', seq) FROM seq_1_to_${small}`);
  }
  await create(
    'years',
    'id BIGINT UNSIGNED NOT NULL PRIMARY KEY, text VARCHAR(40) NOT NULL',
    `PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (${YEAR}), PARTITION p1 VALUES LESS THAN (${2 * YEAR}), PARTITION p2 VALUES LESS THAN MAXVALUE)`
  );
  await create('aside', 'id BIGINT UNSIGNED NOT NULL PRIMARY KEY, text VARCHAR(40) NOT NULL');
  await run(`INSERT INTO years SELECT seq, CONCAT('year ', seq) FROM seq_1_to_${3 * YEAR}`);
  await run(`INSERT INTO aside SELECT seq, CONCAT('aside ', seq) FROM seq_${YEAR}_to_${YEAR + 1_000}`);
  await create('index_memos', `${ID}, memo VARCHAR(200) COLLATE utf8mb4_bin NOT NULL UNIQUE`);
  await run("INSERT INTO index_memos (memo) SELECT CONCAT('memo ', seq) FROM seq_1_to_10000");
}
