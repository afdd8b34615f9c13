import { type Connection, rows } from '../../../db/connection.ts';
import { PlatformError } from '../../../errors.ts';
import { isConfigEdit } from '../../config-edits.ts';
import { selectConfigState } from '../../store/configs.ts';
import { type RoundRules, roundAt } from '../rounds/statements.ts';
import { firstBodiesOf } from './config-state.ts';
import { Journal } from './journal.ts';
import type { StateMachine } from './state-machine.ts';
import { createJournalTables, keepAside } from './tables.ts';

/** Time for the connection of an earlier process to end. */
const LOCK_WAIT_S = 10;
/** Digits of a set's id in the name of a row. */
const FORMER_DIGITS = 40;

/** A hub's log, opened. */
interface OpenedLog {
  readonly journal: Journal;
  /** Configuration of the time before its set; null: there is none, the log has begun, or was set aside. */
  readonly brought: Brought | null;
  /** End of the names of tables that were kept aside; null: none were. */
  readonly aside: string | null;
}

/** Configuration that a hub brings to its set, which takes it where it has none. */
export interface Brought {
  /** Bodies of the operations, in order: a long configuration is brought in parts. */
  readonly bodies: readonly string[];
  readonly entries: number;
  /** Entries of a form that `updateconfig` refuses: they are not in it. */
  readonly refused: number;
}

interface OpenOptions {
  /** Id of the set, 64 hex digits. */
  readonly set: string;
  readonly machine: StateMachine;
  /** Rounds of prices of the set; null: it makes none. */
  readonly rounds: Pick<RoundRules, 'epochStartMs' | 'intervalMs'> | null;
  /** Whether a log that cannot be gone on with is kept aside, for the state of the set. */
  readonly rejoin: boolean;
  /** Epoch milliseconds. */
  readonly now: number;
}

/**
 * Makes the tables of a hub's log, and takes the database for this process alone until the connection ends.
 *
 * @throws {PlatformError} LOG_OUT_OF_ORDER: the log is of another set, or the configuration changed beside it; or rounds of prices would have
 *   numbers that are used
 * @throws {PlatformError} LOG_TAKEN
 */
export async function openLog(connection: Connection, options: OpenOptions): Promise<OpenedLog> {
  const { set, machine, rejoin, now } = options;
  await takeLog(connection);
  await createJournalTables(connection);
  const journal = new Journal(connection, machine);
  const state = await readState(connection);
  const isSameSet = (state.get('set') ?? set) === set;
  const { seq } = await journal.applied();
  const fault = isSameSet ? findForeignWrite(seq, state) : otherFault(set, state.get('set')!);
  if (!isSameSet && state.has(formerName(set))) refuse(formerFault(set));
  if (seq === 0 || !isSameSet) await refuseUsedRounds(connection, options);
  let aside: string | null = null;
  if (rejoin && (fault !== null || (await journal.halt()) !== null)) {
    if (isSameSet) await writeState(connection, 'floor', String(Math.max(seq, Number(state.get('floor') ?? 0))));
    else await writeState(connection, formerName(state.get('set')!), String(now));
    aside = await keepAside(connection, isSameSet, now);
    // The configuration of a set that is there already counts; a new set has none.
    if (isSameSet) await writeState(connection, 'rejoined', aside);
    else await connection.query("DELETE FROM consensus_state WHERE key_name IN ('rejoined', 'floor')");
  } else if (fault !== null) refuse(`${fault} start it once with --rejoin, which keeps that aside`);
  await writeState(connection, 'set', set);
  const isEmpty = (await journal.applied()).seq === 0;
  if (isEmpty) {
    // What waited for a set that had not begun is older than what was written in standalone mode since.
    if (Number(state.get('last_seq') ?? 0) > 0) await connection.query('DELETE FROM consensus_pending');
    // Places of another log, or of none, are not to be taken for those of this one.
    await writeState(connection, 'last_seq', '0');
  }
  const hasBegun = !isEmpty || (await readState(connection)).has('rejoined');
  return { journal, aside, brought: hasBegun ? null : await readBrought(connection) };
}

