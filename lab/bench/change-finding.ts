import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Connection, connect, rows } from '../../src/db/connection.ts';
import { inSnapshot } from '../../src/db/in-snapshot.ts';
import { readGroup } from '../../src/replication/source/reading/group-reader.ts';
import { memoryAtTip } from '../../src/replication/source/reading/memory-start.ts';
import { Sweep } from '../../src/replication/source/reading/sweep.ts';
import { readTip } from '../../src/replication/tables/block-hashes.ts';
import { readLayout } from '../../src/replication/tables/source-layout.ts';
import { blockMessage, encodeMessage } from '../../src/wire/data/block.ts';
import { DB_TYPES } from '../../src/wire/data/database.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { createDatabase } from '../../test/support/mariadb.ts';
import { TEST_KEY } from '../../test/support/sync/source-thread.ts';
import { PLAIN_SEND } from '../../test/support/tables-in-use/actions.ts';
import { createLedger } from '../../test/support/tables-in-use/ledger.ts';
import { chooseParts } from './support/parts.ts';

const KINDS = Object.fromEntries(DB_TYPES.map((dbType) => [dbType, dbType]));
const { large, dbTypes } = readArguments(
  'npm run bench -- change-finding [--large] [--only indexer|decoder]',
  { large: { type: 'boolean' }, only: { type: 'string' } },
  ({ large, only }) => ({ large: large === true, dbTypes: chooseParts(only, KINDS) })
);

const TICKS_PER_SECOND = 100;
const BLOCKS = 40;
const SENDS = Array.from({ length: 10 }, () => PLAIN_SEND);
const TRANSACTIONS = 10;
/** Until MariaDB's times of the tables' last change, which the history's writing moved, are old. */
const SETTLE_MS = 11_000;

/** CPU milliseconds that MariaDB has used so far. */
async function serverCpuMs(connection: Connection): Promise<number> {
  const [row] = await rows(connection, 'SELECT @@pid_file AS file');
  const pid = readFileSync(String(row?.['file']), 'utf8').trim();
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1000;
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Memory of what is still needed. */
function heldMb(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return Math.round((heapUsed + external) / 2 ** 20);
}

const median = (list: readonly number[]) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)]!;

for (const dbType of dbTypes) {
  for (const size of large ? (['1M', '10M'] as const) : (['1M'] as const)) {
    test(`cost of a block for the source of a ${dbType} of ${size} rows`, async (t) => {
      const database = await createDatabase('bench');
      const writer = await connect(database);
      const ledger = await createLedger(writer, { dbType, seed: 'bench', size });
      await sleep(SETTLE_MS);
      const connection = await connect(database, { finderKey: TEST_KEY, several: true });
      const layout = await readLayout(connection, dbType);
      const before = heldMb();
      const memory = await inSnapshot(connection, async () =>
        memoryAtTip(connection, layout, await readTip(connection, layout.heads!))
      );
      const sweep = new Sweep();
      const began = performance.now();
      let steps = 0;
      while (sweep.report.passes === 0 && (await inSnapshot(connection, () => step()))) steps += 1;
      const seconds = (performance.now() - began) / 1000;
      t.diagnostic(
        `a pass of the sweep: ${steps} steps, ${seconds.toFixed(1)} s; the source needs ${heldMb() - before} MiB for what it knows then`
      );
      const [server, own, bytes, marketBytes]: [number[], number[], number[], number[]] = [[], [], [], []];
      for (let block = 0; block < BLOCKS; block += 1) {
        await ledger.writeBlock({ actions: dbType === 'indexer' ? SENDS : TRANSACTIONS });
        const [serverBefore, ownBefore] = [await serverCpuMs(connection), process.cpuUsage()];
        for await (const read of readGroup(connection, dbType, [], memory)) {
          const message = blockMessage({ dbType, chain: 'bitcoin', network: 'mainnet' }, read);
          bytes.push(encodeMessage(message).byteLength);
          marketBytes.push(JSON.stringify(message.updated_rows?.['markets'] ?? []).length);
          memory.accept(read);
        }
        const { user, system } = process.cpuUsage(ownBefore);
        own.push((user + system) / 1000);
        server.push((await serverCpuMs(connection)) - serverBefore);
      }
      const mean = server.reduce((sum, each) => sum + each, 0) / BLOCKS;
      t.diagnostic(
        `${dbType} of ${size}: CPU of a block ${mean.toFixed(0)} ms of MariaDB's and ${median(own).toFixed(0)} ms here; a message of ${median(bytes)} bytes, of which ${median(marketBytes)} are prices of markets`
      );
      await connection.end();
      await writer.end();

      function step(): Promise<object | null> {
        return sweep.step(connection, layout, memory.watches, memory.height);
      }
    });
  }
}
