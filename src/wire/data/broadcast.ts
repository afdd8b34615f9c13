import type { BlockHashes } from './database.ts';

/** One message for subscribers, encoded once. */
export interface Broadcast {
  /** Amendments and `settled` go only to subscribers that ask for them. */
  readonly type: 'block' | 'reorg' | 'amendment' | 'settled';
  readonly height: number;
  /** Empty: the message is larger than clients accept, and its subscribers must catch up by a snapshot. */
  readonly bytes: Uint8Array;
  /** The same for `infra-only` subscribers of an indexer. */
  readonly infraBytes: Uint8Array | null;
  /** Content of the message that a relay names beside its bytes; absent for a reorg, and where nobody relays. */
  readonly names?: {
    readonly hashes: BlockHashes;
    /** The block before; null where the message does not name it. */
    readonly previous: BlockHashes | null;
    /** Fingerprint of the schema that its rows have; null where the message does not name it. */
    readonly schema: string | null;
  };
}
