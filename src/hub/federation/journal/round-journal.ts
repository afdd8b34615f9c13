import { type Connection, rows } from '../../../db/connection.ts';
import { selectBitcoinHeight } from '../../store/chain-tips.ts';
import type { CapabilityClaim } from '../rounds/operations.ts';
import type { LoggedRound } from '../rounds/publishing.ts';
import { type RoundFacts, readRoundFacts } from './round-state.ts';

/** Kinds of what a hub signs or makes once for a round. */
type OwnKind = 'submission' | 'list' | 'statement' | 'publication' | 'skipped';

/** A hub's capability as the log has it. */
export interface KnownCapability extends Pick<CapabilityClaim, 'phase'> {
  readonly pubkey: string;
  readonly name: string;
}

/** Rounds for which what this hub has signed, and signatures of others, are kept. */
const KEPT_ROUNDS = 1_000;

/** A hub's part in rounds of prices, in its database. Callers take turns with those of the journal. */
export class RoundJournal {
  readonly #connection: Connection;

  /** @param connection  that of the journal */
  constructor(connection: Connection) {
    this.#connection = connection;
  }

  facts(): Promise<RoundFacts> {
    return readRoundFacts(this.#connection);
  }

  /** Returns the last round that the set decided; null for none. */
  async last(): Promise<LoggedRound | null> {
    const [last] = await this.newest(1);
    return last ?? null;
  }

  /** Returns the last rounds that the set decided, the newest first. */
  async newest(count: number): Promise<readonly LoggedRound[]> {
    const found = await rows(this.#connection, 'SELECT decided FROM consensus_rounds ORDER BY round DESC LIMIT ?', [
      count
    ]);
    return found.map((row) => JSON.parse(String(row['decided'])) as LoggedRound);
  }

  /** Returns the height of Bitcoin that this hub was told; 0 for none. */
  async height(): Promise<number> {
    return (await selectBitcoinHeight(this.#connection)) ?? 0;
  }

  async capabilities(): Promise<readonly KnownCapability[]> {
    const found = await rows(
      this.#connection,
      'SELECT signing_pubkey, capability, qualified, self_test_ok, enabled FROM validator_capabilities'
    );
    return found.map((row) => ({
      pubkey: String(row['signing_pubkey']),
      name: String(row['capability']),
      phase: phaseOf(Number(row['enabled']), Number(row['qualified']), Number(row['self_test_ok']))
    }));
  }

  /** Keeps what this hub has signed or made for a round. @returns that, or what it has kept before: only this may be sent */
  async keepOwn<S>(round: number, kind: OwnKind, signed: S): Promise<S> {
    await this.#connection.query('INSERT IGNORE INTO consensus_own (round, kind, stored) VALUES (?)', [
      [round, kind, JSON.stringify(signed)]
    ]);
    // By the log as well: with a clock that is far ahead it would forget what binds it in the round that runs.
    await this.#connection.query(
      'DELETE FROM consensus_own WHERE round + ? < (SELECT LEAST(?, COALESCE(MAX(round), 0)) FROM consensus_rounds)',
      [KEPT_ROUNDS, round]
    );
    return (await this.own<S>(round, kind))!;
  }

  /**
   * Returns whether this hub may submit or list for a round. One that finds no word of its own in a set that has rounds has lost its
   * database, or is new: it may have signed for the round that runs, and skips that.
   */
  async maySign(round: number): Promise<boolean> {
    const [known] = await rows(
      this.#connection,
      'SELECT EXISTS(SELECT 1 FROM consensus_own) AS own, EXISTS(SELECT 1 FROM consensus_rounds) AS decided'
    );
    if (Number(known?.['own']) === 0 && Number(known?.['decided']) === 1) await this.keepOwn(round, 'skipped', true);
    return (await this.own(round, 'skipped')) === null;
  }

  /** Keeps signatures of a round's prices, which were checked. @param signed  by key */
  async keepStatements(round: number, signed: ReadonlyMap<string, string>): Promise<void> {
    if (signed.size === 0) return;
    await this.#connection.query('INSERT IGNORE INTO consensus_statements (round, pubkey, sig) VALUES ?', [
      [...signed].map(([pubkey, sig]) => [round, pubkey, sig])
    ]);
    await this.#connection.query('DELETE FROM consensus_statements WHERE round < ?', [
      Math.max(0, round - KEPT_ROUNDS)
    ]);
  }

  /** Returns what this hub has signed or made for a round; null for nothing. */
  async own<S>(round: number, kind: OwnKind): Promise<S | null> {
    const [kept] = await rows(this.#connection, 'SELECT stored FROM consensus_own WHERE round = ? AND kind = ?', [
      round,
      kind
    ]);
    return kept ? (JSON.parse(String(kept['stored'])) as S) : null;
  }

  /** Returns the signatures of a round's prices that are here, by key, in ascending order of these. */
  async signatures(round: number): Promise<ReadonlyMap<string, string>> {
    const found = await rows(
      this.#connection,
      'SELECT pubkey, sig FROM consensus_statements WHERE round = ? ORDER BY pubkey',
      [round]
    );
    return new Map(found.map((row) => [String(row['pubkey']), String(row['sig'])]));
  }
}

function phaseOf(enabled: number, qualified: number, passes: number): CapabilityClaim['phase'] {
  if (!enabled) return 'disabled';
  if (!qualified) return 'unqualified';
  return passes ? 'ready' : 'qualified';
}
