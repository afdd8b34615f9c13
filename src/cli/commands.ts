import { extname } from 'node:path';
import { nearest } from '../config/variables.ts';
import { hasCode, PlatformError } from '../errors.ts';
import type { Command } from './command.ts';

/** Every command, in the order of --help. */
export const COMMAND_NAMES = ['sync', 'hub', 'decoder', 'verify', 'status', 'replay', 'devnet'] as const;

/**
 * Loads one command's module, and no other.
 *
 * @throws {PlatformError} COMMAND_INVALID naming the nearest known command
 */
export async function loadCommand(name: string): Promise<Command> {
  if (!COMMAND_NAMES.some((known) => known === name)) {
    const reason = `unknown command "${name}"; did you mean ${nearest(name, COMMAND_NAMES)}?`;
    throw new PlatformError('COMMAND_INVALID', { reason });
  }
  const module = (await import(`./${name}${extname(import.meta.url)}`)) as Record<string, Command | undefined>;
  const command = module[`${name}Command`];
  if (!command) throw new PlatformError('INTERNAL', { reason: `src/cli/${name} exports no ${name}Command` });
  return command;
}

/** Name and summary of every command; one that cannot be loaded says so and hides no other. */
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
