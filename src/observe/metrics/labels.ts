import { type ActorName, subjectOf } from '../../wire/actor.ts';

/** What tells one database's figures from another's. */
export const DATABASE = ['db_type', 'chain', 'network'] as const;
/** Bounds of what is measured in seconds. */
export const SECONDS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60];

export type DatabaseLabels = Record<(typeof DATABASE)[number], string>;

export function labelsOf(actor: ActorName): DatabaseLabels {
  return { db_type: subjectOf(actor), chain: actor.chain, network: actor.network };
}
