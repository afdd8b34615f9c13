import type { Subject } from './advance.ts';
import type { Subscription } from './channels.ts';

/** All actions of a network. */
export const EVERYTHING: Subject = { type: 'recent', query: 'all' };
/** Channels that are sent each action of theirs. */
export const OF_ACTIONS: Readonly<Record<string, Subject['type']>> = { address: 'address', token: 'token' };

/** Returns the subject whose actions a channel hangs on; null: it hangs on blocks alone. */
export function subjectOf({ channel, about }: Pick<Subscription, 'channel' | 'about'>): Subject | null {
  if (channel === 'actions') return EVERYTHING;
  const type = OF_ACTIONS[channel];
  return type ? { type, query: (about['address'] ?? about['tick'])! } : null;
}

/** Tells whether the filters of a subscription let an action or a frame of this name through. */
export const isWanted = ({ types }: Subscription['filters'], name: unknown): boolean =>
  types === null || types.includes(String(name));
