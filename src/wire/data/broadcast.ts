/** One message for subscribers, encoded once. */
export interface Broadcast {
  /** Amendments and `settled` go only to subscribers that ask for them. */
  readonly type: 'block' | 'reorg' | 'amendment' | 'settled';
  readonly height: number;
  /** Empty: the message is larger than clients accept, and its subscribers must catch up by a snapshot. */
  readonly bytes: Uint8Array;
  /** The same for `infra-only` subscribers of an indexer. */
  readonly infraBytes: Uint8Array | null;
}
