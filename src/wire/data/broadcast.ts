/** One message for subscribers, encoded once. */
export interface Broadcast {
  readonly type: 'block' | 'reorg';
  readonly height: number;
  /** Empty: the message is larger than clients accept, and its subscribers must catch up by a snapshot. */
  readonly bytes: Uint8Array;
  /** The same for `infra-only` subscribers of an indexer. */
  readonly infraBytes: Uint8Array | null;
}
