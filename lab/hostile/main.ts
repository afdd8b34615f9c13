import { readNumber } from '../../src/cli/options.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { runProgram } from '../../test/support/program.ts';
import { ATTACKS } from './attacks/all.ts';
import { hostileDevnet } from './devnet.ts';

/*
 * npm run hostile -- --blocks N --seed S [--pace P] [--only TEXT] [--stall SECONDS]
 *
 * A devnet whose wallet also sends everything that hostile readers of this platform thought of: every block must come into the ledger,
 * no attack may have an effect, the replicas must equal their sources, and both databases those that are made anew from block 0.
 */
const { blocks, seed, pace, only, stall } = readArguments(
  'npm run hostile -- [--blocks 300] [--seed hostile] [--pace blocks between two attacks] [--only part of a name] [--stall seconds that a block may take]',
  {
    blocks: { type: 'string', default: '300' },
    seed: { type: 'string', default: 'hostile' },
    pace: { type: 'string', default: '3' },
    only: { type: 'string', default: '' },
    stall: { type: 'string', default: '30' }
  },
  (given) => ({
    ...given,
    blocks: readNumber('--blocks', given.blocks, 110, 100_000),
    pace: readNumber('--pace', given.pace, 1, 1_000),
    stall: readNumber('--stall', given.stall, 1, 3_600)
  })
);

async function main(): Promise<void> {
  const startedAt = performance.now();
  const attacks = ATTACKS.filter(({ name }) => name.includes(only));
  const report = await hostileDevnet({
    seed,
    blocks,
    pace,
    stallMs: stall * 1000,
    attacks,
    tell: (line) => console.error(line)
  });
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  console.log(JSON.stringify({ ...report, slowestMs: Math.round(report.slowestMs), seconds }, null, 2));
  if (report.faults.length > 0)
    throw new Error(`${report.faults.length} faults; databases and logs are kept in ${report.directory}`);
}

await runProgram(main);
