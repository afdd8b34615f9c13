import { canonicalJson } from '../../../consensus/canonical-json.ts';
import { type Connection, rows } from '../../../db/connection.ts';
import type { Operation } from '../consensus/messages.ts';
import { closeMatters, decideMatter, kindOf, wantedBy } from '../matters/decide.ts';
import { type MatterStep, readMatter } from '../matters/operations.ts';
import {
  type Attestation,
  attestationId,
  isOpen,
  type Matter,
  type MatterKind,
  type Swap,
  topicOf
} from '../matters/records.ts';
import {
  BOUNDS,
  KEPT_FOR_MS,
  KEPT_MATTERS,
  type MatterFacts,
  type MatterRules,
  REORG_KEPT_MS,
  SWAP_LIFE_MS,
  SWAP_UNDER_WAY
} from '../matters/rules.ts';
import { destinationId, type SwapWithActions } from '../matters/swaps.ts';
import { clearReaders, keepReadersAside, showMatter } from './matter-readers.ts';
import type { StateMachine } from './state-machine.ts';

const COLUMNS = ['kind', 'id', 'number', 'submitter', 'topic', 'status', 'begun_at', 'ends_at', 'record'] as const;
const NAMES = COLUMNS.map((column) => `\`${column}\``);
/** Rows of one statement. */
const ROWS_AT_ONCE = 200;
/** Condition for what is not over. @see isUnderWay */
const UNDER_WAY = "IF(kind = 'swap', status IN (?) AND begun_at > ?, ends_at IS NOT NULL)";
const underWayAt = (time: number) => [SWAP_UNDER_WAY, time - SWAP_LIFE_MS] as const;

/** Returns attestations, swaps, reorgs and proposals. Each is one record; the tables that methods read are made from it. */
export function matterState(rules: MatterRules): StateMachine {
  return {
    async begin(connection: Connection, time: number): Promise<void> {
      const due = await select(connection, 'ends_at <= ?', [time]);
      for (const matter of closeMatters(due, time)) await put(connection, matter);
    },

    async apply(connection: Connection, { submitter, sig, body }: Operation, time: number): Promise<string | null> {
      const step = readMatter(body);
      if (!step) return 'it is about no matter';
      const facts = await readFacts(connection, step, submitter, time);
      const changed = decideMatter(rules, facts, { submitter, sig, step }, time);
      if (typeof changed === 'string') return changed;
      for (const matter of changed) await put(connection, matter);
      const begun = changed.find(({ kind, number }) => kind === kindOf(step) && number === facts.next);
      if (begun) await prune(connection, begun, time);
      return null;
    },

    async dump(connection: Connection): Promise<readonly string[]> {
      const found = await rows(connection, `SELECT ${NAMES} FROM consensus_matters ORDER BY kind, id`);
      return found.map((row) => JSON.stringify(COLUMNS.map((column) => row[column])));
    },

    async replace(connection: Connection, dumped: readonly string[]): Promise<void> {
      await keepReadersAside(connection);
      await connection.query('DELETE FROM consensus_matters');
      await clearReaders(connection);
      for (let at = 0; at < dumped.length; at += ROWS_AT_ONCE) {
        const values = dumped.slice(at, at + ROWS_AT_ONCE).map((row) => JSON.parse(row) as unknown[]);
        await connection.query(`INSERT INTO consensus_matters (${NAMES}) VALUES ?`, [values]);
        for (const value of values)
          await showMatter(connection, JSON.parse(String(value[COLUMNS.indexOf('record')])) as Matter);
      }
    }
  };
}

/** Reads open matters, oldest first. */
export async function readOpenMatters(connection: Connection): Promise<readonly Matter[]> {
  return await select(connection, 'ends_at IS NOT NULL', []);
}

/** Reads the swaps that a hub began and that are not over, each with the attestations of its actions. */
export async function readSwapsOf(connection: Connection, submitter: string): Promise<readonly SwapWithActions[]> {
  const swaps = (await select(connection, "kind = 'swap' AND submitter = ? AND status IN ('attested', 'executed')", [
    submitter
  ])) as readonly Swap[];
  const sourceId = ({ chain, index, destination }: Swap) => attestationId(chain, index, destination);
  const ids = swaps.flatMap((swap) => [sourceId(swap), destinationId(swap)]).filter((id) => id !== null);
  const found = ids.length === 0 ? [] : await select(connection, "kind = 'attestation' AND id IN (?)", [ids]);
  const byId = new Map(found.map((matter) => [matter.id, matter as Attestation]));
  return swaps.map((swap) => {
    const destination = destinationId(swap);
    return {
      swap,
      source: byId.get(sourceId(swap)),
      destination: destination === null ? undefined : byId.get(destination)
    };
  });
}

