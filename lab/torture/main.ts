import { readNumber } from '../../src/cli/options.ts';
import { PlatformError } from '../../src/errors.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { startOwnServer } from '../../test/support/mariadb.ts';
import { runProgram } from '../../test/support/program.ts';
import { sql } from '../../test/support/sql.ts';
import type { Case } from './plan.ts';
import { type Outcome, runCase } from './run.ts';
import { shrink } from './shrink.ts';
import { runSized } from './sized/run.ts';
import { SIZES } from './sized/tables.ts';

/*
 * npm run torture -- --blocks N --seed S [--seeds COUNT] [--db indexer|decoder|both] [--tables in-use|invented|ledger|both|all|sized]
 *                    [--binlog on|off|both] [--sizes 5000,25000,250000,2000000] [--without a,b] [--liar] [--shrink] [--keep]
 *
 * `--seeds` runs so many cases, with the seeds S, S + 1, …; with `--db both` every third is a decoder's. With `--tables both` every
 * second has an invented schema, the others the tables of databases in use; with `all` every fourth is written by the indexer
 * itself, which carries out real actions, is cut off amid them, and is compared with the reference. `--without` leaves out tables (t3),
 * operations (rekey), late changes (stakeSlashed), steps (reorg) and disturbances (killClient). A case fails when replica and source differ at
 * a comparison, when the replica stops, and when it had to mend itself by a repair or a new bootstrap.
 *
 * With `--tables sized` tables of several sizes get rows of their own and changes of old ones in every block, and the replica is
 * compared at every block as soon as it says that it is complete there; `--binlog` says whether the server reads the binary log. With
 * `--liar` the replica has three sources, of which the first lies of the schema, of hashes and of reorgs.
 *
 * The writer of invented schemas keeps to what real sources do; it does not, for now: change or delete scoped rows of blocks that lie more than
 * 1000 below the tip; change lookup rows in place; write scoped rows whose parent row is missing; write -0; name members of ENUM
 * or SET with four-byte text, which MariaDB itself tells as '?'; drop tables and columns.
 */
const options = readArguments(
  'npm run torture -- [--blocks 100] [--seed 1] [--seeds 4] [--db indexer|decoder|both] [--tables in-use|invented|ledger|both|all|sized] [--binlog both] [--sizes 5000,25000,250000,2000000] [--without a,b] [--liar] [--shrink] [--keep]',
  {
    blocks: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '4' },
    db: { type: 'string', default: 'indexer' },
    tables: { type: 'string', default: 'all' },
    binlog: { type: 'string', default: 'both' },
    sizes: { type: 'string', default: SIZES.join(',') },
    without: { type: 'string', default: '' },
    liar: { type: 'boolean', default: false },
    shrink: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false }
  },
  ({ blocks, seeds, ...others }) => {
    oneOf('--db', others.db, ['indexer', 'decoder', 'both']);
    oneOf('--tables', others.tables, ['in-use', 'invented', 'ledger', 'both', 'all', 'sized']);
    oneOf('--binlog', others.binlog, ['on', 'off', 'both']);
    const sizes = others.sizes.split(',').map((size) => readNumber('--sizes', size, 1_000, 10_000_000));
    if (sizes.length < 2) throw new PlatformError('COMMAND_INVALID', { reason: '--sizes needs at least two sizes' });
    return {
      ...others,
      sizes,
      blocks: readNumber('--blocks', blocks, 1, 1_000_000),
      seeds: readNumber('--seeds', seeds, 1, 1_000)
    };
  }
);

function oneOf(name: string, value: string, allowed: readonly string[]): void {
  const reason = `${name} ${value} must be one of ${allowed.join(', ')}`;
  if (!allowed.includes(value)) throw new PlatformError('COMMAND_INVALID', { reason });
}

function command(of: Case): string {
  const without = of.without.length > 0 ? ` --without ${of.without.join(',')}` : '';
  return `npm run torture -- --db ${of.dbType} --tables ${of.schema} --blocks ${of.blocks} --seed ${of.seed}${without}`;
}

