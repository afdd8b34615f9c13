import type { Handlers } from '../../../actors/runtime/channel.ts';
import type { SerialConnection } from '../../db/serial-connection.ts';
import type { ReplicaAsks } from '../protocol.ts';
import { readRoots } from '../tables/transparency-pages.ts';
import type { Replica } from './parts/replica.ts';
import type { ReplicaAudit } from './verifying/audit.ts';

/** Parts of a replica that answer callers. */
interface AskedParts {
  readonly replica: Pick<Replica, 'halt'>;
  readonly audit: Pick<ReplicaAudit, 'renew' | 'scheduleNow'>;
  readonly reader: SerialConnection;
  /** Called when an operator has cleared the halt. */
  readonly cleared: () => void;
}

/** Returns a handler for each ask of a replica. @param parts called with each ask: parts are made after the handlers */
export function replicaHandlers(parts: () => AskedParts): Handlers<ReplicaAsks> {
  return {
    'transparency.roots': ({ page, limit }) => parts().reader.use((connection) => readRoots(connection, page, limit)),
    'verify.request': () => {
      const { audit } = parts();
      audit.renew();
      audit.scheduleNow('it was asked for');
      return {};
    },
    'halt.clear': async () => {
      const { reader, replica, cleared } = parts();
      const was = await reader.use((connection) => replica.halt.clear(connection));
      cleared();
      return { was };
    }
  };
}
