import { readNumber, readOptions } from '../../src/cli/options.ts';
import { endAll } from '../support/cleanup.ts';
import { runChaos } from './run.ts';

/*
 * npm run chaos -- --seconds N --seed S
 *
 * MariaDB, a hub, two servers, three clients with their guardians, a source that grows and reorganises; so long one fault after
 * another, as the seed will. Then everything must be as if nothing had been. The end is not reached when a promise was broken.
 */
const options = readOptions(process.argv.slice(2), {
  seconds: { type: 'string', default: '60' },
  seed: { type: 'string', default: '1' }
});
const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

async function main(): Promise<void> {
  const seconds = readNumber('--seconds', options.seconds, 5, 86_400);
  const report = await runChaos({ seed: options.seed, seconds }, (line) => console.log(line));
  console.log(report.text);
  for (const violation of report.violations) console.log(`VIOLATION ${violation}`);
  if (report.violations.length === 0) return;
  console.log(`again: npm run chaos -- --seconds ${seconds} --seed ${options.seed}`);
  process.exitCode = 1;
}

const interrupted = Promise.withResolvers<void>();
for (const [signal, code] of Object.entries(SIGNALS))
  process.on(signal, () => {
    process.exitCode = code;
    interrupted.resolve();
  });
try {
  await Promise.race([main(), interrupted.promise]);
} catch (caught) {
  console.error(caught);
  process.exitCode = 1;
} finally {
  await endAll();
}
process.exit();
