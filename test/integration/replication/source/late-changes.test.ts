import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Connection, connect, rows } from '../../../../src/db/connection.ts';
import { inSnapshot } from '../../../../src/db/in-snapshot.ts';
import { START_ROWS } from '../../../../src/replication/source/changes/table-watch.ts';
import { readGroup } from '../../../../src/replication/source/reading/group-reader.ts';
import { memoryAtTip, resumeMemory } from '../../../../src/replication/source/reading/memory-start.ts';
import { readTip } from '../../../../src/replication/tables/block-hashes.ts';
import { readLayout } from '../../../../src/replication/tables/source-layout.ts';
import { blockMessage } from '../../../../src/wire/data/block.ts';
import type { BlockMessage, WireRow } from '../../../../src/wire/data/messages.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { TEST_KEY } from '../../../support/sync/source-thread.ts';
import { LATE_KINDS, type LateKind } from '../../../support/tables-in-use/late-changes.ts';
import { createLedger } from '../../../support/tables-in-use/ledger.ts';

const ID = { dbType: 'indexer', chain: 'dogecoin', network: 'mainnet' } as const;
/** The longest cooldown, and what is older than a source once compared. */
const DEPTHS = [1, 1_100, 10_080];
const RESUMED_DEPTHS = [1_100];

/** Repeats rows of a table, under their own actions, until it has about so many. */
async function multiply(writer: Connection, table: string, count: number): Promise<void> {
  const found = await rows(writer, `SELECT COUNT(*) AS n FROM ${table}`);
  const columns = await rows(
    writer,
    `SELECT GROUP_CONCAT(CONCAT('t.', column_name)) AS list FROM information_schema.columns
     WHERE table_schema = DATABASE() AND table_name = '${table}' AND column_name <> 'id'`
  );
  const list = String(columns[0]!['list']);
  const times = Math.ceil(count / Number(found[0]!['n']));
  await rows(
    writer,
    `INSERT INTO ${table} (${list.replaceAll('t.', '')}) SELECT ${list} FROM ${table} t JOIN seq_1_to_${times}`
  );
  await rows(writer, `ANALYZE TABLE ${table}`); // a source takes the number of rows from the statistics
}

/** Whether a message brings a row, or says of the part in which it was what is there now. */
function tells(message: BlockMessage, table: string, key: WireRow, block: number | null): boolean {
  const { data, updated_rows = {}, deleted_rows = {}, ranges = {} } = message;
  const part = ranges[table];
  const lists = [data[table], updated_rows[table], deleted_rows[table], part?.rows];
  const isRow = (row: WireRow) => Object.entries(key).every(([name, value]) => String(row[name]) === String(value));
  if (lists.some((list) => list?.some(isRow))) return true;
  const value = part?.column === 'block_index' ? block : Number(key[part?.column ?? '']);
  return part?.spans.some((span) => span && value !== null && value >= span[0] && value <= span[1]) ?? false;
}

for (const isResumed of [false, true]) {
  const who = isResumed ? ', by an actor that has just taken over too' : '';
  test(`every late change that indexers in use make is sent with its block, however old the row is${who}`, (t) =>
    checkLateChanges(t, isResumed));
}

async function checkLateChanges(t: TestContext, isResumed: boolean): Promise<void> {
  const database = await createDatabase('late');
  const writer = await connect(database);
  t.after(() => writer.destroy());
  const ledger = await createLedger(writer, { dbType: 'indexer', seed: 'late', size: 'small', chain: 'dogecoin' });
  // A successor knows nothing of the older rows of a table that is not known whole.
  if (isResumed) await multiply(writer, 'credits', 3 * START_ROWS);
  const reader = await connect(database, { finderKey: TEST_KEY, several: true });
  t.after(() => reader.destroy());
  const layout = await readLayout(reader, 'indexer');
  let memory = await inSnapshot(reader, async () => memoryAtTip(reader, layout, await readTip(reader, layout.heads!)));
  const lost: string[] = [];
  const seen = new Set<LateKind>();
  for (const depth of isResumed ? RESUMED_DEPTHS : DEPTHS) {
    for (const kind of LATE_KINDS) {
      // A contract's cooldown is its own, and none is that long.
      if (kind === 'contractRefund' && depth > 4_032) continue;
      const { changes } = await ledger.writeBlock({ actions: 1, late: [{ kind, depth }] });
      if (isResumed) {
        const point = memory.point();
        memory = await inSnapshot(reader, () => resumeMemory(reader, layout, point, false));
      }
      let message: BlockMessage | undefined;
      for await (const block of readGroup(reader, 'indexer', [], memory)) {
        message = blockMessage(ID, block);
        memory.accept(block);
      }
      for (const change of changes) {
        seen.add(change.kind as LateKind);
        // A refund is a credit under the old action.
        for (const table of [change.table, ...(change.kind.endsWith('Refund') ? ['credits'] : [])])
          if (!tells(message!, table, change.key, change.block))
            lost.push(`${change.kind}, ${depth} blocks old: ${table} ${JSON.stringify(change.key)}`);
      }
    }
  }
  assert.deepEqual(lost, []);
  assert.deepEqual(
    [...LATE_KINDS].filter((kind) => !seen.has(kind)),
    [],
    'each kind was tried'
  );
}