/** Returns the value of a parameter that the set voted for last; `first` before that. */
export async function readPassed(connection: Connection, parameter: string, first: string): Promise<string> {
  const passed = await select(connection, "kind = 'proposal' AND topic = ? AND status = 'passed'", [parameter]);
  const last = passed.at(-1);
  return last?.kind === 'proposal' ? last.proposedValue : first;
}

async function readFacts(
  connection: Connection,
  step: MatterStep,
  submitter: string,
  time: number
): Promise<MatterFacts> {
  const { ids, topics, isWorth } = wantedBy(step, submitter);
  const found: Matter[] = [];
  for (const [kind, id] of ids)
    for (const each of await select(connection, 'kind = ? AND id = ?', [kind, id])) found.push(each);
  for (const [kind, topic] of isWorth?.(found) === false ? [] : topics)
    for (const each of await select(connection, 'kind = ? AND topic = ?', [kind, topic])) found.push(each);
  const qualified = await rows(
    connection,
    "SELECT signing_pubkey FROM validator_capabilities WHERE capability = 'cross_chain' AND qualified ORDER BY signing_pubkey"
  );
  const kind = kindOf(step);
  const counts = kind === null ? { next: 0, open: 0, lately: 0 } : await count(connection, kind, submitter, time);
  return { matters: found, qualified: qualified.map((row) => String(row['signing_pubkey'])), ...counts };
}

async function count(
  connection: Connection,
  kind: MatterKind,
  submitter: string,
  time: number
): Promise<Pick<MatterFacts, 'next' | 'open' | 'lately'>> {
  const [found] = await rows(
    connection,
    `SELECT (SELECT MAX(number) FROM consensus_matters WHERE kind = ?) AS last,
       COALESCE(SUM(${UNDER_WAY}), 0) AS open, COALESCE(SUM(begun_at > ?), 0) AS lately
     FROM consensus_matters WHERE kind = ? AND submitter = ?`,
    [kind, ...underWayAt(time), time - BOUNDS[kind].withinMs, kind, submitter]
  );
  return {
    next: Number(found?.['last'] ?? 0) + 1,
    open: Number(found?.['open'] ?? 0),
    lately: Number(found?.['lately'] ?? 0)
  };
}

async function select(connection: Connection, where: string, values: readonly unknown[]): Promise<readonly Matter[]> {
  const found = await rows(
    connection,
    `SELECT record FROM consensus_matters WHERE ${where} ORDER BY kind, number`,
    values
  );
  return found.map((row) => JSON.parse(String(row['record'])) as Matter);
}

async function put(connection: Connection, matter: Matter): Promise<void> {
  const { kind, id, number, submitter, status, begunAt, endsAt } = matter;
  await connection.query(`REPLACE INTO consensus_matters (${NAMES}) VALUES (?)`, [
    [
      kind,
      id,
      number,
      submitter,
      topicOf(matter),
      status,
      begunAt,
      isOpen(matter) ? endsAt : null,
      canonicalJson(matter)
    ]
  ]);
  await showMatter(connection, matter);
}

/**
 * Removes the oldest of a hub's matters of a kind that are over, once no swap can need them; what passed stays, since it holds,
 * and confirmed reports stay for days.
 *
 * @param time  clock of the log, epoch milliseconds
 */
async function prune(connection: Connection, { kind, submitter }: Matter, time: number): Promise<void> {
  const where = `kind = ? AND submitter = ? AND NOT (${UNDER_WAY}) AND NOT (kind = 'proposal' AND status = 'passed')
    AND NOT (kind = 'reorg' AND status = 'confirmed' AND begun_at > ?)`;
  const values = [kind, submitter, ...underWayAt(time), time - REORG_KEPT_MS];
  const [counted] = await rows(connection, `SELECT COUNT(*) AS count FROM consensus_matters WHERE ${where}`, values);
  const surplus = Number(counted?.['count'] ?? 0) - KEPT_MATTERS;
  if (surplus > 0)
    await connection.query(`DELETE FROM consensus_matters WHERE ${where} AND begun_at <= ? ORDER BY number LIMIT ?`, [
      ...values,
      time - KEPT_FOR_MS,
      surplus
    ]);
}
