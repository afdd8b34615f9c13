import { createHash } from 'node:crypto';
import { type Connection, rows } from '../../../db/connection.ts';
import type { Operation } from '../consensus/messages.ts';
import type { StateMachine } from './journal.ts';

/** One parameter's new value; null removes it. */
interface ConfigChange {
  readonly coin: string;
  readonly network: string;
  readonly module: string;
  readonly param: string;
  readonly value: string | null;
}

/** Most characters of each field, as the table `configs` has them. */
const LENGTHS = { coin: 16, network: 16, module: 64, param: 32 } as const;
const MOST_CHANGES = 1_000;
/** Bytes of an operation's body: with its signatures it fits into an envelope, also as text within JSON. */
const MOST_BYTES = 262_144;
const MOST_VALUE = 16_384;

/** Returns the changes of an operation's body `{"config":[…]}`; null for one of another form. */
export function readChanges(body: string): readonly ConfigChange[] | null {
  if (Buffer.byteLength(body) > MOST_BYTES) return null;
  let read: unknown;
  try {
    read = JSON.parse(body);
  } catch {
    return null;
  }
  const { config, ...others } = Object(read) as { config?: unknown };
  if (!Array.isArray(config) || config.length === 0 || config.length > MOST_CHANGES) return null;
  if (Object.keys(others).length > 0 || !config.every(isChange)) return null;
  return config;
}

function isChange(value: unknown): value is ConfigChange {
  if (typeof value !== 'object' || value === null || Object.keys(value).length !== 5) return false;
  const fields = value as Record<string, unknown>;
  const isNamed = Object.entries(LENGTHS).every(([name, most]) => {
    const text = fields[name];
    return typeof text === 'string' && text.isWellFormed() && text.length > 0 && text.length <= most;
  });
  const given = fields['value'];
  const isGiven = typeof given === 'string' && given.isWellFormed() && given.length <= MOST_VALUE;
  return isNamed && (given === null || isGiven);
}

/** The table `configs`, changed by operations alone. Its stamps are those of the log's clock, so all hubs have the same rows. */
export const CONFIG_STATE: StateMachine = {
  async apply(connection: Connection, { body }: Operation, time: number): Promise<void> {
    for (const { coin, network, module, param, value } of readChanges(body) ?? []) {
      const name = [coin, network, module, param];
      if (value === null)
        await connection.query(
          'DELETE FROM configs WHERE coin = ? AND network = ? AND module = ? AND param_name = ?',
          name
        );
      else
        await connection.query(
          `INSERT INTO configs (coin, network, module, param_name, param_value, updated_at)
           VALUES (?, ?, ?, ?, ?, FROM_UNIXTIME(?))
           ON DUPLICATE KEY UPDATE
             updated_at = IF(BINARY param_value <=> BINARY VALUES(param_value), updated_at, VALUES(updated_at)),
             param_value = VALUES(param_value)`,
          [...name, value, Math.floor(time / 1000)]
        );
    }
  },

  async digest(connection: Connection): Promise<string> {
    const found = await rows(
      connection,
      `SELECT coin, network, module, param_name, param_value, UNIX_TIMESTAMP(updated_at) AS stamp
         FROM configs ORDER BY coin, network, module, param_name`
    );
    const hash = createHash('sha256');
    for (const { coin, network, module, param_name, param_value, stamp } of found)
      hash.update(`${JSON.stringify([coin, network, module, param_name, param_value, Number(stamp)])}\n`);
    return hash.digest('hex');
  }
};
