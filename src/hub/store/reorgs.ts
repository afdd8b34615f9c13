import { reorgReportMachine } from '../../../machines/hub/reorg-report.ts';
import { type Connection, rows, type SqlRow } from '../../db/core/connection.ts';
import { PlatformError } from '../../errors.ts';
import { stateAfter } from './decide.ts';

export const REORG_STATES = ['reported', 'confirmed', 'rejected', 'expired', 'unverified'] as const;

/** A reported reorg as methods answer with it. */
export interface Reorg extends SqlRow {
  /** `BTC:800000:1700000000`. */
  readonly reorgId: string;
  readonly chain: string;
  readonly reorgHeight: number;
  readonly timestamp: number;
  readonly oldHash: string;
  readonly newHash: string;
  /** Tickers of the chains that rely on an attestation from this chain, with commas. */
  readonly affectedChains: string;
  /** Who confirmed it; 0 where a hub without consensus decided directly. */
  readonly validatorCount: number;
  readonly status: (typeof REORG_STATES)[number];
}

/** What is reported. */
export type ReorgReport = Pick<Reorg, 'chain' | 'reorgHeight' | 'timestamp' | 'oldHash' | 'newHash'>;

/** Between two reports about one chain. */
const PAUSE_S = 60;

/** The newest ones. @param chain null: of all chains */
export const selectReorgs = (connection: Connection, chain: string | null, limit: number): Promise<Reorg[]> =>
  rows<Reorg>(
    connection,
    `SELECT reorg_id AS reorgId, source_chain AS chain, reorg_height AS reorgHeight, reorg_timestamp AS timestamp,
            old_hash AS oldHash, new_hash AS newHash, affected_chains AS affectedChains,
            validator_count AS validatorCount, status
       FROM reorg_attestations WHERE ? IS NULL OR source_chain = ? ORDER BY id DESC LIMIT ?`,
    [chain, chain, limit]
  );

/**
 * Confirms a report, directly. The same again is judged anew where nobody knew before.
 *
 * @param isSeen whether the coin node has the new block there; null: nobody knows
 * @throws {PlatformError} RATE_LIMITED, REORG_DIFFERS
 */
export async function insertReorg(connection: Connection, report: ReorgReport, isSeen: boolean | null): Promise<void> {
  const { chain, reorgHeight, timestamp } = report;
  const [oldHash, newHash] = [report.oldHash.toLowerCase(), report.newHash.toLowerCase()];
  const reorgId = `${chain}:${reorgHeight}:${timestamp}`;
  const [known] = await rows<Pick<Reorg, 'oldHash' | 'newHash'>>(
    connection,
    'SELECT old_hash AS oldHash, new_hash AS newHash FROM reorg_attestations WHERE reorg_id = ?',
    [reorgId]
  );
  const status = verdictOf(isSeen);
  if (known?.oldHash === oldHash && known.newHash === newHash) {
    await connection.query("UPDATE reorg_attestations SET status = ? WHERE reorg_id = ? AND status = 'unverified'", [
      status,
      reorgId
    ]);
    return;
  }
  if (known)
    throw new PlatformError('REORG_DIFFERS', {
      reason: `${reorgId} was reported from ${known.oldHash} to ${known.newHash}, not from ${oldHash} to ${newHash}`
    });
  const [last] = await rows<{ age: number | null }>(
    connection,
    'SELECT TIMESTAMPDIFF(SECOND, MAX(created_at), NOW()) AS age FROM reorg_attestations WHERE source_chain = ?',
    [chain]
  );
  const age = last?.age ?? PAUSE_S;
  // A report from the future tells of a clock that stepped back: the pause counts as over.
  if (age >= 0 && age < PAUSE_S) {
    const retryAfterS = PAUSE_S - age;
    const reason = `a reorg of ${chain} was reported ${age} s ago; the next one is taken in ${retryAfterS} s`;
    throw new PlatformError('RATE_LIMITED', { reason, retryAfterS });
  }
  const affected = await rows<{ chain: string }>(
    connection,
    "SELECT DISTINCT dest_chain AS chain FROM attestations WHERE source_chain = ? AND status = 'attested' ORDER BY chain",
    [chain]
  );
  await connection.query('INSERT INTO reorg_attestations SET ?', {
    reorg_id: reorgId,
    source_chain: chain,
    reorg_height: reorgHeight,
    reorg_timestamp: timestamp,
    old_hash: oldHash,
    new_hash: newHash,
    affected_chains: affected.map((row) => row.chain).join(','),
    validator_count: 0,
    status
  });
}

function verdictOf(isSeen: boolean | null): Reorg['status'] {
  if (isSeen === null) return 'unverified';
  const type = isSeen ? 'confirmation.received' : 'denial.received';
  return stateAfter(reorgReportMachine, { validators: 1 }, [{ type }]) as Reorg['status'];
}
