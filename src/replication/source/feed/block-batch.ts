import type { Logger } from '../../../log.ts';
import { count } from '../../../observe/counters.ts';
import {
  amendmentMessage,
  blockMessage,
  encodeMessage,
  infraAmendment,
  infraOnly,
  type NamedHead,
  reorgMessage,
  settledMessage
} from '../../../wire/data/block.ts';
import type { Broadcast } from '../../../wire/data/broadcast.ts';
import type { DatabaseId } from '../../../wire/data/database.ts';
import { countRows, previousHashes } from '../../../wire/data/messages.ts';
import type { GroupBlock } from '../reading/group-block.ts';

/** Returns a block's message, encoded once for every subscriber; without bytes when it exceeds the limit of a message. @see blockMessage */
export function encodeBlock(id: DatabaseId, block: GroupBlock, log: Logger, compatibleClients: boolean): Broadcast {
  const message = blockMessage(id, block, compatibleClients);
  count('rows.out', countRows(message));
  const infraBytes = id.dbType === 'indexer' ? encodeMessage(infraOnly(message)) : null;
  const bytes = encodeMessage(message);
  const { height } = block.head;
  if (bytes.length === 0)
    log.error({ height }, 'the block exceeds the message limit: subscribers catch up by snapshot');
  const schema = message.schema_fingerprint ?? null;
  const names = { hashes: block.head.hashes, previous: previousHashes(message), schema };
  return { type: 'block', height, bytes, infraBytes, names };
}

/** Returns the message of a reorg. @param fork the first orphaned height */
export function encodeReorg(id: DatabaseId, fork: number): Broadcast {
  const message = reorgMessage(id, fork);
  const infraBytes = id.dbType === 'indexer' ? encodeMessage(message) : null;
  return { type: 'reorg', height: fork, bytes: encodeMessage(message), infraBytes };
}

/** Returns the message of rows that changed up to a block, found after it was broadcast. */
export function encodeAmendment(
  id: DatabaseId,
  block: NamedHead,
  content: Parameters<typeof amendmentMessage>[2],
  log: Logger
): Broadcast {
  const message = amendmentMessage(id, block, content);
  count('rows.out', countRows({ data: {}, updated_rows: message.updated_rows }));
  const bytes = encodeMessage(message);
  const { height } = block;
  if (bytes.length === 0)
    log.error({ height }, 'an amendment exceeds the message limit: subscribers catch up by snapshot');
  const infraBytes = id.dbType === 'indexer' ? encodeMessage(infraAmendment(message)) : null;
  const names = { hashes: block.hashes, previous: null, schema: content.fingerprint };
  return { type: 'amendment', height, bytes, infraBytes, names };
}

/** Returns the message that everything that changed up to a block was sent. */
export function encodeSettled(
  id: DatabaseId,
  block: NamedHead,
  amendments: number | null,
  isUnknown: boolean
): Broadcast {
  const bytes = () => encodeMessage(settledMessage(id, block, amendments, isUnknown));
  return {
    type: 'settled',
    height: block.height,
    bytes: bytes(),
    infraBytes: id.dbType === 'indexer' ? bytes() : null,
    names: { hashes: block.hashes, previous: null, schema: null }
  };
}

/** Blocks that are read and encoded, and not yet handed over. */
export class BlockBatch {
  readonly #limit: number;
  #blocks: GroupBlock[] = [];
  #messages: Broadcast[] = [];
  #bytes = 0;
  #readSince = Date.now();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get isFull(): boolean {
    return this.#bytes >= this.#limit;
  }

  /** The block that was added last and is not handed over. */
  get last(): GroupBlock | undefined {
    return this.#blocks.at(-1);
  }

  add(block: GroupBlock, message: Broadcast): void {
    // The message holds its rows; keep only what the memory needs.
    this.#blocks.push({ ...block, rows: {} });
    this.#messages.push(message);
    this.#bytes += message.bytes.byteLength;
  }

  take(): { blocks: readonly GroupBlock[]; messages: Broadcast[]; readSince: number } {
    const taken = { blocks: this.#blocks, messages: this.#messages, readSince: this.#readSince };
    [this.#blocks, this.#messages, this.#bytes, this.#readSince] = [[], [], 0, Date.now()];
    return taken;
  }
}
