import { type Connection, rows } from '../../../db/connection.ts';
import { hasCode } from '../../../errors.ts';
import { isConfigEdit } from '../../config-edits.ts';
import { applyAlone, type ConfigEdit, forgetConfigs, stampOf } from '../../store/configs.ts';
import type { Operation } from '../consensus/messages.ts';
import type { StateMachine } from './state-machine.ts';

/** Entries of one operation. */
export const MOST_EDITS = 1_000;
/** Bytes of an operation's body: with its signatures it fits into an envelope, also as text within JSON. */
export const MOST_BODY_BYTES = 262_144;
/** Rows of one statement. */
const ROWS_AT_ONCE = 1_000;

/** Columns of `configs` that all hubs have alike, and rows as a dump has them. */
const COLUMNS = ['coin', 'network', 'module', 'param_name', 'param_value'] as const;

/** Write of entries of the configuration. */
interface ConfigWrite {
  readonly edits: readonly ConfigEdit[];
  /** Whether it is the configuration that a hub had before: it is refused where the set has one. */
  readonly isFirst: boolean;
}

/** Returns the body of an operation that writes entries of the configuration. */
export function bodyOf(config: readonly ConfigEdit[]): string {
  return JSON.stringify({ config });
}

/** Returns the body of an operation that brings a hub's own configuration to a set that has none. */
export function firstBodyOf(config: readonly ConfigEdit[]): string {
  return JSON.stringify({ config, first: true });
}

/**
 * Returns what an operation's body `{"config":[…]}` writes, with `"first":true` a hub's own configuration; null for one of another form.
 *
 * Refuses every form that `updateconfig` refuses: a hub that lies writes nothing that another one does not take.
 */
export function readWrite(body: string): ConfigWrite | null {
  // The name stands first in what a hub writes, so a body is parsed for one kind alone.
  if (!body.startsWith('{"config":') || Buffer.byteLength(body) > MOST_BODY_BYTES) return null;
  let read: unknown;
  try {
    read = JSON.parse(body);
  } catch {
    return null;
  }
  const { config, first = false, ...others } = Object(read) as { config?: unknown; first?: unknown };
  if (!Array.isArray(config) || config.length === 0 || typeof first !== 'boolean') return null;
  if (!first && config.length > MOST_EDITS) return null;
  if (Object.keys(others).length > 0 || !config.every(isConfigEdit)) return null;
  return { edits: config, isFirst: first };
}

/** The table `configs`, changed by operations alone. Its stamps are those of the log's clock, so all hubs have the same rows. */
export const CONFIG_STATE: StateMachine = {
  async apply(connection: Connection, { body }: Operation, time: number): Promise<string | null> {
    const { edits, isFirst } = readWrite(body) ?? { edits: [], isFirst: false };
    try {
      await applyAlone(connection, edits, Math.floor(time / 1000), isFirst);
      return null;
    } catch (caught) {
      if (!hasCode(caught, 'REQUEST_INVALID')) throw caught;
      return String(caught.detail['reason']);
    }
  },

  undone: forgetConfigs,

  async dump(connection: Connection): Promise<readonly string[]> {
    const found = await rows(
      connection,
      `SELECT ${COLUMNS}, UNIX_TIMESTAMP(updated_at) AS stamp FROM configs ORDER BY coin, network, module, param_name`
    );
    return found.map((row) => JSON.stringify([...COLUMNS.map((column) => row[column]), Number(row['stamp'])]));
  },

  async replace(connection: Connection, dumped: readonly string[]): Promise<void> {
    await connection.query(
      `INSERT INTO configs_before_set (${COLUMNS}, updated_at) SELECT ${COLUMNS}, updated_at FROM configs`
    );
    await connection.query('DELETE FROM configs');
    forgetConfigs(connection);
    for (let at = 0; at < dumped.length; at += ROWS_AT_ONCE) {
      const values = dumped.slice(at, at + ROWS_AT_ONCE).map((row) => {
        const [coin, network, module, param, value, stamp] = JSON.parse(row) as [...string[], number];
        return [coin, network, module, param, value, stampOf(stamp as number)];
      });
      await connection.query(`INSERT INTO configs (${COLUMNS}, updated_at) VALUES ?`, [values]);
    }
  }
};
