import type { FileHandle } from 'node:fs/promises';
import { PlatformError } from '../../errors.ts';

/** Consecutive bytes of a file, for as long as somebody holds them. */
export interface Block {
  readonly bytes: Buffer;
  /** Lets go of the blocks: the holder reads them no more. */
  release(): void;
}

/** Bytes of a block; a connection pins less than 256 KiB with all else. */
const BLOCK_BYTES = 224 * 1024;
/** Blocks of any file that nobody holds stay: read ahead, for readers close behind, and for those of a small file that come later. */
const MAX_UNHELD = 18;
/** The one longest unused first. */
const UNHELD = new Set<Held>();
const HELD = new Set<Held>();

interface Held {
  readonly of: Map<number, Held>;
  readonly position: number;
  readonly size: number;
  readonly memory: Buffer;
  readonly bytes: Promise<Buffer>;
  holders: number;
}

/**
 * The immutable blocks of one file, each read once for all readers at the same place.
 *
 * Their memory is used again: a fresh buffer for every block costs the garbage collector more than the readers do.
 */
export class SharedBlocks {
  readonly #file: () => Promise<FileHandle>;
  readonly #blocks = new Map<number, Held>();

  /** @param file the file, open, when a block has to be read */
  constructor(file: () => Promise<FileHandle>) {
    this.#file = file;
  }

  /** @param available bytes that the file holds from this position on; at least 1 */
  async take(position: number, available: number): Promise<Block> {
    const size = Math.min(available, BLOCK_BYTES);
    const held = this.#find(position, size) ?? this.#begin(position, size);
    held.holders++;
    HELD.add(held);
    UNHELD.delete(held);
    try {
      return { bytes: await held.bytes, release: () => release(held) };
    } catch (caught) {
      forget(held);
      release(held);
      throw caught;
    }
  }

  /** Begins to read a block that is taken next. Until then no reader holds it: one that stands still has one block at most. */
  prefetch(position: number, available: number): void {
    this.take(position, available).then(
      (block) => block.release(),
      () => undefined // who takes it is told
    );
  }

  #find(position: number, size: number): Held | undefined {
    const held = this.#blocks.get(position);
    if (!held || held.holders > 0 || held.size >= size) return held;
    forget(held); // the file had less when it was read
    return undefined;
  }

  #begin(position: number, size: number): Held {
    const memory = takeMemory();
    const bytes = fill(this.#file(), memory.subarray(0, size), position);
    const held = { of: this.#blocks, position, size, memory, bytes, holders: 0 };
    this.#blocks.set(position, held);
    return held;
  }
}

/** Returns the memory of the block longest unused, if there are enough blocks; else new memory. */
function takeMemory(): Buffer {
  const [oldest] = UNHELD;
  if (!oldest || HELD.size + UNHELD.size < MAX_UNHELD) return Buffer.allocUnsafeSlow(BLOCK_BYTES);
  forget(oldest);
  return oldest.memory;
}

function release(held: Held): void {
  if (--held.holders > 0) return;
  HELD.delete(held);
  if (held.of.get(held.position) !== held) return; // forgotten
  UNHELD.add(held);
  const [oldest] = UNHELD;
  if (oldest && UNHELD.size > MAX_UNHELD) forget(oldest);
}

function forget(held: Held): void {
  UNHELD.delete(held);
  if (held.of.get(held.position) === held) held.of.delete(held.position);
}

async function fill(opened: Promise<FileHandle>, target: Buffer, position: number): Promise<Buffer> {
  const file = await opened;
  for (let length = 0; length < target.length; ) {
    const { bytesRead } = await file.read(target, length, target.length - length, position + length);
    if (bytesRead === 0)
      throw new PlatformError('SNAPSHOT_FAILED', { reason: 'the artifact is shorter than its length says' });
    length += bytesRead;
  }
  return target;
}
