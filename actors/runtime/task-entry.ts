import { readlinkSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { basename } from 'node:path';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { PlatformError, type WireError } from '../../src/errors.ts';
import { portableError, Transferred } from './channel.ts';

/** Order that a pool thread receives. */
export interface TaskOrder {
  /** The task's module, as a URL. */
  readonly module: string;
  readonly input: unknown;
}

export type TaskOutcome =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: WireError; readonly stack: string | undefined };

type Task = (input: unknown) => unknown;

/**
 * Priority of pool threads, below the front door and the actors: a pool's work can wait for a core. Linux has one priority per
 * thread.
 */
const POOL_PRIORITY = 10;
if (process.platform === 'linux') {
  const thread = Number(basename(readlinkSync('/proc/thread-self')));
  if (getPriority(thread) < POOL_PRIORITY) setPriority(thread, POOL_PRIORITY); // to raise it again is for root
}

/** Runs one task in a pool thread; an error keeps its code on the way back, which a cloned exception would lose. */
export default async function runTask({ module, input }: TaskOrder): Promise<unknown> {
  try {
    const { default: task } = (await import(module)) as { default: Task };
    const result = await task(input);
    if (!(result instanceof Transferred)) return { ok: true, value: result } satisfies TaskOutcome;
    const value: TaskOutcome = { ok: true, value: result.value };
    return move({ [valueSymbol]: value, [transferableSymbol]: result.transfer } as never);
  } catch (caught) {
    const error = PlatformError.from(caught);
    const { stack } = error.cause instanceof Error ? error.cause : error;
    return { ok: false, error: portableError(error), stack } satisfies TaskOutcome;
  }
}
