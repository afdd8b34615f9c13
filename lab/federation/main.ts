import { readNumber } from '../../src/cli/options.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { BEHAVIOURS } from './liars.ts';
import { MATTER_BEHAVIOURS, MattersSimulation } from './matters.ts';
import { PUBLISHING_BEHAVIOURS, PublishingSimulation } from './publishing.ts';
import { Simulation } from './simulation.ts';

/*
 * npm run simulate:federation -- --seed S --seeds N --steps K
 *
 * Plays N runs of K steps, of 4 and 7 hubs in turn, each with one lying hub whose behaviour changes from run to run, and as many of what
 * hubs attest and vote on, with a hundredth of the steps, and of the
 * publishing of rounds of prices, with a thousandth. A run that breaks a promise ends the command, and its seed plays it again.
 */
const options = readArguments(
  'npm run simulate:federation -- [--seed 1] [--seeds 50] [--steps 20000]',
  {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '50' },
    steps: { type: 'string', default: '20000' }
  },
  ({ seed, seeds, steps }) => ({
    seed: readNumber('--seed', seed, 1, 1_000_000_000),
    seeds: readNumber('--seeds', seeds, 1, 1_000_000),
    steps: readNumber('--steps', steps, 1, 1_000_000_000)
  })
);
const totals = {
  operations: 0,
  batches: 0,
  crashes: 0,
  partitions: 0,
  attested: 0,
  confirmed: 0,
  passed: 0,
  published: 0,
  late: 0
};
/** Steps of a log for one of a question or vote, each of which is several operations. */
const STEPS_OF_MATTER = 100;
/** Steps of a log for one round that is published. */
const STEPS_OF_ROUND = 1_000;
for (let seed = options.seed; seed < options.seed + options.seeds; seed++) {
  const behaviour = BEHAVIOURS[seed % BEHAVIOURS.length]!;
  const hubs = seed % 3 === 0 ? 7 : 4;
  try {
    const result = new Simulation({ seed, hubs, behaviour, steps: options.steps, isBusy: seed % 2 === 0 }).run();
    for (const name of ['operations', 'batches', 'crashes', 'partitions'] as const) totals[name] += result[name];
    const steps = Math.ceil(options.steps / STEPS_OF_MATTER);
    const saying = MATTER_BEHAVIOURS[seed % MATTER_BEHAVIOURS.length]!;
    const outcome = new MattersSimulation({ seed, hubs, behaviour: saying, steps }).run();
    for (const name of ['attested', 'confirmed', 'passed'] as const) totals[name] += outcome[name];
    const rounds = Math.ceil(options.steps / STEPS_OF_ROUND);
    const publishing = PUBLISHING_BEHAVIOURS[seed % PUBLISHING_BEHAVIOURS.length]!;
    const published = new PublishingSimulation({ seed, hubs, behaviour: publishing, rounds }).run();
    for (const name of ['published', 'late'] as const) totals[name] += published[name];
  } catch (caught) {
    console.error(`seed ${seed}, ${hubs} hubs, one ${behaviour}: ${(caught as Error).stack}`);
    process.exit(1);
  }
}
console.log(`${options.seeds} runs of ${options.steps} steps: ${JSON.stringify(totals)}, 0 promises broken`);
