import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type PrivateMariaDb, startMariaDb } from '../../src/devnet/processes/mariadb.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { atEnd } from '../support/cleanup.ts';
import { CHAIN_BLOCKS, writeChain } from '../support/decoder/dispenser-chain.ts';
import { query } from '../support/decoder/loop.ts';
import { assertEqualRows } from '../support/decoder/rows.ts';
import { createDatabase, makeServerDirectory } from '../support/mariadb.ts';

/** DISPENSER_KILLS=100 scripts/test.sh test/fault/dispenser-kill.test.ts */
const KILLS = Number(process.env['DISPENSER_KILLS'] ?? 8);
const WRITER = join(import.meta.dirname, '../support/decoder/dispenser-chain.ts');
const MOST_ALIVE_MS = 1_500;

/** Writes the chain in a process of its own. @returns the process and its end: whether it wrote all */
function startWriter(database: DatabaseCoordinates) {
  const child = spawn(process.execPath, [WRITER, JSON.stringify(database)], { stdio: 'ignore' });
  atEnd(async () => void child.kill('SIGKILL'));
  return { child, ended: once(child, 'exit').then(([code]) => code === 0) };
}

test('a decoder and its MariaDB are killed while dispensers are held, end and are forgotten: the rows are those of a calm one', async () => {
  const calm = await createDatabase('calm_dispensers');
  await writeChain(calm);
  const directory = makeServerDirectory();
  let server: PrivateMariaDb = await startMariaDb(directory);
  atEnd(() => server.stop('SIGKILL'));
  const killed = await createDatabase('killed_dispensers', server.root);
  for (let kill = 0; kill < KILLS; kill++) {
    const { child, ended } = startWriter(killed);
    await Promise.race([sleep(200 + Math.random() * MOST_ALIVE_MS), ended]);
    if (kill % 4 === 3) {
      await server.stop('SIGKILL');
      server = await startMariaDb(directory, [], server.port);
    } else child.kill('SIGKILL');
    await ended;
  }
  assert.ok(await startWriter(killed).ended, 'the last writer is left in peace');
  const [found] = await query(killed, 'SELECT COUNT(*) AS count FROM blocks');
  assert.equal(found?.['count'], CHAIN_BLOCKS);
  await assertEqualRows(killed, calm);
  for (const table of ['dispensers', 'dispenser_tills', 'dispenser_holds', 'dispenser_extensions'])
    assert.deepEqual(await query(killed, `SELECT * FROM ${table}`), [], `${table}: all is forgotten`);
});
