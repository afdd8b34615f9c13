import { nearest } from '../config/nearest.ts';
import { hasCode, PlatformError } from '../errors.ts';
import { loadService, SERVICE_COMMANDS } from '../services.ts';
import type { Command } from './command.ts';
import { serviceCommand } from './service-command.ts';

/** Commands that are no services, in the order of --help. The imports are literal, so that bundlers find them. */
const MODULES: Readonly<Record<string, () => Promise<object>>> = {
  up: () => import('./commands/up.ts'),
  verify: () => import('./commands/verify.ts'),
  status: () => import('./commands/status.ts'),
  actor: () => import('./commands/actor.ts'),
  halt: () => import('./commands/halt.ts'),
  logs: () => import('./commands/logs.ts'),
  doctor: () => import('./commands/doctor.ts'),
  config: () => import('./commands/config.ts'),
  federation: () => import('./commands/federation.ts'),
  replay: () => import('./commands/replay.ts'),
  capacity: () => import('./commands/capacity.ts'),
  telemetry: () => import('./commands/telemetry.ts'),
  devnet: () => import('./commands/devnet.ts'),
  completions: () => import('./commands/completions.ts'),
  man: () => import('./commands/man.ts')
};

/** Names of all commands. */
export const COMMAND_NAMES: readonly string[] = [...SERVICE_COMMANDS, ...Object.keys(MODULES)];

/**
 * Loads the module of one command.
 *
 * @throws {PlatformError} COMMAND_INVALID with the nearest known command
 */
export async function loadCommand(name: string): Promise<Command> {
  if (!COMMAND_NAMES.includes(name)) {
    const reason = `unknown command "${name}"; did you mean ${nearest(name, COMMAND_NAMES)}?`;
    throw new PlatformError('COMMAND_INVALID', { reason });
  }
  const service = await loadService(name);
  if (service) return serviceCommand(service);
  const module = (await MODULES[name]!()) as Record<string, Command | (() => Promise<Command>) | undefined>;
  const made = module[`${name}Command`];
  const command = typeof made === 'function' ? await made() : made;
  if (!command)
    throw new PlatformError('INTERNAL', { reason: `src/cli/commands/${name}.ts exports no ${name}Command` });
  return command;
}

/** Loads every command. @throws {PlatformError} INTERNAL */
export async function loadCommands(): Promise<readonly Command[]> {
  return await Promise.all(COMMAND_NAMES.map(loadCommand));
}

/** Returns name and summary of every command. One that cannot be loaded gets a note as its summary. */
export async function listCommands(): Promise<readonly { readonly name: string; readonly summary: string }[]> {
  return await Promise.all(
    COMMAND_NAMES.map(async (name) => {
      try {
        return { name, summary: (await loadCommand(name)).summary };
      } catch (caught) {
        if (hasCode(caught, 'COMMAND_INVALID')) throw caught;
        return { name, summary: `(cannot be loaded: ${PlatformError.from(caught).message.split('\n', 1)[0]})` };
      }
    })
  );
}
