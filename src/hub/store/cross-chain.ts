import { attestationMachine } from '../../../machines/hub/attestation.ts';
import { swapMachine } from '../../../machines/hub/swap.ts';
import { CHAINS, chainNetwork } from '../../coin/chains.ts';
import { findNetwork } from '../../coin/find-network.ts';
import { type Connection, rows, type SqlRow } from '../../db/connection.ts';
import { PlatformError } from '../../errors.ts';
import { stateAfter } from './decide.ts';

export const ATTESTATION_STATES = ['pending', 'attested', 'rejected', 'expired', 'unverified'] as const;
export const SWAP_STATES = ['initiated', 'attested', 'executed', 'settled', 'failed'] as const;

/** Fields that every row has. */
interface Stamps {
  readonly id: number;
  readonly created_at: string;
  readonly updated_at: string;
}

/** An attestation as methods answer with it. */
export interface Attestation extends SqlRow, Stamps {
  /** `BTC:5:LTC`. */
  readonly attestation_id: string;
  readonly source_chain: string;
  readonly source_action_index: number;
  readonly dest_chain: string;
  /** Confirmations of the source action, as its indexer counted; null: none was asked. */
  readonly confirmations: number | null;
  readonly status: (typeof ATTESTATION_STATES)[number];
  /** Number of validators that signed; 0 if a hub without consensus decided directly. */
  readonly validator_count: number;
  readonly consensus_proof: string | null;
}

/** A swap as methods answer with it. */
export interface Swap extends SqlRow, Stamps {
  readonly source_chain: string;
  readonly source_action_index: number;
  readonly dest_chain: string;
  readonly dest_action_index: number | null;
  readonly attestation_id: string | null;
  readonly status: (typeof SWAP_STATES)[number];
}

/** An action of one chain that another chain is to know of. */
type CrossChainAction = Pick<Attestation, 'source_chain' | 'source_action_index' | 'dest_chain'>;

const DESTINATIONS = CHAINS.map((chain) => chainNetwork(chain, 'mainnet').ticker);
const ATTESTATION = `SELECT id, created_at, updated_at, attestation_id, source_chain,
       source_action_index, dest_chain, confirmations, status,
       validator_count, consensus_proof FROM attestations`;
const SWAP = `SELECT id, created_at, updated_at, source_chain, source_action_index, dest_chain,
       dest_action_index, attestation_id, status FROM swap_records`;

export const selectAttestations = (
  connection: Connection,
  { status, limit }: { readonly status: string | null; readonly limit: number }
): Promise<Attestation[]> =>
  rows<Attestation>(connection, `${ATTESTATION} WHERE ? IS NULL OR status = ? ORDER BY id DESC LIMIT ?`, [
    status,
    status,
    limit
  ]);

/** Reads the newest one of an action; undefined: there is none. */
export async function selectAttestationOf(
  connection: Connection,
  chain: string,
  actionIndex: number
): Promise<Attestation | undefined> {
  const found = await rows<Attestation>(
    connection,
    `${ATTESTATION} WHERE attestation_id IN (?) ORDER BY id DESC LIMIT 1`,
    [DESTINATIONS.map((ticker) => `${chain}:${actionIndex}:${ticker}`)]
  );
  return found[0];
}

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

/** Reads the swap that an action began; undefined for none. */
export async function selectSwap(
  connection: Connection,
  chain: string,
  actionIndex: number
): Promise<Swap | undefined> {
  const found = await rows<Swap>(connection, `${SWAP} WHERE source_chain = ? AND source_action_index = ?`, [
    chain,
    actionIndex
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
  const { source_chain, source_action_index, dest_chain } = action;
  const id = `${source_chain}:${source_action_index}:${dest_chain}`;
  const status = verdictOf(confirmations, findNetwork(source_chain)?.confirmations ?? Number.MAX_SAFE_INTEGER);
  await connection.query(
    `INSERT INTO attestations (attestation_id, source_chain, source_action_index, dest_chain, confirmations, status, validator_count)
     VALUES (?) ON DUPLICATE KEY UPDATE confirmations = IF(status = 'attested', confirmations, VALUES(confirmations)),
       status = IF(status = 'attested', status, VALUES(status))`,
    [[id, source_chain, source_action_index, dest_chain, confirmations, status, 0]]
  );
  if ((await selectAttestation(connection, id)).status !== 'attested') return await selectAttestation(connection, id);
  const swap = await selectSwap(connection, source_chain, source_action_index);
  if (swap?.status === 'initiated' && swap.dest_chain === dest_chain) await followAttestation(connection, action, id);
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
  action: CrossChainAction & Pick<Swap, 'dest_action_index'>
): Promise<void> {
  const { source_chain, source_action_index, dest_chain, dest_action_index } = action;
  const known = await selectSwap(connection, source_chain, source_action_index);
  if (known) return await addToSwap(connection, known, action);
  await connection.query('INSERT INTO swap_records SET ?', {
    source_chain,
    source_action_index,
    dest_chain,
    dest_action_index,
    status: 'initiated'
  });
  const id = `${source_chain}:${source_action_index}:${dest_chain}`;
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
  {
    source_chain,
    source_action_index,
    dest_chain,
    dest_action_index
  }: CrossChainAction & Pick<Swap, 'dest_action_index'>
): Promise<void> {
  const refuse = (goesTo: string | number, asked: string | number) => {
    const reason = `the swap of ${source_chain}:${source_action_index} goes to ${goesTo} already, not to ${asked}`;
    throw new PlatformError('SWAP_DIFFERS', { reason });
  };
  if (known.dest_chain !== dest_chain) refuse(known.dest_chain, dest_chain);
  if (dest_action_index === null || known.dest_action_index === dest_action_index) return;
  if (known.dest_action_index !== null) refuse(`action ${known.dest_action_index}`, `action ${dest_action_index}`);
  await connection.query(
    'UPDATE swap_records SET dest_action_index = ? WHERE source_chain = ? AND source_action_index = ?',
    [dest_action_index, source_chain, source_action_index]
  );
}

async function followAttestation(
  connection: Connection,
  { source_chain, source_action_index }: CrossChainAction,
  attestation_id: string
): Promise<void> {
  const status = stateAfter(swapMachine, undefined, [{ type: 'attestation.attested' }]);
  await connection.query(
    'UPDATE swap_records SET status = ?, attestation_id = ? WHERE source_chain = ? AND source_action_index = ?',
    [status, attestation_id, source_chain, source_action_index]
  );
}
