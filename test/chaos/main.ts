import { readNumber } from '../../src/cli/options.ts';
import { readArguments } from '../support/arguments.ts';
import { runProgram } from '../support/program.ts';
import { runChaos } from './run.ts';

/*
 * npm run chaos -- --seconds N --seed S
 *
 * MariaDB, a hub, two servers, three clients with their guardians, a source that grows and reorganises; so long one fault after
 * another, as the seed will. Then everything must be as if nothing had been. It ends with 1 when a promise was broken.
 */
const { seconds, seed } = readArguments(
  'npm run chaos -- [--seconds 60] [--seed 1]',
  { seconds: { type: 'string', default: '60' }, seed: { type: 'string', default: '1' } },
  (given) => ({ seconds: readNumber('--seconds', given.seconds, 5, 86_400), seed: given.seed })
);

async function main(): Promise<void> {
  const report = await runChaos({ seed, seconds }, (line) => console.log(line));
  console.log(report.text);
  for (const violation of report.violations) console.log(`VIOLATION ${violation}`);
  if (report.violations.length === 0) return;
  console.log(`again: npm run chaos -- --seconds ${seconds} --seed ${seed}`);
  process.exitCode = 1;
}

await runProgram(main);
