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
/** Operations by which a hub brings its configuration, and bytes of one beside its entries. */
const MOST_PARTS = 1_000;
const FRAME_BYTES = 64;
/** Rows of one statement. */
const ROWS_AT_ONCE = 1_000;

/** Columns of `configs` that all hubs have alike, and rows as a dump has them. */
const COLUMNS = ['coin', 'network', 'module', 'param_name', 'param_value'] as const;

/** First word of a dumped row that tells how far a hub is with bringing its configuration. */
const BRINGS = 'brings ';

/** Write of entries of the configuration. */
interface ConfigWrite {
  readonly edits: readonly ConfigEdit[];
  /** Place among the parts of the configuration that a hub had before, and their number; null for every other write. */
  readonly brought: { readonly part: number; readonly parts: number } | null;
}

/** Returns the body of an operation that writes entries of the configuration. */
export function bodyOf(config: readonly ConfigEdit[]): string {
  return JSON.stringify({ config });
}

/** Returns the bodies of the operations, in order, that bring a hub's own configuration to a set that has none. */
export function firstBodiesOf(config: readonly ConfigEdit[]): readonly string[] {
  const lists: ConfigEdit[][] = [];
  let left = 0;
  for (const edit of config) {
    const bytes = Buffer.byteLength(JSON.stringify(edit)) + 1;
    left -= bytes;
    if (left >= 0) lists.at(-1)!.push(edit);
    else {
      lists.push([edit]);
      left = MOST_BODY_BYTES - FRAME_BYTES - bytes;
    }
  }
  const parts = lists.length;
  return lists.map((some, part) => JSON.stringify({ config: some, first: true, ...(parts > 1 && { part, parts }) }));
}

/**
 * Returns what an operation's body `{"config":[…]}` writes, with `"first":true` a hub's own configuration, a long one in parts with
 * `"part":0,"parts":2`; null for one of another form.
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
  const { config, first = false, part, parts, ...others } = Object(read) as Readonly<Record<string, unknown>>;
  if (!Array.isArray(config) || config.length === 0 || typeof first !== 'boolean') return null;
  if (!first && config.length > MOST_EDITS) return null;
  if (Object.keys(others).length > 0 || !config.every(isConfigEdit)) return null;
  if (!first) return part === undefined && parts === undefined ? { edits: config, brought: null } : null;
  if (part === undefined && parts === undefined) return { edits: config, brought: { part: 0, parts: 1 } };
  if (!isWithin(part, 0, Number(parts) - 1) || !isWithin(parts, 2, MOST_PARTS)) return null;
  return { edits: config, brought: { part, parts } };
}

function isWithin(value: unknown, least: number, most: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;
}

/** Returns whether a part is the first of what a hub brings, or the one after those that the set took. */
async function isNextPart(connection: Connection, submitter: string, part: number): Promise<boolean> {
  if (part === 0) return true;
  const [brings] = await rows(connection, 'SELECT part FROM consensus_bringing WHERE hub = ?', [submitter]);
  return Number(brings?.['part']) === part;
}

/** Notes which part of what a hub brings is the next one. */
async function notePart(
  connection: Connection,
  submitter: string,
  { part, parts }: NonNullable<ConfigWrite['brought']>
): Promise<void> {
  if (part + 1 < parts)
    await connection.query('REPLACE INTO consensus_bringing (hub, part) VALUES (?)', [[submitter, part + 1]]);
  else if (part > 0) await connection.query('DELETE FROM consensus_bringing WHERE hub = ?', [submitter]);
}

/** The table `configs`, changed by operations alone. Its stamps are those of the log's clock, so all hubs have the same rows. */
export const CONFIG_STATE: StateMachine = {
  async apply(connection: Connection, { submitter, body }: Operation, time: number): Promise<string | null> {
    const { edits, brought } = readWrite(body) ?? { edits: [], brought: null };
    // Before anything is written: what is known of the configuration stays true where a part is refused.
    if (brought && !(await isNextPart(connection, submitter, brought.part)))
      return 'it is not the next part of a configuration that the set takes';
    try {
      await applyAlone(connection, edits, Math.floor(time / 1000), brought && (brought.part > 0 ? 'more' : 'first'));
      if (brought) await notePart(connection, submitter, brought);
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
    const brings = await rows(connection, 'SELECT hub, part FROM consensus_bringing ORDER BY hub');
    return [
      ...found.map((row) => JSON.stringify([...COLUMNS.map((column) => row[column]), Number(row['stamp'])])),
      ...brings.map(({ hub, part }) => BRINGS + JSON.stringify([hub, Number(part)]))
    ];
  },

  async replace(connection: Connection, dumped: readonly string[], isOfSet = false): Promise<void> {
    if (!isOfSet)
      await connection.query(
        `INSERT INTO configs_before_set (${COLUMNS}, updated_at) SELECT ${COLUMNS}, updated_at FROM configs`
      );
    await connection.query('DELETE FROM configs');
    await connection.query('DELETE FROM consensus_bringing');
    forgetConfigs(connection);
    const brings = dumped.filter((row) => row.startsWith(BRINGS)).map((row) => JSON.parse(row.slice(BRINGS.length)));
    if (brings.length > 0) await connection.query('INSERT INTO consensus_bringing (hub, part) VALUES ?', [brings]);
    const entries = dumped.filter((row) => !row.startsWith(BRINGS));
    for (let at = 0; at < entries.length; at += ROWS_AT_ONCE) {
      const values = entries.slice(at, at + ROWS_AT_ONCE).map((row) => {
        const [coin, network, module, param, value, stamp] = JSON.parse(row) as [...string[], number];
        return [coin, network, module, param, value, stampOf(stamp as number)];
      });
      await connection.query(`INSERT INTO configs (${COLUMNS}, updated_at) VALUES ?`, [values]);
    }
  }
};
