import { hash } from 'node:crypto';
import { PlatformError } from '../errors.ts';

/** SHA-256 hash as 32 characters U+0000 to U+00FF, the form that node:crypto returns fastest. */
export type RawHash = string;

/** Bytes of a SHA-256 hash. */
export const HASH_BYTES = 32;
/** Levels of the sparse tree: one for each bit of a path. */
export const TREE_DEPTH = 256;
const NODE_BYTES = 1 + 2 * HASH_BYTES;

/** Returns a hash as 64 lower-case hex digits. */
export const toHex = (raw: RawHash): string => Buffer.from(raw, 'latin1').toString('hex');

/**
 * Hashes of one deployment's commitments: leaf H(0x00‖bytes), node H(0x01‖left‖right), E0 = H(0x02‖"<D>_EMPTY_LEAF").
 *
 * One instance reuses its buffers, so it belongs to one thread.
 */
export class CommitmentHashes {
  readonly domain: string;
  /** E(h) by height: the hash of an empty subtree of 2^h leaves. */
  readonly empty: readonly RawHash[];
  readonly #node = nodeBuffer();
  /** Nodes with one empty child, by the height of the children, with a gap for the other child. */
  readonly #besideEmpty: readonly { readonly left: Buffer; readonly right: Buffer }[];

  /** @param domain tag of the deployment, COMMITMENT_DOMAIN */
  constructor(domain: string) {
    this.domain = domain;
    const empty = [sha256(Buffer.concat([Buffer.of(2), Buffer.from(`${domain}_EMPTY_LEAF`)]))];
    for (let height = 1; height <= TREE_DEPTH; height++) empty.push(this.node(empty[height - 1]!, empty[height - 1]!));
    this.empty = empty;
    this.#besideEmpty = empty.slice(0, TREE_DEPTH).map((sibling) => {
      const [left, right] = [nodeBuffer(), nodeBuffer()];
      left.write(sibling, 1 + HASH_BYTES, 'latin1');
      right.write(sibling, 1, 'latin1');
      return { left, right };
    });
  }

  /** Returns the hash of a leaf. @param text its text, which is hashed as UTF-8 */
  leaf(text: string): RawHash {
    return sha256(`\0${text}`);
  }

  node(left: RawHash, right: RawHash): RawHash {
    this.#node.write(left, 1, 'latin1');
    this.#node.write(right, 1 + HASH_BYTES, 'latin1');
    return sha256(this.#node);
  }

  /**
   * Returns the hash of a subtree with a single leaf at some depth.
   *
   * @param paths buffer that holds the leaf's path at `offset`, most significant bit first
   * @param depth 0 is the root, 256 the leaf itself
   */
  climb(paths: Uint8Array, offset: number, value: RawHash, depth: number): RawHash {
    let reached = value;
    for (let bit = TREE_DEPTH - 1; bit >= depth; bit--) {
      const beside = this.#besideEmpty[TREE_DEPTH - 1 - bit]!;
      const isRight = (paths[offset + (bit >> 3)]! >> (7 - (bit & 7))) & 1;
      if (isRight) {
        beside.right.write(reached, 1 + HASH_BYTES, 'latin1');
        reached = sha256(beside.right);
      } else {
        beside.left.write(reached, 1, 'latin1');
        reached = sha256(beside.left);
      }
    }
    return reached;
  }
}

/** Joins fields by one zero byte. @throws {PlatformError} STATE_UNENCODABLE for a field that contains one */
export function joinFields(fields: readonly string[]): string {
  const bad = fields.find((field) => field.includes('\0'));
  if (bad !== undefined) {
    throw new PlatformError('STATE_UNENCODABLE', { reason: `a field contains a zero byte: ${JSON.stringify(bad)}` });
  }
  return fields.join('\0');
}

/** Returns the SHA-256 hash. @param content bytes, or a text that is hashed as UTF-8 */
export function sha256(content: Uint8Array | string): RawHash {
  return hash('sha256', content, 'latin1');
}

function nodeBuffer(): Buffer {
  const buffer = Buffer.alloc(NODE_BYTES);
  buffer[0] = 1;
  return buffer;
}
