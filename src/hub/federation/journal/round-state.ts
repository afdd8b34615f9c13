import { type Connection, rows } from '../../../db/connection.ts';
import { insertSignedRound } from '../../store/prices/prices.ts';
import type { Operation } from '../consensus/messages.ts';
import {
  type DecidedRound,
  decideRound,
  type EvidenceBounds,
  FIRST_BOUNDS,
  NO_ROUNDS,
  type RoundsBefore
} from '../rounds/decide.ts';
import { readRound } from '../rounds/operations.ts';
import type { LoggedRound } from '../rounds/publishing.ts';
import type { GatheredRound, RoundRules } from '../rounds/statements.ts';
import { readPassed } from './matter-state.ts';
import type { StateMachine } from './state-machine.ts';

/** Rounds that are kept, with who took part in them. */
const KEPT_ROUNDS = 100;
/** Rows of evidence that are kept. */
const KEPT_EVIDENCE = 1_000;

/** Tables that rounds write, each with its columns; the first ones are its key. */
const TABLES = {
  consensus_rounds: { columns: ['round', 'decided', 'after'], keys: 1 },
  slash_evidence: { columns: ['round', 'pubkey', 'reason', 'detail'], keys: 3 }
} as const;
type Table = keyof typeof TABLES;

/** Facts that a round is decided by. */
export interface RoundFacts {
  readonly before: RoundsBefore;
  /** Hubs that qualify for prices. */
  readonly qualified: readonly string[];
  /** Hubs that are ready to publish them. */
  readonly publishers: readonly string[];
  /** Bounds that the set has voted on. */
  readonly bounds: EvidenceBounds;
}

/** Reads the facts that the next round is decided by. */
export async function readRoundFacts(connection: Connection): Promise<RoundFacts> {
  const [last] = await rows(connection, 'SELECT `after` FROM consensus_rounds ORDER BY round DESC LIMIT 1');
  const qualified = await rows(
    connection,
    "SELECT signing_pubkey FROM validator_capabilities WHERE capability = 'price' AND qualified ORDER BY signing_pubkey"
  );
  const publishers = await rows(
    connection,
    "SELECT signing_pubkey FROM validator_capabilities WHERE capability = 'oracle_publish' AND qualified AND self_test_ok ORDER BY signing_pubkey"
  );
  return {
    before: last ? (JSON.parse(String(last['after'])) as RoundsBefore) : NO_ROUNDS,
    qualified: qualified.map((row) => String(row['signing_pubkey'])),
    publishers: publishers.map((row) => String(row['signing_pubkey'])),
    bounds: {
      missed: Math.floor(
        Number(await readPassed(connection, 'SLASH_MISSED_ROUNDS_THRESHOLD', `${FIRST_BOUNDS.missed}`))
      ),
      offPercent: await readPassed(connection, 'SLASH_DEVIATION_THRESHOLD', FIRST_BOUNDS.offPercent)
    }
  };
}

/**
 * Rounds of prices: each is decided anew from what its hubs signed, so the leader and the proposer write no price of their own.
 *
 * @param rules  null: the set makes no rounds
 */
export function roundState(rules: RoundRules | null): StateMachine {
  return {
    async apply(connection: Connection, { body }: Operation, time: number): Promise<string | null> {
      const gathered = readRound(body);
      if (!gathered) return 'it has no round';
      if (!rules) return 'this set makes no rounds';
      const { before, qualified, bounds, publishers } = await readRoundFacts(connection);
      const found = decideRound(rules, before, qualified, gathered, time, bounds);
      if (typeof found === 'string') return found;
      const { after } = found;
      const decided: LoggedRound = { ...found.decided, decidedAt: time, publishers };
      await insert(connection, 'consensus_rounds', [[decided.round, JSON.stringify(decided), JSON.stringify(after)]]);
      const evidence = evidenceOf(decided, gathered);
      const missed = await missedTooOften(connection, decided.round, after, bounds);
      await insert(connection, 'slash_evidence', [...evidence, ...missed]);
      await prune(connection);
      await insertPrices(connection, decided);
      return null;
    },

    async dump(connection: Connection): Promise<readonly string[]> {
      const lines: string[] = [];
      for (const [table, { columns, keys }] of Object.entries(TABLES)) {
        const names = columns.map((column) => `\`${column}\``);
        const found = await rows(connection, `SELECT ${names} FROM ${table} ORDER BY ${names.slice(0, keys)}`);
        for (const row of found) lines.push(JSON.stringify([table, ...columns.map((column) => row[column])]));
      }
      return lines;
    },

    async replace(connection: Connection, dumped: readonly string[]): Promise<void> {
      const all = dumped.map((line) => JSON.parse(line) as [Table, ...unknown[]]);
      for (const table of Object.keys(TABLES) as Table[]) {
        await connection.query(`DELETE FROM ${table}`);
        await insert(
          connection,
          table,
          all.filter(([of]) => of === table).map(([, ...row]) => row)
        );
      }
      for (const [table, , decided] of all)
        if (table === 'consensus_rounds') await insertPrices(connection, JSON.parse(String(decided)) as DecidedRound);
    }
  };
}

