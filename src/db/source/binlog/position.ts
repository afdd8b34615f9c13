import { rows } from '../../core/connection.ts';
import type { Statements } from '../../core/statement-batch.ts';

/** A place between two transactions of a server's binary log. */
export interface BinlogPosition {
  /** Name of the file, `<base>.<number>`. */
  readonly file: string;
  /** Bytes from the start of the file. */
  readonly offset: number;
}

/** A position and the server whose log it is in. */
export interface ServerPosition extends BinlogPosition {
  /** `@@server_uid`; null where the server has none, as before MariaDB 10.6.16. */
  readonly server: string | null;
}

/** Returns whether `at` is `wanted` or later; false for files of different bases, which cannot be compared. */
export function isAtLeast(at: BinlogPosition, wanted: BinlogPosition): boolean {
  const [one, other] = [numbered(at.file), numbered(wanted.file)];
  if (one.base !== other.base) return false;
  return one.number === other.number ? at.offset >= wanted.offset : one.number > other.number;
}

function numbered(file: string): { readonly base: string; readonly number: number } {
  const dot = file.lastIndexOf('.');
  return { base: file.slice(0, dot), number: Number(file.slice(dot + 1)) };
}

/**
 * Reads the position of the connection's open consistent snapshot: it holds every transaction before the position and none after it.
 * MariaDB tells it to every account.
 *
 * @returns null when the server writes no binary log, or is no MariaDB
 */
export async function readSnapshotPosition(statements: Statements): Promise<ServerPosition | null> {
  const [found, [uid]] = await Promise.all([
    rows<{ Variable_name: string; Value: string }>(
      statements,
      "SHOW STATUS WHERE Variable_name IN ('Binlog_snapshot_file', 'Binlog_snapshot_position')"
    ),
    rows<{ Value: string }>(statements, "SHOW GLOBAL VARIABLES LIKE 'server_uid'")
  ]);
  const values = new Map(found.map(({ Variable_name, Value }) => [Variable_name, Value]));
  const file = values.get('Binlog_snapshot_file');
  const offset = Number(values.get('Binlog_snapshot_position'));
  return file && Number.isSafeInteger(offset) && offset > 0 ? { file, offset, server: uid?.Value ?? null } : null;
}
