import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { IndexerStore } from '../../../../src/indexer/store/store.ts';
import type { DatabaseCoordinates } from '../../../../src/wire/data/database.ts';
import { blockOfShape, type Shape } from '../../../../test/support/cost/cost.ts';
import { ATTACKER, blockOf, prepare, transactionOf } from '../../../../test/support/cost/prepared.ts';
import { rulesOfScale, scaledBy } from '../../../../test/support/cost/scale.ts';
import { sql } from '../../../../test/support/sql.ts';

const STATEMENT_LIMIT_S = 600;
const KIBIBYTES_PER_MEBIBYTE = 1_024;
const BYTES_PER_MEBIBYTE = 2 ** 20;
/** Makes Linux forget the highest memory that a process had. */
const FORGET_PEAK = '5';
const FULL = scaledBy(1);

/** Cost of a block for an indexer with its database. */
export interface Written {
  readonly seconds: number;
  readonly mebibytes: number;
  /** Growth of the files of its tables. */
  readonly storedMebibytes: number;
}

/** Task of the process that writes the block. */
interface Task {
  readonly database: DatabaseCoordinates;
  readonly height: number;
  readonly texts: readonly string[];
}

/** Indexes what earlier blocks hold, then the costliest block, in a process of its own that has just started. */
export async function writeWorst(shape: Shape, database: DatabaseCoordinates): Promise<Written> {
  const { blocks, prepared } = prepare(FULL);
  const store = await open(database);
  for (const block of blocks) await store.addBlocks([block]);
  store.close();
  const texts = blockOfShape(shape, prepared, FULL).transactions.map(({ data }) => data);
  const input = JSON.stringify({ database, height: prepared.height, texts } satisfies Task);
  const before = await tableBytes(database);
  const { stdout, stderr } = spawnSync(process.execPath, [fileURLToPath(import.meta.url)], { input, encoding: 'utf8' });
  const storedMebibytes = ((await tableBytes(database)) - before) / BYTES_PER_MEBIBYTE;
  try {
    return { ...(JSON.parse(stdout) as Omit<Written, 'storedMebibytes'>), storedMebibytes };
  } catch (cause) {
    throw new Error(`the worst block was not written: ${stderr}`, { cause });
  }
}

/** Bytes of the files of all tables. */
async function tableBytes(database: DatabaseCoordinates): Promise<number> {
  const like = `'${database.name.replaceAll('_', '\\\\_')}/%'`;
  const [sum] = await sql(
    database,
    `SELECT SUM(FILE_SIZE) AS bytes FROM information_schema.INNODB_SYS_TABLESPACES WHERE NAME LIKE ${like}`
  );
  return Number(sum!['bytes']);
}

function open(database: DatabaseCoordinates): Promise<IndexerStore> {
  return IndexerStore.open(database, rulesOfScale(FULL), STATEMENT_LIMIT_S);
}

async function write({ database, height, texts }: Task): Promise<Omit<Written, 'storedMebibytes'>> {
  const store = await open(database);
  const block = blockOf(
    height,
    texts.map((data, place) => transactionOf(ATTACKER, data, height, place))
  );
  writeFileSync('/proc/self/clear_refs', FORGET_PEAK);
  const before = memory('VmRSS');
  const began = performance.now();
  await store.addBlocks([block]);
  const seconds = (performance.now() - began) / 1_000;
  store.close();
  return { seconds, mebibytes: memory('VmHWM') - before };
}

function memory(name: 'VmRSS' | 'VmHWM'): number {
  const [, kibibytes] = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(readFileSync('/proc/self/status', 'utf8'))!;
  return Number(kibibytes) / KIBIBYTES_PER_MEBIBYTE;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const task = JSON.parse(await text(process.stdin)) as Task;
  console.log(JSON.stringify(await write(task)));
}
