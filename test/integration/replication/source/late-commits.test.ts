import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, connect } from '../../../../src/db/connection.ts';
import { inSnapshot } from '../../../../src/db/in-snapshot.ts';
import { readGroup } from '../../../../src/replication/source/reading/group-reader.ts';
import { memoryAtTip } from '../../../../src/replication/source/reading/memory-start.ts';
import { readTip } from '../../../../src/replication/tables/block-hashes.ts';
import { readLayout } from '../../../../src/replication/tables/source-layout.ts';
import { blockMessage } from '../../../../src/wire/data/block.ts';
import type { BlockMessage } from '../../../../src/wire/data/messages.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { sql } from '../../../support/sql.ts';
import { TEST_KEY } from '../../../support/sync/source-thread.ts';

const ID = { dbType: 'decoder', chain: 'litecoin', network: 'regtest' } as const;
/** A table's time of change says nothing about what changed within this time. */
const FRESH_MS = 11_000;

for (const isPrivileged of [true, false])
  test(`a transaction that began in the second of a table's last change and commits much later is sent with the next block (${isPrivileged ? 'with' : 'without'} the right to see open transactions)`, async (t) => {
    const database = await createDatabase('late_commit');
    const open = async (to = database): Promise<Connection> => {
      const connection = await connect(to, { finderKey: TEST_KEY, several: true });
      t.after(() => connection.destroy());
      return connection;
    };
    const writer = await open();
    await writer.query(
      'CREATE TABLE blocks (block_index INT PRIMARY KEY, block_time INT NOT NULL DEFAULT 0, block_hash VARCHAR(64) NOT NULL)'
    );
    await writer.query('CREATE TABLE accounts (id INT PRIMARY KEY, note VARCHAR(20) NOT NULL)');
    await writer.query("INSERT INTO accounts SELECT seq, 'first' FROM seq_1_to_3000");
    await writer.query("INSERT INTO blocks (block_index, block_hash) VALUES (1, 'h1')");
    let account = database;
    if (!isPrivileged) {
      const user = `late_${database.name.slice(-8)}`;
      await sql(
        database,
        `CREATE USER '${user}'@'%' IDENTIFIED BY 'reads'`,
        `GRANT SELECT ON \`${database.name}\`.* TO '${user}'@'%'`
      );
      account = { ...database, user, pass: 'reads' };
    }
    const reader = await open(account);
    const layout = await readLayout(reader, 'decoder');
    const memory = await inSnapshot(reader, async () =>
      memoryAtTip(reader, layout, await readTip(reader, layout.heads!))
    );
    let height = 1;
    const next = async (): Promise<BlockMessage> => {
      height += 1;
      await writer.query(`INSERT INTO blocks (block_index, block_hash) VALUES (${height}, 'h${height}')`);
      let message: BlockMessage | undefined;
      for await (const block of readGroup(reader, 'decoder', [], memory)) {
        message = blockMessage(ID, block);
        memory.accept(block);
      }
      return message!;
    };
    const [late, quick] = [await open(), await open()];
    // Both begin in one second.
    await sleep(1_050 - (Date.now() % 1_000));
    await late.query('BEGIN');
    await quick.query('BEGIN');
    await late.query("UPDATE accounts SET note = 'late' WHERE id = 2");
    await quick.query("UPDATE accounts SET note = 'quick' WHERE id = 1");
    await quick.query('COMMIT');
    assert.match(JSON.stringify(await next()), /quick/);
    await sleep(FRESH_MS);
    for (let count = 0; count < 3; count += 1) await next();
    await late.query('COMMIT');
    assert.match(JSON.stringify(await next()), /late/);
  });

test('a table that was gone with one block and is back with a later one is sent whole, though its rows are the same', async (t) => {
  const database = await createDatabase('table_back');
  const open = async (): Promise<Connection> => {
    const connection = await connect(database, { finderKey: TEST_KEY, several: true });
    t.after(() => connection.destroy());
    return connection;
  };
  const [writer, reader] = [await open(), await open()];
  await writer.query(
    'CREATE TABLE blocks (block_index INT PRIMARY KEY, block_time INT NOT NULL DEFAULT 0, block_hash VARCHAR(64) NOT NULL)'
  );
  await writer.query('CREATE TABLE index_words (id INT AUTO_INCREMENT PRIMARY KEY, word VARCHAR(20) NOT NULL)');
  await writer.query('CREATE TABLE accounts (id INT PRIMARY KEY, note VARCHAR(20) NOT NULL)');
  await writer.query("INSERT INTO accounts SELECT seq, 'first' FROM seq_1_to_6000");
  await writer.query("INSERT INTO index_words (word) SELECT CONCAT('word ', seq) FROM seq_1_to_3000");
  await writer.query("INSERT INTO blocks (block_index, block_hash) VALUES (1, 'h1')");
  const layout = await readLayout(reader, 'decoder');
  const memory = await inSnapshot(reader, async () =>
    memoryAtTip(reader, layout, await readTip(reader, layout.heads!))
  );
  const next = async (height: number): Promise<BlockMessage> => {
    await writer.query(`INSERT INTO blocks (block_index, block_hash) VALUES (${height}, 'h${height}')`);
    let message: BlockMessage | undefined;
    for await (const block of readGroup(reader, 'decoder', [], memory)) {
      message = blockMessage(ID, block);
      memory.accept(block);
    }
    return message!;
  };
  await writer.query('RENAME TABLE accounts TO _aside, index_words TO _words');
  await next(2);
  await writer.query('RENAME TABLE _aside TO accounts, _words TO index_words');
  const { data, ranges } = await next(3);
  assert.equal((data['accounts'] ?? ranges?.['accounts']?.rows ?? []).length, 6_000);
  assert.equal(data['index_words']?.length, 3_000);
});
