import { readNumber, readOptions } from '../../src/cli/options.ts';
import { endAll } from '../support/cleanup.ts';
import { sql } from '../support/sql.ts';
import type { Case } from './plan.ts';
import { type Outcome, runCase } from './run.ts';
import { shrink } from './shrink.ts';

/*
 * npm run torture -- --blocks N --seed S [--db indexer|decoder] [--without a,b] [--shrink] [--keep]
 *
 * `--without` leaves out tables (t3), operations (rekey), steps (reorg) and disturbances (killClient).
 * The writer keeps to what real sources do; it does not, for now: change or delete scoped rows of blocks that lie more than
 * 1000 below the tip; change lookup rows in place; write scoped rows whose parent row is missing; write -0; name members of ENUM
 * or SET with four-byte text, which MariaDB itself tells as '?'.
 */
const options = readOptions(process.argv.slice(2), {
  blocks: { type: 'string', default: '100' },
  seed: { type: 'string', default: '1' },
  db: { type: 'string', default: 'indexer' },
  without: { type: 'string', default: '' },
  shrink: { type: 'boolean', default: false },
  keep: { type: 'boolean', default: false }
});
const wanted: Case = {
  seed: options.seed,
  dbType: options.db === 'decoder' ? 'decoder' : 'indexer',
  blocks: readNumber('--blocks', options.blocks, 1, 1_000_000),
  without: options.without.split(',').filter((name) => name !== '')
};

function command(of: Case): string {
  const without = of.without.length > 0 ? ` --without ${of.without.join(',')}` : '';
  return `npm run torture -- --db ${of.dbType} --blocks ${of.blocks} --seed ${of.seed}${without}`;
}

function report(of: Case, { blocks, settled, durationMs, failure }: Outcome): void {
  if (!failure) {
    console.log(
      `${of.dbType} seed ${of.seed}: ${blocks} blocks, ${settled} comparisons, 0 differences, 0 repairs, ${(durationMs / 1000).toFixed(1)} s`
    );
    return;
  }
  console.log(
    `FAILED seed ${of.seed}, step ${failure.step}: ${failure.reason}\n${failure.detail}\nagain: ${command(of)}`
  );
}

async function main(): Promise<void> {
  let outcome = await runCase(wanted, (line) => console.log(line));
  report(wanted, outcome);
  if (outcome.failure) {
    process.exitCode = 1;
    if (options.shrink) {
      const smallest = await shrink(wanted, outcome, (line) => console.log(line));
      outcome = smallest.outcome;
      report(smallest.of, outcome);
    }
    if (options.keep && outcome.failure) {
      const { source, replica } = outcome.failure.databases;
      console.log(
        `kept until this process is ended: ${source.name} and ${replica.name} at port ${source.port} (platform/platform)`
      );
      await sql(source, 'DO SLEEP(86400)');
    }
  }
}

await main().finally(endAll);
