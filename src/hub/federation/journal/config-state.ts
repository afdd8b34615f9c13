import { createHash } from 'node:crypto';
import { type Connection, rows } from '../../../db/connection.ts';
import { hasCode } from '../../../errors.ts';
import { isConfigEdit } from '../../config-edits.ts';
import { applyConfigEdits, type ConfigEdit } from '../../store/configs.ts';
import type { Operation } from '../consensus/messages.ts';
import type { StateMachine } from './journal.ts';

/** Entries of one operation. */
export const MOST_EDITS = 1_000;
/** Bytes of an operation's body: with its signatures it fits into an envelope, also as text within JSON. */
export const MOST_BODY_BYTES = 262_144;

/** Returns the body of an operation that writes entries of the configuration. */
export function bodyOf(config: readonly ConfigEdit[]): string {
  return JSON.stringify({ config });
}

/**
 * Returns the entries of an operation's body `{"config":[…]}`; null for one of another form.
 *
 * Refuses every form that `updateconfig` refuses: a hub that lies writes nothing that another one does not take.
 */
export function readEdits(body: string): readonly ConfigEdit[] | null {
  if (Buffer.byteLength(body) > MOST_BODY_BYTES) return null;
  let read: unknown;
  try {
    read = JSON.parse(body);
  } catch {
    return null;
  }
  const { config, ...others } = Object(read) as { config?: unknown };
  if (!Array.isArray(config) || config.length === 0 || config.length > MOST_EDITS) return null;
  if (Object.keys(others).length > 0 || !config.every(isConfigEdit)) return null;
  return config;
}

/** The table `configs`, changed by operations alone. Its stamps are those of the log's clock, so all hubs have the same rows. */
export const CONFIG_STATE: StateMachine = {
  async apply(connection: Connection, { body }: Operation, time: number): Promise<string | null> {
    try {
      await applyConfigEdits(connection, readEdits(body) ?? [], Math.floor(time / 1000));
      return null;
    } catch (caught) {
      if (!hasCode(caught, 'REQUEST_INVALID')) throw caught;
      return String(caught.detail['reason']);
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
