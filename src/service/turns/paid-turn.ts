import type { FastifyRequest } from 'fastify';
import { type PayerDeps, payerOf } from '../ingress/payer.ts';
import { MOST_CHARGED_MS } from '../ingress/work-budget.ts';
import type { Turns } from './turns.ts';

interface PaidTurnDeps extends PayerDeps {
  readonly turns: Turns;
}

/**
 * Does the work of a route when its caller owes nothing and it is the caller's turn, as JSON-RPC does that of a call; its time costs
 * the caller. Nothing is done for callers that have left.
 *
 * @throws {PlatformError} ANSWERS_WAITING; and what `work` throws
 */
export async function takePaidTurn<T>(
  deps: PaidTurnDeps,
  request: Pick<FastifyRequest, 'raw'>,
  work: () => Promise<T>
): Promise<T> {
  const { raw } = request;
  const { charge, pay } = payerOf(deps, request);
  await pay({});
  return await deps.turns.take({ address: deps.addressOf(raw), isGone: () => raw.socket.destroyed }, async () => {
    const began = performance.now();
    try {
      return await work();
    } finally {
      charge({ ms: Math.min(performance.now() - began, MOST_CHARGED_MS) });
    }
  });
}
