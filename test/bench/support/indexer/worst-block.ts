import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { IndexerStore } from '../../../../src/indexer/store/store.ts';
import type { DatabaseCoordinates } from '../../../../src/wire/data/database.ts';
import { candidateOf, preparation, WORST_RULES, type Worst } from './worst.ts';

const STATEMENT_LIMIT_S = 600;
const KIBIBYTES_PER_MEBIBYTE = 1_024;
/** Makes Linux forget the highest memory that a process had. */
const FORGET_PEAK = '5';

type Shape = Pick<Worst, 'pieces' | 'isBatched'>;

/** What a block costs an indexer with its database. */
export interface Written {
  readonly seconds: number;
  readonly mebibytes: number;
}

/** Indexes what earlier blocks hold, then the costliest block, in a process of its own. */
export function writeWorst({ pieces, isBatched }: Shape, database: DatabaseCoordinates): Written {
  const given = JSON.stringify({ shape: { pieces, isBatched }, database });
  const { stdout, stderr } = spawnSync(process.execPath, [fileURLToPath(import.meta.url), given], { encoding: 'utf8' });
  try {
    return JSON.parse(stdout) as Written;
  } catch (cause) {
    throw new Error(`the worst block was not written: ${stderr}`, { cause });
  }
}

async function write({ pieces, isBatched }: Shape, database: DatabaseCoordinates): Promise<Written> {
  const store = await IndexerStore.open(database, WORST_RULES, STATEMENT_LIMIT_S);
  const { blocks, prepared } = preparation();
  for (const block of blocks) await store.addBlocks([block]);
  const { block } = candidateOf(pieces, isBatched, blocks.length, prepared);
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

const given = process.argv[2];
if (process.argv[1] === fileURLToPath(import.meta.url) && given !== undefined) {
  const { shape, database } = JSON.parse(given) as { shape: Shape; database: DatabaseCoordinates };
  console.log(JSON.stringify(await write(shape, database)));
}
