import { environment } from './config/environment.ts';
import { runGuarded } from './process/guardian.ts';
import { commandNamed, makesAnswers, SERVICE_COMMANDS } from './services.ts';

/** Options with which a service is not started, or runs under another supervisor. */
const UNGUARDED = ['--no-guardian', '--help', '-h', '--check-config'];
const NO_TELEMETRY = '--no-telemetry';

/**
 * Runs `platform-node <command>`, of a service its guardian. That stays for as long as its service: it loads what is imported above
 * and no more, which `test/architecture.test.ts` holds it to.
 *
 * @returns the exit code
 */
async function run(argv: readonly string[]): Promise<number> {
  const [word, ...given] = argv;
  const name = word && commandNamed(word);
  const isGuarded =
    name !== undefined && SERVICE_COMMANDS.includes(name) && !UNGUARDED.some((option) => given.includes(option));
  if (!isGuarded) return await (await import('./cli/command-line.ts')).runCommandLine(argv, environment);
  const reports = !given.includes(NO_TELEMETRY);
  try {
    return await runGuarded([name, ...given], { makesAnswers: makesAnswers(name), reports });
  } catch (caught) {
    return (await import('./cli/command-line.ts')).report(caught, name, environment);
  }
}

void run(process.argv.slice(2)).then((code) => process.exit(code));
