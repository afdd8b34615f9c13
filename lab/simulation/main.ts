import { readNumber } from '../../src/cli/options.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { installDoubles } from './doubles/install.ts';
import type { Episode } from './episode.ts';

/*
 * npm run simulate -- --steps N --seed S [--episode E] [--log LEVEL]
 *
 * Plays episodes of some thousand steps each, whose seeds are `S/0`, `S/1`, …, until N steps are taken; `--episode E` plays `S/E`
 * alone; `--log debug` shows faults and what the threads say. Prints what was done, and for a violation the command that plays its
 * episode again, to the same step.
 */
const options = readArguments(
  'npm run simulate -- [--steps 100000] [--seed 1] [--episode E] [--log LEVEL]',
  {
    steps: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    episode: { type: 'string', default: '' },
    log: { type: 'string', default: 'silent' }
  },
  ({ steps, episode, ...others }) => ({
    ...others,
    steps: readNumber('--steps', steps, 1, 1_000_000_000),
    episode: episode === '' ? null : readNumber('--episode', episode, 0, 1_000_000_000)
  })
);
const EPISODE_STEPS = 2_000;
/** Episodes for each one of a source; the others are of a replica. */
const SOURCE_EVERY = 3;

installDoubles();
const { installClock } = await import('./host/clock.ts');
const { installThreadEnds } = await import('./host/threads.ts');
const { ReplicaEpisode } = await import('./replica-episode.ts');
const { SourceEpisode } = await import('./source-episode.ts');
// Shared by all threads, so it is not to be evaluated in one of them.
await import('../../src/replication/replica/parts/replica.ts');
await import('./doubles/bootstrap.ts');
await import('../../src/replication/source/feed/feed.ts');
await import('../../src/replication/source/feed/transparency.ts');
const wallTime = performance.now.bind(performance);
installThreadEnds();
installClock();

const began = wallTime();
const totals = { episodes: 0, steps: 0, simulatedMs: 0 };
const faults: Record<string, number> = {};
const figures: Record<string, number> = {};
let episode: Episode;
process.on('unhandledRejection', (reason) => episode.accuse(`nobody handles: ${(reason as Error).stack}`));
process.on('uncaughtException', (caught) => {
  episode.accuse(`nobody catches: ${(caught as Error).stack}`);
  console.error(caught);
  process.exitCode = 1;
});

for (let index = 0; totals.steps < options.steps; index++) {
  if (options.episode !== null && index > 0) break;
  const number = options.episode ?? index;
  const Played = number % SOURCE_EVERY === SOURCE_EVERY - 1 ? SourceEpisode : ReplicaEpisode;
  episode = new Played(`${options.seed}/${number}`, options.log);
  const report = await episode.run(EPISODE_STEPS);
  totals.episodes++;
  totals.steps += report.steps;
  totals.simulatedMs += report.simulatedMs;
  add(faults, report.faults);
  add(figures, report.figures);
  if (options.episode !== null) console.log(`episode ${report.seed}: ${report.steps} steps, trace ${report.trace}`);
  if (report.violation === null) continue;
  console.error(`VIOLATION at step ${report.steps} of episode ${number}: ${report.violation}`);
  console.error(`again: npm run simulate -- --seed ${options.seed} --episode ${number}`);
  process.exitCode = 1;
  break;
}
const wallMs = wallTime() - began;
const rate = Math.round(totals.simulatedMs / wallMs);
const listed = (counts: Record<string, number>) =>
  Object.entries(counts)
    .sort()
    .map(([name, count]) => `${count} ${name}`)
    .join(', ');
console.log(
  `${totals.steps} steps in ${totals.episodes} episodes, ${listed(figures)}, ${Math.round(totals.simulatedMs / 1000)} simulated seconds in ${(wallMs / 1000).toFixed(1)} s (${rate} times real time)`
);
console.log(`faults: ${listed(faults)}`);
process.exit(process.exitCode);

function add(to: Record<string, number>, counts: Readonly<Record<string, number>>): void {
  for (const [name, count] of Object.entries(counts)) to[name] = (to[name] ?? 0) + count;
}
