import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attestationCells, proposalCells, swapCells } from '../../../web/views/federation-matters.ts';

const KEYS = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(64));
const textOf = (cells: readonly unknown[]) =>
  cells.map((cell) => (typeof cell === 'string' ? cell : (cell as { text: string }).text));
const kindsOf = (cells: readonly unknown[]) =>
  cells.map((cell) => (typeof cell === 'string' ? '' : (cell as { kind: string }).kind));

test('an attestation is shown with its block, those who signed and those who say something else', () => {
  const proof = {
    statement: { height: 800_000, hash: 'ab' },
    others: [{ pubkey: KEYS[3] }],
    validators: KEYS,
    turn: 2,
    reorg: 'BTC:800000:7:x'
  };
  const attested = attestationCells({
    attestation_id: 'BTC:5:LTC',
    status: 'attested',
    validator_count: 3,
    consensus_proof: JSON.stringify(proof),
    created_at: '2026-01-01 00:00:00'
  });
  assert.deepEqual(textOf(attested), [
    'BTC 5 for LTC',
    'attested, turn 2 after the reorg BTC:800000:7:x',
    '800,000',
    '3 of 4',
    'dddddddd',
    '2026-01-01 00:00:00'
  ]);
  assert.deepEqual(kindsOf(attested).slice(1, 5), ['good', 'number', '', 'warn']);
  const none = attestationCells({
    attestation_id: 'BTC:5:LTC',
    status: 'pending',
    validator_count: 0,
    consensus_proof: null,
    created_at: ''
  });
  assert.deepEqual(textOf(none).slice(1, 5), ['pending', '', '0 of 0', '']);
});

test('a proposal is shown with its change and the votes that it needs; a swap with its two actions', () => {
  const proposal = {
    proposal_id: 'x',
    proposer_pubkey: KEYS[0]!,
    parameter: 'FEE',
    current_value: null,
    proposed_value: '5',
    status: 'voting',
    voting_end: '2026-01-08 00:00:00',
    validator_snapshot: JSON.stringify(KEYS),
    approvals: 2,
    rejections: 1
  };
  assert.deepEqual(textOf(proposalCells(proposal)), [
    'FEE',
    'voting',
    'unknown to 5',
    '2 of 3 needed',
    '1 of 4',
    '2026-01-08 00:00:00',
    'aaaaaaaa'
  ]);
  const swap = {
    source_chain: 'BTC',
    source_action_index: 5,
    dest_chain: 'LTC',
    dest_action_index: 9,
    status: 'settled'
  };
  assert.deepEqual(textOf(swapCells(swap)), ['BTC 5', 'LTC 9', 'settled']);
  assert.match(textOf(swapCells({ ...swap, dest_action_index: null }))[1]!, /not known/);
});
