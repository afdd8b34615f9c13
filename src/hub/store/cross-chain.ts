import { attestationMachine } from '../../../machines/hub/attestation.ts';
import { swapMachine } from '../../../machines/hub/swap.ts';
import { findNetwork } from '../../coin/find-network.ts';
import { type Connection, rows, type SqlRow } from '../../db/core/connection.ts';
import { PlatformError } from '../../errors.ts';
import { stateAfter } from './decide.ts';

export const ATTESTATION_STATES = ['pending', 'attested', 'rejected', 'expired', 'unverified'] as const;
export const SWAP_STATES = ['initiated', 'attested', 'executed', 'settled', 'failed'] as const;

/** An attestation as methods answer with it. */
export interface Attestation extends SqlRow {
  /** `BTC:5:LTC`. */
  readonly attestationId: string;
  readonly sourceChain: string;
  readonly sourceActionIndex: number;
  readonly destChain: string;
  /** Of the source action, as its indexer said; null: none was asked. */
  readonly confirmations: number | null;
  readonly status: (typeof ATTESTATION_STATES)[number];
  /** Who signed; 0 where a hub without consensus decided directly. */
  readonly validatorCount: number;
  readonly consensusProof: string | null;
}

/** A swap as methods answer with it. */
export interface Swap extends SqlRow {
  readonly sourceChain: string;
  readonly sourceActionIndex: number;
  readonly destChain: string;
  readonly destActionIndex: number | null;
  readonly attestationId: string | null;
  readonly status: (typeof SWAP_STATES)[number];
}

/** An action of one chain that another chain is to know of. */
export type CrossChainAction = Pick<Attestation, 'sourceChain' | 'sourceActionIndex' | 'destChain'>;

const ATTESTATION = `SELECT attestation_id AS attestationId, source_chain AS sourceChain,
       source_action_index AS sourceActionIndex, dest_chain AS destChain, confirmations, status,
       validator_count AS validatorCount, consensus_proof AS consensusProof FROM attestations`;
const SWAP = `SELECT source_chain AS sourceChain, source_action_index AS sourceActionIndex, dest_chain AS destChain,
       dest_action_index AS destActionIndex, attestation_id AS attestationId, status FROM swap_records`;

export const selectAttestations = (
  connection: Connection,
  { status, limit }: { readonly status: string | null; readonly limit: number }
): Promise<Attestation[]> =>
  rows<Attestation>(connection, `${ATTESTATION} WHERE ? IS NULL OR status = ? ORDER BY id DESC LIMIT ?`, [
    ...[status, status],
    limit
  ]);

/** @throws {PlatformError} RECORD_UNKNOWN */
export async function selectAttestation(connection: Connection, id: string): Promise<Attestation> {
  const [found] = await rows<Attestation>(connection, `${ATTESTATION} WHERE attestation_id = ?`, [id]);
  if (found) return found;
  throw new PlatformError('RECORD_UNKNOWN', { reason: `no attestation has the id ${id}` });
}

export const selectSwaps = (
  connection: Connection,
  { status, limit }: { readonly status: string | null; readonly limit: number }
): Promise<Swap[]> =>
  rows<Swap>(connection, `${SWAP} WHERE ? IS NULL OR status = ? ORDER BY id DESC LIMIT ?`, [status, status, limit]);

/** Undefined when the action began none. */
export async function selectSwap(
  connection: Connection,
  chain: string,
  actionIndex: number
): Promise<Swap | undefined> {
  const found = await rows<Swap>(connection, `${SWAP} WHERE source_chain = ? AND source_action_index = ?`, [
    ...[chain, actionIndex]
  ]);
  return found[0];
}

/**
 * Attests an action, directly: without consensus no other hub is asked. What is attested stays; else the same again is judged anew.
 *
 * @param confirmations what the chain's indexer says of the action; 0: there is none; null: nobody knows
 */
