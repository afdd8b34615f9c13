/** One message for subscribers, encoded once. */
export interface Broadcast {
  readonly type: 'block' | 'reorg';
  readonly height: number;
  /** Empty: the message is larger than clients take, and those whom it is for are sent to the snapshot. */
  readonly bytes: Uint8Array;
  /** The same for `infra-only` subscribers of an indexer. */
  readonly infraBytes: Uint8Array | null;
}
