import { readNumber, readOptions } from '../../src/cli/options.ts';
import { installDoubles } from './doubles/install.ts';

/*
 * npm run simulate -- --steps N --seed S [--episode E] [--log LEVEL]
 *
 * Plays episodes of some thousand steps each, whose seeds are `S/0`, `S/1`, …, until N steps are taken; `--episode E` plays `S/E`
 * alone; `--log debug` shows faults and what the threads say. Prints what was done, and for a violation the command that plays its
 * episode again, to the same step.
 */
const options = readOptions(process.argv.slice(2), {
  steps: { type: 'string', default: '100000' },
  seed: { type: 'string', default: '1' },
  episode: { type: 'string', default: '' },
  log: { type: 'string', default: 'silent' }
});
const EPISODE_STEPS = 2_000;

installDoubles();
const { installClock } = await import('./clock.ts');
const { installThreadEnds } = await import('./threads.ts');
const { Episode } = await import('./episode.ts');
// Shared by all threads, so it is not to be evaluated in one of them.
await import('../../actors/replica-session.ts');
await import('./doubles/bootstrap.ts');
const wallTime = performance.now.bind(performance);
installThreadEnds();
installClock();

const steps = readNumber('--steps', options.steps, 1, 1_000_000_000);
const began = wallTime();
const totals = { episodes: 0, steps: 0, simulatedMs: 0, commits: 0, halts: 0 };
const faults: Record<string, number> = {};
let episode: InstanceType<typeof Episode>;
process.on('unhandledRejection', (reason) => episode.accuse(`nobody handles: ${(reason as Error).stack}`));
process.on('uncaughtException', (caught) => {
  episode.accuse(`nobody catches: ${(caught as Error).stack}`);
  console.error(caught);
  process.exitCode = 1;
});

for (let index = 0; totals.steps < steps; index++) {
  if (options.episode !== '' && index > 0) break;
  const number = options.episode === '' ? index : Number(options.episode);
  episode = new Episode(`${options.seed}/${number}`, options.log);
  const report = await episode.run(EPISODE_STEPS);
  totals.episodes++;
  totals.steps += report.steps;
  totals.simulatedMs += report.simulatedMs;
  totals.commits += report.commits;
  totals.halts += report.halts;
  for (const [name, count] of Object.entries(report.faults)) faults[name] = (faults[name] ?? 0) + count;
  if (options.episode !== '') console.log(`episode ${report.seed}: ${report.steps} steps, trace ${report.trace}`);
  if (report.violation === null) continue;
  console.error(`VIOLATION at step ${report.steps} of episode ${number}: ${report.violation}`);
  console.error(`again: npm run simulate -- --seed ${options.seed} --episode ${number}`);
  process.exitCode = 1;
  break;
}
const wallMs = wallTime() - began;
const rate = Math.round(totals.simulatedMs / wallMs);
console.log(
  `${totals.steps} steps in ${totals.episodes} episodes, ${totals.commits} commits, ${totals.halts} halts, ${Math.round(totals.simulatedMs / 1000)} simulated seconds in ${(wallMs / 1000).toFixed(1)} s (${rate} times real time)`
);
console.log(
  `faults: ${Object.entries(faults)
    .sort()
    .map(([name, count]) => `${count} ${name}`)
    .join(', ')}`
);
process.exit(process.exitCode);
