import { type Connection, rows } from '../../../db/connection.ts';

/** Settings of MariaDB by which what is committed is on disk, or not yet. */
interface FlushSettings {
  /** `innodb_flush_log_at_trx_commit`. */
  readonly flush: number;
  /** `log_bin`: whether there is a binary log, which then decides after a crash what is committed. */
  readonly hasLog: boolean;
  /** `sync_binlog`. */
  readonly sync: number;
}

/** Returns the setting by which a power loss takes back what was committed; null where none does. */
export function lossOf({ flush, hasLog, sync }: FlushSettings): string | null {
  if (flush !== 1 && flush !== 3) return `innodb_flush_log_at_trx_commit=${flush}`;
  return flush === 1 && hasLog && sync !== 1 ? `sync_binlog=${sync}` : null;
}

/** Reads the setting by which a power loss takes back what this hub has signed and answered; null where none does. */
export async function findLoss(connection: Connection): Promise<string | null> {
  const [found] = await rows(
    connection,
    'SELECT @@GLOBAL.innodb_flush_log_at_trx_commit AS flush, @@GLOBAL.log_bin AS has_log, @@GLOBAL.sync_binlog AS sync'
  );
  const { flush, has_log: hasLog, sync } = found!;
  return lossOf({ flush: Number(flush), hasLog: Number(hasLog) === 1, sync: Number(sync) });
}
