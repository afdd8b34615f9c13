import { readNumber } from '../../src/cli/options.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { runProgram } from '../../test/support/program.ts';
import { FAULT_KINDS } from './plan.ts';
import { runChaos } from './run.ts';

/*
 * npm run chaos -- --seconds N --seed S [--kinds hostileSource,cutLink]
 *
 * MariaDB, a hub, two servers, three clients with their guardians, a source that grows and reorganises; so long one fault after
 * another, as the seed will. Then everything must be as if nothing had been. It ends with 1 when a promise was broken.
 */
const { seconds, seed, kinds } = readArguments(
  'npm run chaos -- [--seconds 60] [--seed 1] [--kinds LIST]',
  {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    kinds: { type: 'string', default: '' }
  },
  ({ seconds, seed, kinds }) => ({
    seconds: readNumber('--seconds', seconds, 5, 86_400),
    seed,
    kinds: FAULT_KINDS.filter((kind) => kinds.split(',').includes(kind))
  })
);

async function main(): Promise<void> {
  const report = await runChaos({ seed, seconds, ...(kinds.length > 0 ? { kinds } : {}) }, (line) => console.log(line));
  console.log(report.text);
  for (const violation of report.violations) console.log(`VIOLATION ${violation}`);
  if (report.violations.length === 0) return;
  console.log(
    `again: npm run chaos -- --seconds ${seconds} --seed ${seed}${kinds.length > 0 ? ` --kinds ${kinds}` : ''}`
  );
  process.exitCode = 1;
}

await runProgram(main);
