import { nearest } from '../config/nearest.ts';
import { hasCode, PlatformError } from '../errors.ts';
import type { Command } from './command.ts';

/** All commands, in the order of --help. The imports are literal, so that bundlers find them. */
const MODULES: Readonly<Record<string, () => Promise<object>>> = {
  sync: () => import('./services/sync.ts'),
  hub: () => import('./services/hub.ts'),
  decoder: () => import('./services/decoder.ts'),
  indexer: () => import('./services/indexer.ts'),
  explorer: () => import('./services/explorer.ts'),
  utxo: () => import('./services/utxo.ts'),
  encoder: () => import('./services/encoder.ts'),
  miner: () => import('./services/miner.ts'),
  verify: () => import('./verify.ts'),
  status: () => import('./status.ts'),
  replay: () => import('./replay.ts'),
  telemetry: () => import('./telemetry.ts'),
  devnet: () => import('./devnet.ts')
};

/** Names of all commands. */
export const COMMAND_NAMES: readonly string[] = Object.keys(MODULES);

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
  const module = (await MODULES[name]!()) as Record<string, Command | undefined>;
  const command = module[`${name}Command`];
  if (!command) throw new PlatformError('INTERNAL', { reason: `src/cli/${name} exports no ${name}Command` });
  return command;
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
