import { findNetwork } from '../../../coin/find-network.ts';
import type { Connection } from '../../../db/connection.ts';
import { stampOf } from '../../store/configs.ts';
import { certificateOf } from '../matters/attestations.ts';
import type { Attestation, Matter, MatterKind, Proposal, Reorg, Swap } from '../matters/records.ts';
import { actionStatement, reorgStatement } from '../matters/rules.ts';

/** Tables that methods read, by what they are made from. */
const TABLES: Readonly<Record<MatterKind, string>> = {
  attestation: 'attestations',
  swap: 'swap_records',
  reorg: 'reorg_attestations',
  proposal: 'governance_proposals'
};

/** Writes a matter where methods find it. Each row is made from the matter alone, so all hubs have the same ones. */
export async function showMatter(connection: Connection, matter: Matter): Promise<void> {
  switch (matter.kind) {
    case 'attestation':
      await replaceRow(connection, matter, attestationRow(matter));
      return;
    case 'swap':
      await replaceRow(connection, matter, swapRow(matter));
      return;
    case 'reorg':
      await replaceRow(connection, matter, reorgRow(matter));
      return;
    case 'proposal':
      await replaceRow(connection, matter, proposalRow(matter));
      await showVotes(connection, matter);
  }
}

/** Keeps rows aside that are of the time before the set, or of a time without it. */
export async function keepReadersAside(connection: Connection): Promise<void> {
  for (const [kind, table] of Object.entries(TABLES))
    await connection.query(
      `INSERT INTO matters_before_set (name, number, record)
       SELECT ?, id, JSON_ARRAY(${COLUMNS[kind as MatterKind]}) FROM ${table}
       WHERE id NOT IN (SELECT number FROM consensus_matters WHERE kind = ?)`,
      [table, kind]
    );
}

/** Removes all rows. */
export async function clearReaders(connection: Connection): Promise<void> {
  for (const table of [...Object.values(TABLES), 'governance_votes']) await connection.query(`DELETE FROM ${table}`);
}

/** Columns that are kept aside. */
const COLUMNS: Readonly<Record<MatterKind, string>> = {
  attestation: 'attestation_id, confirmations, status',
  swap: 'source_chain, source_action_index, dest_chain, dest_action_index, status',
  reorg: 'reorg_id, old_hash, new_hash, status',
  proposal: 'proposal_id, parameter, current_value, proposed_value, status'
};

async function replaceRow(
  connection: Connection,
  { kind, number }: Matter,
  row: Readonly<Record<string, unknown>>
): Promise<void> {
  const names = ['id', ...Object.keys(row)];
  await connection.query(`REPLACE INTO ${TABLES[kind]} (${names}) VALUES (?)`, [[number, ...Object.values(row)]]);
}

function stampsOf({ begunAt, decidedAt }: Matter) {
  return { created_at: stampOf(begunAt / 1_000), updated_at: stampOf((decidedAt ?? begunAt) / 1_000) };
}

function attestationRow(attestation: Attestation) {
  const { id, chain, index, destination, status, validators, words, turn, reorg } = attestation;
  const certificate = certificateOf(attestation);
  const [first] = certificate;
  const signers = new Set(certificate.map(({ hub }) => hub));
  const isAttested = status === 'attested';
  const proof = {
    statement: first ? actionStatement(attestation, first.place) : null,
    signatures: certificate.map(({ hub, sig }) => ({ pubkey: hub, sig })),
    // Words that contradict them: of another place, or that there is none.
    others: words.filter(({ hub }) => !signers.has(hub)).map(({ hub, place }) => ({ pubkey: hub, place })),
    validators,
    turn,
    reorg
  };
  return {
    attestation_id: id,
    source_chain: chain,
    source_action_index: index,
    dest_chain: destination,
    confirmations: isAttested ? (findNetwork(chain)?.confirmations ?? null) : null,
    status,
    validator_count: certificate.length,
    consensus_proof: JSON.stringify(proof),
    ...stampsOf(attestation)
  };
}

function swapRow(swap: Swap) {
  const { chain, index, destination, destinationIndex, attestation, status } = swap;
  return {
    source_chain: chain,
    source_action_index: index,
    dest_chain: destination,
    dest_action_index: destinationIndex,
    attestation_id: attestation,
    status,
    ...stampsOf(swap)
  };
}

function reorgRow(reorg: Reorg) {
  const { id, chain, height, timestamp, oldHash, newHash, status, validators, words, affected, begunAt } = reorg;
  const signatures = words.flatMap(({ hub, sig }) => (sig === null ? [] : [{ pubkey: hub, sig }]));
  const others = words.filter(({ isSeen }) => !isSeen).map(({ hub }) => ({ pubkey: hub }));
  return {
    reorg_id: id,
    source_chain: chain,
    reorg_height: height,
    reorg_timestamp: timestamp,
    old_hash: oldHash,
    new_hash: newHash,
    affected_chains: affected.join(','),
    validator_count: signatures.length,
    consensus_proof: JSON.stringify({ statement: reorgStatement(reorg), signatures, others, validators }),
    status,
    created_at: stampOf(begunAt / 1_000)
  };
}

function proposalRow(proposal: Proposal) {
  const { id, submitter, parameter, currentValue, proposedValue, rationale, status } = proposal;
  const { begunAt, votingEnd, decidedAt, electorate } = proposal;
  return {
    proposal_id: id,
    proposer_pubkey: submitter,
    parameter,
    current_value: currentValue,
    proposed_value: proposedValue,
    rationale,
    status,
    voting_start: begunAt,
    voting_end: votingEnd,
    activation_block: null,
    validator_snapshot: JSON.stringify(electorate),
    decided_at: decidedAt
  };
}

/** Writes the votes on a proposal; a vote's place among all follows from its proposal's and its own. */
async function showVotes(connection: Connection, { id, number, electorate, votes }: Proposal): Promise<void> {
  if (votes.length === 0) return;
  const values = votes.map(({ hub, approves, sig, at }, place) => [
    (number - 1) * electorate.length + place + 1,
    id,
    hub,
    approves ? 'approve' : 'reject',
    sig,
    stampOf(at / 1_000)
  ]);
  await connection.query(
    'REPLACE INTO governance_votes (id, proposal_id, voter_pubkey, vote, signature, created_at) VALUES ?',
    [values]
  );
}