function* cases(): Generator<Case> {
  const without = options.without.split(',').filter((name) => name !== '');
  const { blocks, seeds: count } = options;
  for (let index = 0; index < count; index += 1) {
    const seed = count === 1 ? options.seed : String(Number(options.seed) + index);
    const isDecoder = options.db === 'decoder' || (options.db === 'both' && index % 3 === 2);
    yield {
      seed,
      blocks,
      without,
      dbType: isDecoder ? 'decoder' : 'indexer',
      schema: schemaOf(index, isDecoder)
    };
  }
}

/** Returns the schema of the case with this number. A decoder database has no ledger. */
function schemaOf(index: number, isDecoder: boolean): Case['schema'] {
  const { tables } = options;
  const isLedger = tables === 'ledger' || (tables === 'all' && index % 4 === 3);
  if (isLedger && !isDecoder) return 'ledger';
  return tables === 'invented' || (tables !== 'in-use' && index % 2 === 1) ? 'invented' : 'in-use';
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

function report(of: Case, { blocks, settled, durationMs, failure }: Outcome): void {
  if (failure)
    console.log(
      `FAILED seed ${of.seed}, step ${failure.step}: ${failure.reason}\n${failure.detail}\nagain: ${command(of)}`
    );
  else
    console.log(
      `${of.dbType}, ${of.schema} tables, seed ${of.seed}: ${blocks} blocks, ${settled} comparisons, 0 differences, 0 repairs, ${seconds(durationMs)}`
    );
}

async function main(): Promise<void> {
  if (options.tables === 'sized') return torturedSizes();
  const startedAt = performance.now();
  let [passed, blocks, comparisons] = [0, 0, 0];
  for (const wanted of cases()) {
    let [of, outcome] = [wanted, await runCase(wanted, (line) => console.log(line))];
    report(of, outcome);
    if (!outcome.failure) {
      passed += 1;
      blocks += outcome.blocks;
      comparisons += outcome.settled;
      continue;
    }
    process.exitCode = 1;
    if (options.shrink) {
      ({ of, outcome } = await shrink(of, outcome, (line) => console.log(line)));
      report(of, outcome);
    }
    if (options.keep && outcome.failure) await keep(outcome.failure.databases);
  }
  console.log(
    `${passed} cases passed: ${blocks} blocks, ${comparisons} comparisons, ${seconds(performance.now() - startedAt)}`
  );
}

/** Runs each seed with and without the binary log, or one of both. */
async function torturedSizes(): Promise<void> {
  const without = options.without.split(',').filter((name) => name !== '');
  const modes = options.binlog === 'both' ? (['on', 'off'] as const) : ([options.binlog] as ['on' | 'off']);
  const mariadb = await startOwnServer(['--log-bin=binlog', '--binlog-format=ROW']);
  for (let index = 0; index < options.seeds; index += 1)
    for (const binlog of modes) {
      const seed = options.seeds === 1 ? options.seed : String(Number(options.seed) + index);
      const { blocks, sizes } = options;
      const of = { seed, blocks, binlog, sizes, without, isLiedTo: options.liar };
      const found = await runSized(of, mariadb.root, (line) => console.log(line));
      const what = `sized tables, seed ${seed}, binary log ${binlog}`;
      if (found.failure) {
        process.exitCode = 1;
        console.log(`FAILED ${what}: ${found.failure}`);
      } else
        console.log(
          `${what}: ${found.blocks} blocks, ${found.comparisons} comparisons, 0 differences, ${found.compared} tables compared for want of a log, 0 other repairs, slowest block ${seconds(found.slowestMs)}, ${seconds(found.durationMs)}; ${JSON.stringify(found.events)}`
        );
    }
}

/** Leaves both databases there for a look, for a day at most. */
async function keep({ source, replica }: NonNullable<Outcome['failure']>['databases']): Promise<void> {
  const account = `${source.user}/${source.pass}`;
  console.log(
    `kept until this process is ended: ${source.name} and ${replica.name} at port ${source.port} (${account})`
  );
  await sql(source, 'DO SLEEP(86400)');
}

await runProgram(main);
