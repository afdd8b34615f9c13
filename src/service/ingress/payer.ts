import type { FastifyRequest } from 'fastify';
import type { AddressReader } from '../callers/address.ts';
import type { Authenticator } from '../callers/auth.ts';
import type { Cost, WorkBudget } from './work-budget.ts';

/** Parts that tell who pays. */
export interface PayerDeps {
  readonly addressOf: AddressReader;
  readonly authenticator: Pick<Authenticator, 'admits'>;
  readonly budget: Pick<WorkBudget, 'charge' | 'pace'>;
}

/** Caller who pays for what is done for it. One that sends the service's key owes nothing. */
export interface Payer {
  /** Counts a cost. */
  charge(cost: Cost): void;
  /** Counts a cost, and waits while the caller owes too much. */
  pay(cost: Cost): Promise<void>;
}

/** Returns who pays for a request, and for what comes by a WebSocket that it became. */
export function payerOf({ addressOf, authenticator, budget }: PayerDeps, { raw }: Pick<FastifyRequest, 'raw'>): Payer {
  const address = addressOf(raw);
  const isKnown = authenticator.admits(raw.headers, raw.headers.upgrade !== undefined);
  return {
    charge: (cost) => void (isKnown || budget.charge(address, cost)),
    pay: async (cost) => void (isKnown || (await budget.pace(address, cost)))
  };
}
