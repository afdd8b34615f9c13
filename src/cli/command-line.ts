import { describeConfig } from '../config/describe.ts';
import { readLocal } from '../config/load.ts';
import type { Environment } from '../config/variables.ts';
import { PlatformError } from '../errors.ts';
import { logToTerminal } from '../log.ts';
import { boundGarbage } from '../process/garbage.ts';
import { endWithGuardian } from '../process/guardian.ts';
import { describeLicences, describeVersion } from '../process/program.ts';
import { commandNamed, makesAnswers, SERVICE_COMMANDS } from '../services.ts';
import type { Command } from './command.ts';
import { loadCommand, loadCommands } from './commands.ts';
import { findUnknownNames } from './config-names.ts';
import { takeConfigOption } from './config-option.ts';
import { exitCodeOf } from './exit-codes.ts';
import { commandHelp, overallHelp } from './help.ts';

const NO_GUARDIAN = '--no-guardian';
const NO_TELEMETRY = '--no-telemetry';

/** Runs `platform-node <command>` in this process. @returns the exit code */
export async function runCommandLine([word, ...given]: readonly string[], shell: Environment): Promise<number> {
  const name = word && commandNamed(word);
  let command: Command | undefined;
  try {
    const { argv, env } = takeConfigOption(given, shell);
    if (process.stdout.isTTY) await logToTerminal();
    if (name === undefined || name === '--help' || name === '-h' || name === 'help') return print(await overallHelp());
    if (name === '--version' || name === '-v') return print(describeVersion());
    if (name === '--licences' || name === '--licenses') return await printLong(await describeLicences());
    const isService = SERVICE_COMMANDS.includes(name);
    if (isService && argv.includes(NO_TELEMETRY)) await rememberNoTelemetry();
    command = await loadCommand(name);
    if (argv.includes('--help') || argv.includes('-h')) return print(commandHelp(command));
    if (argv.includes('--check-config')) return await checkConfig(command, env);
    if (!isService) return await command.run(argv, env, loadCommands);
    endWithGuardian(() => void tellStart(name, env));
    if (makesAnswers(name)) boundGarbage();
    const own = argv.filter((option) => option !== NO_GUARDIAN && option !== NO_TELEMETRY);
    return await command.run(own, env, loadCommands);
  } catch (caught) {
    return report(caught, name, shell, command);
  }
}

async function rememberNoTelemetry(): Promise<void> {
  const telemetry = await import('./commands/telemetry.ts');
  await telemetry.rememberNoTelemetry();
}

/** Tells the start of a service that its guardian wants told. */
async function tellStart(name: string, env: Environment): Promise<void> {
  const telemetry = await import('./commands/telemetry.ts');
  await telemetry.reportService(name, env, process.ppid);
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
  const { loadSettings } = await import('../discovery/settings.ts');
  const loaded = await loadSettings({ name, variables, checks }, env, {
    waits: false,
    log: { warn, info: () => undefined }
  });
  const unknown = await findUnknownNames(readLocal(variables, env).file);
  for (const warning of [...loaded.warnings, ...unknown]) warn(warning);
  return print(describeConfig(variables, loaded));
}

/** Prints a line for each fault, the remedy in the last, and a stack only where someone debugs. @returns the exit code */
export function report(caught: unknown, name: string | undefined, env: Environment, command?: Command): number {
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
