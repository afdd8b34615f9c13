import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readTip } from '../../src/db/block-hashes.ts';
import { inSnapshot, readGroup } from '../../src/db/block-reader.ts';
import { type Connection, connect, rows } from '../../src/db/connection.ts';
import { readLayout } from '../../src/db/source-layout.ts';
import { SourceMemory } from '../../src/db/source-memory.ts';
import { readArguments } from '../support/arguments.ts';
import { createDatabase } from '../support/mariadb.ts';

readArguments('npm run bench -- change-finding', {}, () => undefined);

const TICKS_PER_SECOND = 100;
const SIZES = [100_000, 1_000_000];
const ROUNDS = 5;

/** CPU seconds that MariaDB has used so far. */
async function serverCpuSeconds(connection: Connection): Promise<number> {
  const [row] = await rows(connection, 'SELECT @@pid_file AS file');
  const pid = readFileSync(String(row?.['file']), 'utf8').trim();
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

const best = (list: readonly number[]) => Math.min(...list).toFixed(3);

for (const size of SIZES) {
  test(`one block of a source with ${size} mutable rows`, async (t) => {
    const connection = await connect(await createDatabase('bench'));
    for (const statement of [
      'CREATE TABLE blocks (block_index INT PRIMARY KEY, block_hash VARCHAR(9) NOT NULL)',
      `CREATE TABLE holdings (address_id INT UNSIGNED NOT NULL, tick_id INT UNSIGNED NOT NULL, amount DECIMAL(38,18) NOT NULL,
        memo VARCHAR(80) NULL, PRIMARY KEY (address_id, tick_id))`,
      `INSERT INTO holdings SELECT seq DIV 200, seq MOD 200, seq * 1.000000000000000001, SHA2(seq, 256) FROM seq_1_to_${size}`,
      "INSERT INTO blocks VALUES (1, 'h1')"
    ])
      await connection.query(statement);
    let height = 1;
    const memory = await inSnapshot(connection, async () => {
      const layout = await readLayout(connection, 'decoder');
      return SourceMemory.atTip(connection, layout, await readTip(connection, layout.heads!));
    });
    /** Adds a block and finds what it changed. @returns seconds, of the clock, of this process and of MariaDB */
    const measure = async (changed: number): Promise<readonly [number, number, number]> => {
      await connection.query('INSERT INTO blocks VALUES (?, ?)', [++height, `h${height}`]);
      if (changed > 0)
        await connection.query('UPDATE holdings SET amount = amount + 1 ORDER BY tick_id LIMIT ?', [changed]);
      const [server, own, began] = [await serverCpuSeconds(connection), process.cpuUsage(), performance.now()];
      let found = 0;
      for await (const block of readGroup(connection, 'decoder', [], memory)) {
        memory.accept(block);
        found += block.changes?.tables.get('holdings')?.updated.length ?? 0;
      }
      assert.equal(found, changed);
      const { user, system } = process.cpuUsage(own);
      const seconds = (performance.now() - began) / 1000;
      return [seconds, (user + system) / 1e6, (await serverCpuSeconds(connection)) - server];
    };
    for (const changed of [0, 1, 1_000]) {
      const runs: (readonly [number, number, number])[] = [];
      for (let round = 0; round < ROUNDS; round += 1) runs.push(await measure(changed));
      const [clock, own, server] = [0, 1, 2].map((at) => best(runs.map((run) => run[at]!)));
      t.diagnostic(
        `${size} rows, ${changed} changed: ${clock} s, CPU ${own} s here and ${server} s of MariaDB's (best of ${ROUNDS})`
      );
    }
    t.diagnostic(`memory in use: ${Math.round(process.memoryUsage().rss / 2 ** 20)} MiB`);
    await connection.end();
  });
}
