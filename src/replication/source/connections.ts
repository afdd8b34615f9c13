import { PULSE_LIMIT_MS } from '../../../actors/runtime/thread/database-pulse.ts';
import { type Connection, connect, statementTag } from '../../db/connection.ts';
import { SerialConnection } from '../../db/serial-connection.ts';
import type { SourceActorData } from '../protocol.ts';

/** Statement limits in seconds: of a poll, and of everything that may take longer. */
const POLL_LIMIT_S = 5;
const STATEMENT_LIMIT_S = 60;
/**
 * Seconds that a statement waits for a table that another session changes. That session may itself wait for a snapshot on another
 * connection of this source, which goes on after this statement: a deadlock that MariaDB cannot see.
 */
const LOCK_LIMIT_S = 3;

/** The connections of one source. Blocks wait for `reader` and `control` alone: callers have connections of their own. */
export class SourceConnections {
  readonly open: () => Promise<Connection>;
  readonly reader: SerialConnection;
  readonly control: SerialConnection;
  readonly questions: SerialConnection;
  readonly logReader: SerialConnection;
  /** Connection of the index map. Its first reading goes through a whole table. */
  readonly indexMap: SerialConnection;
  readonly pulse: SerialConnection;

  constructor({
    coordinates,
    generation,
    finderKey
  }: Pick<SourceActorData, 'coordinates' | 'generation' | 'finderKey'>) {
    const tag = statementTag(coordinates.name, generation);
    const limits = { tag, finderKey, lockLimitS: LOCK_LIMIT_S };
    this.open = () => connect(coordinates, { ...limits, statementLimitS: STATEMENT_LIMIT_S });
    this.reader = new SerialConnection(() =>
      connect(coordinates, { ...limits, statementLimitS: POLL_LIMIT_S, several: true })
    );
    this.control = new SerialConnection(this.open);
    this.questions = new SerialConnection(this.open);
    this.logReader = new SerialConnection(this.open);
    this.indexMap = new SerialConnection(this.open);
    this.pulse = new SerialConnection(this.open, PULSE_LIMIT_MS);
  }

  destroy(): void {
    const { reader, control, questions, logReader, indexMap, pulse } = this;
    for (const each of [reader, control, questions, logReader, indexMap, pulse]) each.destroy();
  }
}
