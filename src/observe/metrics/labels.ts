import { type ActorName, subjectOf } from '../../wire/state/actor.ts';

/** Label names of one database's metrics. */
export const DATABASE = ['db_type', 'chain', 'network'] as const;
/** Histogram buckets, in seconds. */
export const SECONDS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60];

/** Labels of one database's metrics. */
export type DatabaseLabels = Record<(typeof DATABASE)[number], string>;

/** Returns the labels of an actor. */
export function labelsOf(actor: ActorName): DatabaseLabels {
  return { db_type: subjectOf(actor), chain: actor.chain, network: actor.network };
}
