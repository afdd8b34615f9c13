import type { Command } from './cli/command.ts';
import { loadCommand, loadCommands } from './cli/commands.ts';
import { findUnknownNames } from './cli/config-names.ts';
import { takeConfigOption } from './cli/config-option.ts';
import { exitCodeOf } from './cli/exit-codes.ts';
import { commandHelp, overallHelp } from './cli/help.ts';
import { describeConfig } from './config/describe.ts';
import { environment } from './config/environment.ts';
import { readLocal } from './config/load.ts';
import type { Environment } from './config/variables.ts';
import { PlatformError } from './errors.ts';
import { logToTerminal } from './log.ts';
import { boundGarbage } from './process/garbage.ts';
import { endWithGuardian, runGuarded } from './process/guardian.ts';
import { describeLicences, describeVersion } from './process/program.ts';
import { commandNamed, makesAnswers, SERVICE_COMMANDS } from './services.ts';

const NO_GUARDIAN = '--no-guardian';
const NO_TELEMETRY = '--no-telemetry';
/** Later than a service needs to listen. */
const REPORT_AFTER_MS = 2_000;
/** Options with which a service is not started, or runs under another supervisor. */
const UNGUARDED = [NO_GUARDIAN, '--help', '-h', '--check-config'];

/** Runs `platform-node <command>`. @returns the exit code */
async function runCommandLine([word, ...given]: readonly string[], shell: Environment): Promise<number> {
  const name = word && commandNamed(word);
  let command: Command | undefined;
  try {
    const { argv, env } = takeConfigOption(given, shell);
    if (process.stdout.isTTY) await logToTerminal();
    if (name === undefined || name === '--help' || name === '-h' || name === 'help') return print(await overallHelp());
    if (name === '--version' || name === '-v') return print(describeVersion());
    if (name === '--licences' || name === '--licenses') return await printLong(await describeLicences());
    const isService = SERVICE_COMMANDS.includes(name);
    const reports = !argv.includes(NO_TELEMETRY);
    if (isService && !reports) await rememberNoTelemetry();
    // Before the command is loaded: a guardian needs nothing of it.
    if (isService && !UNGUARDED.some((option) => argv.includes(option))) {
      if (reports) tellStart(name, env);
      const guarded = [name, ...given.filter((option) => option !== NO_TELEMETRY)];
      return await runGuarded(guarded, undefined, { makesAnswers: makesAnswers(name) });
    }
    command = await loadCommand(name);
    if (argv.includes('--help') || argv.includes('-h')) return print(commandHelp(command));
    if (argv.includes('--check-config')) return await checkConfig(command, env);
    if (!isService) return await command.run(argv, env, loadCommands);
    endWithGuardian();
    if (makesAnswers(name)) boundGarbage();
    const own = argv.filter((option) => option !== NO_GUARDIAN && option !== NO_TELEMETRY);
    return await command.run(own, env, loadCommands);
  } catch (caught) {
    return report(caught, name, shell, command);
  }
}

async function rememberNoTelemetry(): Promise<void> {
  const telemetry = await import('./cli/telemetry.ts');
  await telemetry.rememberNoTelemetry();
}

/** Reports the start of a service, when that has had both cores to start with; one that ends before is told by a later start. */
function tellStart(name: string, env: Environment): void {
  const report = async () => {
    const { reportService } = await import('./cli/telemetry.ts');
    await reportService(name, env);
  };
  setTimeout(() => void report(), REPORT_AFTER_MS).unref();
}

function print(text: string): number {
  console.log(text);
  return 0;
}

/** Prints what is longer than a pipe holds at once: the process ends when all of it is taken. */
async function printLong(text: string): Promise<number> {
  await new Promise((resolve) => process.stdout.write(`${text}\n`, resolve));
  return 0;
}

async function checkConfig({ name, variables, checks = {} }: Command, env: Environment): Promise<number> {
  if (!variables) return print(`platform-node ${name} reads no variables`);
  const warn = (line: string) => console.error(`platform-node ${name}: ${line}`);
  const { loadSettings } = await import('./discovery/settings.ts');
  const loaded = await loadSettings({ name, variables, checks }, env, {
    waits: false,
    log: { warn, info: () => undefined }
  });
  const unknown = await findUnknownNames(readLocal(variables, env).file);
  for (const warning of [...loaded.warnings, ...unknown]) warn(warning);
  return print(describeConfig(variables, loaded));
}

/** Prints a line for each fault, the remedy in the last, and a stack only where someone debugs. */
function report(caught: unknown, name: string | undefined, env: Environment, command: Command | undefined): number {
  const error = PlatformError.from(caught);
  const lines = error.message.split('\n');
  const hint = error.code === 'DATABASE_REFUSED' ? `${error.hint}${accountOf(command)}` : error.hint;
  const remedy = lines.length === 1 ? `${lines.pop()}. ${hint}` : hint;
  for (const line of [...lines, remedy]) console.error(`platform-node ${name ?? ''}: ${line}`);
  if (['debug', 'trace'].includes(env['LOG_LEVEL'] ?? '')) console.error(error.cause ?? error);
  return exitCodeOf(error.code);
}

/** Returns the variables by which a service names its database and account; nothing where it has none. */
function accountOf(command: Command | undefined): string {
  const names = Object.keys(command?.variables ?? {}).filter((name) => /_DB_(HOST|PORT|NAME|USER|PASS)$/.test(name));
  return names.length > 0 ? ` (${names.join(', ')})` : '';
}

void runCommandLine(process.argv.slice(2), environment).then((code) => process.exit(code));
