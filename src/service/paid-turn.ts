import type { FastifyRequest } from 'fastify';
import type { FrameParts } from './frame.ts';
import { MOST_CHARGED_MS } from './ingress/work-budget.ts';
import type { Turns } from './turns.ts';

interface PaidTurnDeps extends Pick<FrameParts, 'addressOf' | 'budget'> {
  /** Callers with a key are not charged; undefined: nobody has one. */
  readonly authenticator?: Pick<FrameParts['authenticator'], 'admits'>;
  readonly turns: Turns;
}

/**
 * Does the work of a route when its caller owes nothing and it is the caller's turn, as JSON-RPC does that of a call; its time costs
 * the caller. Nothing is done for callers that have left.
 *
 * @throws {PlatformError} ANSWERS_WAITING; and what `work` throws
 */
export async function takePaidTurn<T>(
  { addressOf, budget, authenticator, turns }: PaidTurnDeps,
  { raw, headers }: Pick<FastifyRequest, 'raw' | 'headers'>,
  work: () => Promise<T>
): Promise<T> {
  const address = addressOf(raw);
  const isKnown = authenticator?.admits(headers, false) ?? false;
  if (!isKnown) await budget.pace(address, {});
  return await turns.take({ address, isGone: () => raw.socket.destroyed }, async () => {
    const began = performance.now();
    try {
      return await work();
    } finally {
      if (!isKnown) budget.charge(address, { ms: Math.min(performance.now() - began, MOST_CHARGED_MS) });
    }
  });
}
