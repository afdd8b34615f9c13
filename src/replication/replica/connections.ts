import { PULSE_LIMIT_MS } from '../../../actors/runtime/thread/database-pulse.ts';
import { type Connection, connect, statementTag } from '../../db/connection.ts';
import { SerialConnection } from '../../db/serial-connection.ts';
import type { ReplicaActorData } from '../protocol.ts';

const STATEMENT_LIMIT_S = 5;

/** The connections of one replica beside its writer's. */
export class ReplicaConnections {
  /** Opens a connection for short reads. */
  readonly open: () => Promise<Connection>;
  /** Connection for callers' questions. */
  readonly reader: SerialConnection;
  readonly pulse: SerialConnection;

  constructor({ coordinates, generation }: Pick<ReplicaActorData, 'coordinates' | 'generation'>) {
    const tag = statementTag(coordinates.name, generation);
    this.open = () => connect(coordinates, { tag, statementLimitS: STATEMENT_LIMIT_S });
    this.reader = new SerialConnection(this.open);
    this.pulse = new SerialConnection(() => connect(coordinates, { tag }), PULSE_LIMIT_MS);
  }
}
