import { PlatformError } from '../errors.ts';
import type { ServiceActors } from './routes/debug.ts';

const refuse = async () => {
  throw new PlatformError('DATABASE_UNKNOWN', { reason: 'this service has no actors' });
};

/** Of a service whose work is done on its main thread. */
export const NO_ACTORS: ServiceActors = {
  list: () => [],
  timeline: { seq: 0, since: () => [] },
  control: { kill: refuse, restart: refuse, pause: refuse },
  describe: () => ({ report: null }),
  pipeline: () => ({ nodes: [], edges: [] })
};
