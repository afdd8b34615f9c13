import { reorgReportMachine } from '../../../machines/hub/reorg-report.ts';
import { type Connection, rows, type SqlRow } from '../../db/connection.ts';
import { PlatformError } from '../../errors.ts';
import { stateAfter } from './decide.ts';

export const REORG_STATES = ['reported', 'confirmed', 'rejected', 'expired', 'unverified'] as const;

/** A reported reorg as methods answer with it. */
export interface Reorg extends SqlRow {
  /** `BTC:800000:1700000000`. */
  readonly reorg_id: string;
  readonly id: number;
  readonly source_chain: string;
  readonly reorg_height: number;
  readonly reorg_timestamp: number;
  readonly consensus_proof: string | null;
  readonly created_at: string;
  readonly old_hash: string;
  readonly new_hash: string;
  /** Tickers of the chains that rely on an attestation from this chain, with commas. */
  readonly affected_chains: string;
  /** Number of validators that confirmed it; 0 if a hub without consensus decided directly. */
  readonly validator_count: number;
  readonly status: (typeof REORG_STATES)[number];
}

/** Content of a report. */
interface ReorgReport extends Pick<Reorg, 'reorg_height' | 'old_hash' | 'new_hash'> {
  readonly chain: string;
  readonly timestamp: number;
}

/** Pause between two reports about one chain. */
const PAUSE_S = 60;

/** Reads the newest ones. @param chain null: of all chains */
export const selectReorgs = (connection: Connection, chain: string | null, limit: number): Promise<Reorg[]> =>
  rows<Reorg>(
    connection,
    `SELECT reorg_id, id, source_chain, reorg_height, reorg_timestamp, consensus_proof, created_at,
            old_hash, new_hash, affected_chains,
            validator_count, status
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
  const { chain, reorg_height, timestamp } = report;
  const [old_hash, new_hash] = [report.old_hash.toLowerCase(), report.new_hash.toLowerCase()];
  const reorg_id = `${chain}:${reorg_height}:${timestamp}`;
  const [known] = await rows<Pick<Reorg, 'old_hash' | 'new_hash'>>(
    connection,
    'SELECT old_hash, new_hash FROM reorg_attestations WHERE reorg_id = ?',
    [reorg_id]
  );
  const status = verdictOf(isSeen);
  if (known?.old_hash === old_hash && known.new_hash === new_hash) {
    await connection.query("UPDATE reorg_attestations SET status = ? WHERE reorg_id = ? AND status = 'unverified'", [
      status,
      reorg_id
    ]);
    return;
  }
  if (known)
    throw new PlatformError('REORG_DIFFERS', {
      reason: `${reorg_id} was reported from ${known.old_hash} to ${known.new_hash}, not from ${old_hash} to ${new_hash}`
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
    reorg_id,
    source_chain: chain,
    reorg_height,
    reorg_timestamp: timestamp,
    old_hash,
    new_hash,
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
