import { PlatformError } from '../../errors.ts';
import type { ServiceActors } from '../routes/debug.ts';

const refuse = async () => {
  throw new PlatformError('DATABASE_UNKNOWN', { reason: 'this service has no actors' });
};

/** Actors of a service that works on its main thread: none. */
export const NO_ACTORS: ServiceActors = {
  list: () => [],
  timeline: { seq: 0, since: () => [] },
  control: { kill: refuse, restart: refuse, pause: refuse },
  describe: () => ({ report: null }),
  pipeline: () => ({ nodes: [], edges: [] })
};
