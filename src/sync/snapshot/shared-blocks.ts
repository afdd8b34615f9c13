import type { FileHandle } from 'node:fs/promises';
import { PlatformError } from '../../errors.ts';

/** Consecutive bytes of a file, for as long as somebody holds them. */
export interface Block {
  readonly bytes: Buffer;
  /** They are not read by the holder any more. */
  release(): void;
}

/** With what else a connection pins, less than 256 KiB. */
const BLOCK_BYTES = 224 * 1024;
/** Blocks of a file kept in memory after use, for readers close behind. */
const KEPT_BLOCKS = 3;
/** Memory of blocks that are gone, for the next ones of any file: to take fresh memory for each reader costs time. */
const SPARE: Buffer[] = [];
const MAX_SPARE = 18;

interface Held {
  readonly position: number;
  readonly memory: Buffer;
  readonly bytes: Promise<Buffer>;
  holders: number;
}

/**
 * The immutable blocks of one file, each read once for all readers at the same place.
 *
 * Their memory is reused: a fresh buffer for every block costs the garbage collector more than the readers do.
 */
export class SharedBlocks {
  readonly #blocks = new Map<number, Held>();

  /** @param available bytes that the file holds from this position on; at least 1 */
  async take(file: FileHandle, position: number, available: number): Promise<Block> {
    const held = this.#blocks.get(position) ?? this.#begin(file, position, Math.min(available, BLOCK_BYTES));
    held.holders++;
    try {
      return { bytes: await held.bytes, release: () => this.#release(held) };
    } catch (caught) {
      this.#release(held);
      if (this.#blocks.get(position) === held) this.#blocks.delete(position);
      throw caught;
    }
  }

  /** Call when the file has no readers: no block is kept. */
  clear(): void {
    for (const { memory } of this.#blocks.values()) spare(memory);
    this.#blocks.clear();
  }

  #begin(file: FileHandle, position: number, size: number): Held {
    const memory = SPARE.pop() ?? this.#takeUnused() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);
    const held = { position, memory, bytes: fill(file, memory.subarray(0, size), position), holders: 0 };
    this.#blocks.set(position, held);
    return held;
  }

  /** The memory of the oldest block without readers. */
  #takeUnused(): Buffer | undefined {
    if (this.#blocks.size < KEPT_BLOCKS) return undefined;
    for (const held of this.#blocks.values()) {
      if (held.holders > 0) continue;
      this.#blocks.delete(held.position);
      return held.memory;
    }
    return undefined;
  }

  #release(held: Held): void {
    if (--held.holders > 0 || this.#blocks.size <= KEPT_BLOCKS || this.#blocks.get(held.position) !== held) return;
    this.#blocks.delete(held.position);
    spare(held.memory);
  }
}

function spare(memory: Buffer): void {
  if (SPARE.length < MAX_SPARE) SPARE.push(memory);
}

async function fill(file: FileHandle, target: Buffer, position: number): Promise<Buffer> {
  for (let length = 0; length < target.length; ) {
    const { bytesRead } = await file.read(target, length, target.length - length, position + length);
    if (bytesRead === 0)
      throw new PlatformError('SNAPSHOT_FAILED', { reason: 'the artifact is shorter than its length says' });
    length += bytesRead;
  }
  return target;
}