async function insert(connection: Connection, table: Table, values: readonly (readonly unknown[])[]): Promise<void> {
  if (values.length === 0) return;
  const names = TABLES[table].columns.map((column) => `\`${column}\``);
  await connection.query(`INSERT INTO ${table} (${names}) VALUES ?`, [values]);
}

/** Returns the rows of evidence that a round's submissions give: keys, reasons, and what shows them. */
function evidenceOf({ round, far, split, pairs }: DecidedRound, { submissions }: GatheredRound): unknown[][] {
  const of = (key: string) => submissions.filter(({ submitter }) => submitter === key);
  const rowOf = (key: string, reason: string, detail: unknown) => [round, key, reason, JSON.stringify(detail)];
  return [
    ...far.map((key) => rowOf(key, 'deviation', { submissions: of(key), pairs })),
    ...split.map((key) => rowOf(key, 'equivocation', { submissions: of(key) }))
  ];
}

/** Returns the same of hubs that have missed more rounds in a row than they may, once for these: the set may change the bound meanwhile. */
async function missedTooOften(
  connection: Connection,
  round: number,
  { missed }: RoundsBefore,
  bounds: EvidenceBounds
): Promise<unknown[][]> {
  const named = await rows(
    connection,
    "SELECT pubkey, MAX(round) AS round FROM slash_evidence WHERE reason = 'missed' GROUP BY pubkey"
  );
  const last = new Map(named.map((row) => [String(row['pubkey']), Number(row['round'])]));
  return Object.entries(missed)
    .filter(([key, count]) => count > bounds.missed && (last.get(key) ?? Number.NEGATIVE_INFINITY) <= round - count)
    .map(([key, count]) => [round, key, 'missed', JSON.stringify({ rounds: count })]);
}

/** Removes old rounds and evidence: what all hubs have alike is read whole at each checkpoint. */
async function prune(connection: Connection): Promise<void> {
  const [oldest] = await rows(connection, 'SELECT round FROM consensus_rounds ORDER BY round DESC LIMIT 1 OFFSET ?', [
    KEPT_ROUNDS - 1
  ]);
  if (oldest) await connection.query('DELETE FROM consensus_rounds WHERE round < ?', [oldest['round']]);
  const [counted] = await rows(connection, 'SELECT COUNT(*) AS kept FROM slash_evidence');
  const surplus = Number(counted?.['kept'] ?? 0) - KEPT_EVIDENCE;
  if (surplus > 0)
    await connection.query('DELETE FROM slash_evidence ORDER BY round, pubkey, reason LIMIT ?', [surplus]);
}

/** Writes the prices where readers of prices find them; those that an indexer found on a chain stay. */
async function insertPrices(connection: Connection, { round, timestamp, height, pairs, counted }: DecidedRound) {
  await insertSignedRound(
    connection,
    {
      round_number: round,
      block_timestamp: timestamp,
      reference_block: height,
      validator_count: counted.length,
      consensus_proof: null,
      source_chain: null,
      source_action_index: null,
      push_generation: 0,
      pairs: pairs.map(({ pair, price }) =>
        price === null ? { pair, price: '0', status: 'skipped' } : { pair, price }
      )
    },
    true
  );
}
