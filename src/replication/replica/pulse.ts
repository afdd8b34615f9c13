import { DatabasePulse } from '../../../actors/runtime/thread/database-pulse.ts';
import { placeOf } from '../../db/connection.ts';
import type { SerialConnection } from '../../db/serial-connection.ts';
import type { Replica } from './parts/replica.ts';

/**
 * Returns the pulse of a replica's database. With each tick it also looks whether the source fell silent, or is heard
 * again, and logs that.
 *
 * @param changed called whenever something that is reported has changed
 */
export function replicaPulse(
  { data, log, stream, sources }: Pick<Replica, 'data' | 'log' | 'stream' | 'sources'>,
  line: SerialConnection,
  changed: () => void
): DatabasePulse {
  let wasSilent = false;
  const tellSilence = () => {
    const { silence } = stream;
    if ((silence !== null) === wasSilent) return;
    wasSilent = silence !== null;
    if (silence) log.error(silence.reason);
    else log.info({ source: sources.client.url }, 'the source answers again');
    changed();
  };
  return new DatabasePulse({
    ask: () => line.use((connection) => connection.query('SELECT 1')),
    log,
    place: placeOf(data.coordinates),
    changed,
    ticked: tellSilence
  });
}