export async function attest(
  connection: Connection,
  action: CrossChainAction,
  confirmations: number | null
): Promise<Attestation> {
  const { sourceChain, sourceActionIndex, destChain } = action;
  const id = `${sourceChain}:${sourceActionIndex}:${destChain}`;
  const status = verdictOf(confirmations, findNetwork(sourceChain)?.confirmations ?? Number.MAX_SAFE_INTEGER);
  await connection.query(
    `INSERT INTO attestations (attestation_id, source_chain, source_action_index, dest_chain, confirmations, status, validator_count)
     VALUES (?) ON DUPLICATE KEY UPDATE confirmations = IF(status = 'attested', confirmations, VALUES(confirmations)),
       status = IF(status = 'attested', status, VALUES(status))`,
    [[id, sourceChain, sourceActionIndex, destChain, confirmations, status, 0]]
  );
  if ((await selectAttestation(connection, id)).status !== 'attested') return await selectAttestation(connection, id);
  const swap = await selectSwap(connection, sourceChain, sourceActionIndex);
  if (swap?.status === 'initiated' && swap.destChain === destChain) await followAttestation(connection, action, id);
  return await selectAttestation(connection, id);
}

function verdictOf(confirmations: number | null, needed: number): Attestation['status'] {
  if (confirmations === null) return 'unverified';
  const type = confirmations === 0 ? 'refusal.received' : 'signature.received';
  const events = confirmations === 0 || confirmations >= needed ? [{ type } as const] : [];
  return stateAfter(attestationMachine, { validators: 1 }, events) as Attestation['status'];
}

/**
 * Notes a swap. The same again changes nothing; the destination's action may be added later.
 *
 * @throws {PlatformError} SWAP_DIFFERS: it goes to another chain or action already
 */
export async function initiateSwap(
  connection: Connection,
  action: CrossChainAction & Pick<Swap, 'destActionIndex'>
): Promise<void> {
  const { sourceChain, sourceActionIndex, destChain, destActionIndex } = action;
  const known = await selectSwap(connection, sourceChain, sourceActionIndex);
  if (known) return await addToSwap(connection, known, action);
  await connection.query('INSERT INTO swap_records SET ?', {
    source_chain: sourceChain,
    source_action_index: sourceActionIndex,
    dest_chain: destChain,
    dest_action_index: destActionIndex,
    status: 'initiated'
  });
  const id = `${sourceChain}:${sourceActionIndex}:${destChain}`;
  const attested = await rows(
    connection,
    "SELECT 1 FROM attestations WHERE attestation_id = ? AND status = 'attested'",
    [id]
  );
  if (attested.length > 0) await followAttestation(connection, action, id);
}

async function addToSwap(
  connection: Connection,
  known: Swap,
  { sourceChain, sourceActionIndex, destChain, destActionIndex }: CrossChainAction & Pick<Swap, 'destActionIndex'>
): Promise<void> {
  const refuse = (goesTo: string | number, asked: string | number) => {
    const reason = `the swap of ${sourceChain}:${sourceActionIndex} goes to ${goesTo} already, not to ${asked}`;
    throw new PlatformError('SWAP_DIFFERS', { reason });
  };
  if (known.destChain !== destChain) refuse(known.destChain, destChain);
  if (destActionIndex === null || known.destActionIndex === destActionIndex) return;
  if (known.destActionIndex !== null) refuse(`action ${known.destActionIndex}`, `action ${destActionIndex}`);
  await connection.query(
    'UPDATE swap_records SET dest_action_index = ? WHERE source_chain = ? AND source_action_index = ?',
    [destActionIndex, sourceChain, sourceActionIndex]
  );
}

async function followAttestation(
  connection: Connection,
  { sourceChain, sourceActionIndex }: CrossChainAction,
  attestationId: string
): Promise<void> {
  const status = stateAfter(swapMachine, undefined, [{ type: 'attestation.attested' }]);
  await connection.query(
    'UPDATE swap_records SET status = ?, attestation_id = ? WHERE source_chain = ? AND source_action_index = ?',
    [status, attestationId, sourceChain, sourceActionIndex]
  );
}