/** Refuses a set whose rounds have lower numbers than others had before: the ledger takes each number once, and the highest one counts. */
async function refuseUsedRounds(connection: Connection, { rounds, now }: OpenOptions): Promise<void> {
  if (!rounds) return;
  const [found] = await rows(
    connection,
    "SELECT round_number AS round FROM price_snapshots WHERE origin = 'validators' AND trusted ORDER BY round_number DESC LIMIT 1"
  );
  const [last, present] = [Number(found?.['round'] ?? 0), roundAt(rounds, now)];
  if (last <= present + 1) return;
  const earlier = now - (last + 1) * rounds.intervalMs;
  refuse(
    `round ${last} of prices is in this database, and that of the set would be ${present} now: nobody would see its prices until then; choose ORACLE_EPOCH_START=${earlier} or less, the same at all hubs, or set the clock`
  );
}

/** Takes the log for this connection. @throws {PlatformError} LOG_TAKEN: it may be free later, as when MariaDB notices a lost client */
async function takeLog(connection: Connection): Promise<void> {
  const [lock] = await rows(
    connection,
    "SELECT GET_LOCK(CONCAT('hub log ', DATABASE()), ?) AS taken, IS_USED_LOCK(CONCAT('hub log ', DATABASE())) AS owner",
    [LOCK_WAIT_S]
  );
  if (Number(lock?.['taken']) === 1) return;
  const owner = Number(lock?.['owner'] ?? 0);
  const reason = `session ${owner} of MariaDB has the log of this database: KILL ${owner} ends it`;
  throw new PlatformError('LOG_TAKEN', { reason });
}

async function readBrought(connection: Connection): Promise<Brought | null> {
  const { entries: found } = await selectConfigState(connection);
  const entries = found
    .map(({ coin, network, module, param, value }) => ({ coin, network, module, param, value }))
    .filter(isConfigEdit);
  if (entries.length === 0) return null;
  return { bodies: firstBodiesOf(entries), entries: entries.length, refused: found.length - entries.length };
}

/** Returns why a log was not gone on with by its set alone, as the beginning of a sentence; null where it was. */
function findForeignWrite(seq: number, state: ReadonlyMap<string, string>): string | null {
  const last = Number(state.get('last_seq') ?? 0);
  if (seq === 0 || last === seq) return null;
  return `its last write is ${last}, the last batch of its log ${seq}: it was written to in standalone mode:`;
}

/** Returns why a set does not go on with the log of another one: mostly a setting was changed at this hub alone. */
function otherFault(set: string, logged: string): string {
  return `the log of this database is of the set ${logged}, its settings name the set ${set}: set HUB_FEDERATION, ORACLE_ and GOV_VOTING_PERIOD settings as the other hubs have them; where all of them begin a new set,`;
}

/** Returns the name under which it is kept that a set had a log here before; a set's whole id would fill it. */
function formerName(set: string): string {
  return `former ${set.slice(0, FORMER_DIGITS)}`;
}

/** Returns why a set that had a log here has no second one: what its hubs have signed in the first would count in it. */
function formerFault(set: string): string {
  return `this database had a log of the set ${set} before: for a new one of the same hubs give HUB_FEDERATION another number, such as "log": 2, at all of them; where the others go on with that one, start with an empty database`;
}

function refuse(reason: string): never {
  throw new PlatformError('LOG_OUT_OF_ORDER', { reason });
}

async function readState(connection: Connection): Promise<ReadonlyMap<string, string>> {
  const found = await rows(
    connection,
    "SELECT key_name, value FROM consensus_state WHERE key_name IN ('set', 'last_seq', 'rejoined', 'floor') OR key_name LIKE 'former %'"
  );
  return new Map(found.map((row) => [String(row['key_name']), String(row['value'])]));
}

async function writeState(connection: Connection, name: string, value: string): Promise<void> {
  await connection.query('REPLACE INTO consensus_state (key_name, value) VALUES (?)', [[name, value]]);
}
