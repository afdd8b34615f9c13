import { readNumber } from '../../src/cli/options.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { runProgram } from '../../test/support/program.ts';
import { runEdgeChaos } from './run.ts';

/*
 * npm run chaos:edges -- --seed S --seconds N
 *
 * Three nats-servers, a server that publishes and two that stand by, four edges, and clients and subscribers behind these, while
 * blocks come and are reorganised: anything of it is killed, stands still, is parted from NATS, and a nats-server has no room left. Then each
 * replica must equal the source, and no subscriber may have missed a block, had one twice, or one of another branch.
 */
const { seed, seconds } = readArguments(
  'npm run chaos:edges -- [--seed 1] [--seconds 60]',
  { seed: { type: 'string', default: '1' }, seconds: { type: 'string', default: '60' } },
  ({ seed, seconds }) => ({
    seed: readNumber('--seed', seed, 1, 1_000_000_000),
    seconds: readNumber('--seconds', seconds, 5, 86_400)
  })
);

await runProgram(async () => {
  const report = await runEdgeChaos({ seed, seconds }, (line) => console.log(line));
  const faults = Object.entries(report.faults).map(([kind, count]) => `${count} ${kind}`);
  console.log(
    `${report.blocks} blocks, ${report.reorgs} reorgs; ${faults.join(', ')}; subscribers were sent ${report.received} blocks and told ` +
      `${report.snapshots} times to take a snapshot; all at one block ${report.healedMs} ms after the last fault`
  );
  for (const violation of report.violations) console.log(`VIOLATION ${violation}`);
  if (report.violations.length === 0) return;
  console.log(`again: npm run chaos:edges -- --seed ${seed} --seconds ${seconds}`);
  process.exitCode = 1;
});
