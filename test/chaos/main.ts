import { readNumber, readOptions } from '../../src/cli/options.ts';
import { runProgram } from '../support/program.ts';
import { runChaos } from './run.ts';

/*
 * npm run chaos -- --seconds N --seed S
 *
 * MariaDB, a hub, two servers, three clients with their guardians, a source that grows and reorganises; so long one fault after
 * another, as the seed will. Then everything must be as if nothing had been. It ends with 1 when a promise was broken.
 */
const options = readOptions(process.argv.slice(2), {
  seconds: { type: 'string', default: '60' },
  seed: { type: 'string', default: '1' }
});

async function main(): Promise<void> {
  const seconds = readNumber('--seconds', options.seconds, 5, 86_400);
  const report = await runChaos({ seed: options.seed, seconds }, (line) => console.log(line));
  console.log(report.text);
  for (const violation of report.violations) console.log(`VIOLATION ${violation}`);
  if (report.violations.length === 0) return;
  console.log(`again: npm run chaos -- --seconds ${seconds} --seed ${options.seed}`);
  process.exitCode = 1;
}

await runProgram(main);
