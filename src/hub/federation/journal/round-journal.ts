import { type Connection, rows } from '../../../db/connection.ts';
import { selectBitcoinHeight } from '../../store/chain-tips.ts';
import type { DecidedRound } from '../rounds/decide.ts';
import type { CapabilityClaim } from '../rounds/operations.ts';
import { type RoundFacts, readRoundFacts } from './round-state.ts';

/** Kinds of what a hub signs once for a round. */
type OwnKind = 'submission' | 'list' | 'statement';

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
  async last(): Promise<DecidedRound | null> {
    const [last] = await rows(this.#connection, 'SELECT decided FROM consensus_rounds ORDER BY round DESC LIMIT 1');
    return last ? (JSON.parse(String(last['decided'])) as DecidedRound) : null;
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

  /** Keeps what this hub has signed for a round. @returns that, or what it has signed before: only this may be sent */
  async keepOwn<S>(round: number, kind: OwnKind, signed: S): Promise<S> {
    await this.#connection.query('INSERT IGNORE INTO consensus_own (round, kind, stored) VALUES (?)', [
      [round, kind, JSON.stringify(signed)]
    ]);
    await this.#connection.query('DELETE FROM consensus_own WHERE round < ?', [Math.max(0, round - KEPT_ROUNDS)]);
    const [kept] = await rows(this.#connection, 'SELECT stored FROM consensus_own WHERE round = ? AND kind = ?', [
      round,
      kind
    ]);
    return JSON.parse(String(kept!['stored'])) as S;
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

  /** Returns the keys whose signatures of a round's prices are here. */
  async signers(round: number): Promise<ReadonlySet<string>> {
    const found = await rows(this.#connection, 'SELECT pubkey FROM consensus_statements WHERE round = ?', [round]);
    return new Set(found.map((row) => String(row['pubkey'])));
  }
}

function phaseOf(enabled: number, qualified: number, passes: number): CapabilityClaim['phase'] {
  if (!enabled) return 'disabled';
  if (!qualified) return 'unqualified';
  return passes ? 'ready' : 'qualified';
}
