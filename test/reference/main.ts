import { readNumber } from '../../src/cli/options.ts';
import { readArguments } from '../support/arguments.ts';
import { createDatabase } from '../support/mariadb.ts';
import { runProgram } from '../support/program.ts';
import { checkIndex } from './check.ts';

/*
 * npm run index-check -- --seed S --blocks N --forks F [--gas]
 *
 * Makes a chain of N blocks with actions of every kind and F branches beside it. One index goes through all branches and takes each
 * back; another reads the final chain alone; a reference ledger, which shares no code with the indexer, carries it out too. Every row and
 * hash of both indexes must be equal, and the statuses, movements, fees, balances, owners, supplies and hashes of the reference.
 */
const MOST = 1_000_000;
const { seed, blocks, forks, costsGas } = readArguments(
  'npm run index-check -- [--seed 1] [--blocks 20000] [--forks 1000] [--gas]',
  {
    seed: { type: 'string', default: '1' },
    blocks: { type: 'string', default: '20000' },
    forks: { type: 'string', default: '1000' },
    gas: { type: 'boolean', default: false }
  },
  (given) => ({
    seed: readNumber('--seed', given.seed, 0, 2 ** 31 - 1),
    blocks: readNumber('--blocks', given.blocks, 1, MOST),
    forks: readNumber('--forks', given.forks, 0, MOST),
    costsGas: given.gas
  })
);

async function main(): Promise<void> {
  const startedAt = performance.now();
  const databases = { forked: await createDatabase('indexer'), fresh: await createDatabase('indexer') };
  const log = (line: string) => console.log(line);
  const { actions, lostBlocks, rows, statuses } = await checkIndex({ seed, blocks, forks, costsGas, databases, log });
  for (const [status, count] of [...statuses].sort()) console.log(`${String(count).padStart(9)} ${status}`);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  console.log(
    `seed ${seed}: ${blocks} blocks, ${actions} actions, ${forks} forks of ${lostBlocks} blocks, ${rows} rows, 0 differences, ${seconds} s`
  );
}

await runProgram(main);
