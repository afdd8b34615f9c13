import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../../../src/db/connection.ts';
import type { AmendmentMessage } from '../../../../src/wire/data/messages.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { sql } from '../../../support/sql.ts';
import { SourceThread } from '../../../support/sync/source-thread.ts';

/** More than a group reads whole. */
const ROWS = 6_000;

/** A decoder's blocks, and a table of old rows to which each block adds one. */
async function createBlocks(name: string) {
  const database = await createDatabase(name);
  await sql(
    database,
    'CREATE TABLE blocks (block_index INT PRIMARY KEY, block_hash VARCHAR(20) NOT NULL)',
    'CREATE TABLE outputs (block_index INT NOT NULL, v INT NOT NULL, KEY (block_index))',
    `INSERT INTO blocks SELECT seq, CONCAT('h', seq) FROM seq_1_to_${ROWS}`,
    `INSERT INTO outputs SELECT seq, 0 FROM seq_1_to_${ROWS}`,
    'ANALYZE TABLE outputs'
  );
  const connection = await connect(database);
  let height = ROWS;
  return {
    database,
    /** Adds a block in the same transaction as some changes. */
    add: async (...changes: string[]): Promise<number> => {
      height += 1;
      await connection.query('BEGIN');
      await connection.query(`INSERT INTO outputs VALUES (${height}, 1)`);
      for (const change of changes) await connection.query(change);
      await connection.query(`INSERT INTO blocks VALUES (${height}, 'h${height}')`);
      await connection.query('COMMIT');
      return height;
    },
    end: () => connection.destroy()
  };
}

test('changes that a block made far below it come as a numbered amendment, then it is settled', async (t) => {
  const blocks = await createBlocks('amended');
  t.after(blocks.end);
  const source = SourceThread.start(t, blocks.database, 'decoder');
  await source.reaches(ROWS);
  const height = await blocks.add('UPDATE outputs SET v = 7 WHERE block_index = 12');
  await source.until(
    () => source.after.some(({ type, block_index }) => type === 'settled' && block_index === height),
    'settled'
  );
  const { settling, amended_before } = source.messages.at(-1) as unknown as Record<string, unknown>;
  assert.deepEqual({ settling, amended_before }, { settling: true, amended_before: undefined });
  const messages = source.after.filter(({ block_index }) => block_index === height);
  assert.deepEqual(
    messages.map(({ type }) => type),
    ['amendment', 'settled']
  );
  const amendment = messages[0] as AmendmentMessage;
  assert.equal(amendment.number, 1);
  assert.deepEqual(amendment.ranges?.['outputs']?.rows, [{ block_index: 12, v: 7 }]);
  assert.deepEqual(
    { ...messages[1] },
    {
      type: 'settled',
      chain: 'litecoin',
      network: 'regtest',
      dbType: 'decoder',
      block_index: height,
      block_hash: `h${height}`,
      amendments: 1
    }
  );
});
