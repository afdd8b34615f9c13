import { readNumber } from '../../src/cli/options.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { runProgram } from '../../test/support/program.ts';
import { runFederationChaos } from './chaos.ts';

/*
 * npm run chaos:federation -- --seed S --seconds N --hubs H
 *
 * Real hubs in processes of their own, each with a database, while all of them take writes: they are killed, one or all, stand still, are
 * parted and slowed, as the seed will. Then all must have the same, every answered write among it, and whole logs.
 */
const options = readArguments(
  'npm run chaos:federation -- [--seed 1] [--seconds 60] [--hubs 4]',
  {
    seed: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '60' },
    hubs: { type: 'string', default: '4' }
  },
  ({ seed, seconds, hubs }) => ({
    seed: readNumber('--seed', seed, 1, 1_000_000_000),
    seconds: readNumber('--seconds', seconds, 5, 86_400),
    hubs: readNumber('--hubs', hubs, 4, 16)
  })
);

await runProgram(async () => {
  const { writes, faults, healedMs } = await runFederationChaos(options, (line) => console.log(line));
  const counts = Object.entries(faults).map(([kind, count]) => `${count} ${kind}`);
  console.log(`${writes} writes answered; ${counts.join(', ')}; all the same ${healedMs} ms after the last fault`);
});
