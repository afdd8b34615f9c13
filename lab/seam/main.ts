import { readNumber } from '../../src/cli/options.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { createDatabase } from '../../test/support/mariadb.ts';
import { runProgram } from '../../test/support/program.ts';
import { runSeam } from './run.ts';

/*
 * npm run seam-check -- --seed S --chains N --blocks B
 *
 * Makes chains of raw blocks and carries each out by a ledger that is shown everything, and by one that reads what a decoder stored.
 */
const { seed, chains, blocks } = readArguments(
  'npm run seam-check -- [--seed 1] [--chains 10] [--blocks 400]',
  {
    seed: { type: 'string', default: '1' },
    chains: { type: 'string', default: '10' },
    blocks: { type: 'string', default: '400' }
  },
  (given) => ({
    seed: readNumber('--seed', given.seed, 0, 2 ** 31 - 1),
    chains: readNumber('--chains', given.chains, 1, 100_000),
    blocks: readNumber('--blocks', given.blocks, 1, 100_000)
  })
);

async function main(): Promise<void> {
  for (let chain = 0; chain < chains; chain++) {
    const figures = await runSeam(seed + chain, blocks, await createDatabase('seam'));
    const text = Object.entries(figures).map(([name, count]) => `${count} ${name}`);
    console.log(`seed ${seed + chain}: ${blocks} blocks, ${text.join(', ')}, 0 differences`);
  }
}

await runProgram(main);
