import { type AnyActorRef, waitFor } from 'xstate';
import type { FollowerContext } from '../../machines/follower/follower.ts';

/** Pause after an effect that failed, in milliseconds. */
export const RETRY_DELAY_MS = 3_000;

/**
 * Runs the machine of a follower until it ends. The signal asks it to stop, after the effect that is under way.
 *
 * @throws the fault by which it failed
 */
export async function runFollower(machine: AnyActorRef, signal: AbortSignal): Promise<void> {
  const stop = () => machine.send({ type: 'stop.requested' });
  machine.start();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    const ended: unknown = await waitFor(machine, ({ status }) => status !== 'active');
    const { value, context } = ended as { readonly value: unknown; readonly context: FollowerContext };
    if (value === 'failed') throw context.fault;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
