import Type, { type Static } from 'typebox';
import { OrNull } from '../or-null.ts';

const Whole = OrNull(Type.Integer());
const Text = OrNull(Type.String());

/** Fields of a checkpoint that are columns of the table `state_checkpoints`; null if the table lacks the column. */
export const CHECKPOINT_COLUMNS = {
  block_index: Type.Integer({ minimum: 0 }),
  block_hash: Text,
  ledger_hash: Text,
  actions_hash: Text,
  contract_hash: Text,
  checkpoint_seq: Whole,
  snapshot_block: Whole,
  state_root: Text,
  state_root_version: Whole,
  block_merkle_root: Text,
  block_merkle_version: Whole
} as const;

/**
 * Body of `GET /checkpoint`. What is signed is the UTF-8 text of the RFC 8785 form of the record without
 * `validator_signatures`.
 */
export const CheckpointSchema = Type.Object({
  chain: Type.String(),
  network: Type.String(),
  ...CHECKPOINT_COLUMNS,
  /** Ed25519, in hex. */
  validator_signatures: Type.Array(Type.Object({ pubkey: Type.String(), sig: Type.String() }))
});
export type Checkpoint = Static<typeof CheckpointSchema>;
