import Type from 'typebox';
import { ByName } from '../wire/by-name.ts';
import { shapeOf } from '../wire/data/shape.ts';
import { malformed } from './node-answer.ts';
import type { Outpoint } from './reservations.ts';

/** What will be added to the mempool. */
export interface Added {
  /** Transactions, each of which spends from the one before. */
  readonly count: number;
  /** Virtual bytes of them all. */
  readonly sizeBytes: number;
}

/** What a transaction has above itself in the mempool; itself included. By txid. */
export type Family = ReadonlyMap<string, FamilyMember>;

interface FamilyMember {
  readonly sizeBytes: number;
  /** Itself included. */
  readonly descendants: number;
  readonly descendantBytes: number;
}

/** Transactions above or below one in the mempool, itself included, and their virtual bytes. @see `limitancestorcount` of Bitcoin Core */
const MOST_RELATED = 25;
const MOST_RELATED_BYTES = 101_000;

const NATURAL = Type.Integer({ minimum: 0 });
const EntrySchema = Type.Object({
  vsize: Type.Optional(NATURAL),
  size: Type.Optional(NATURAL),
  descendantcount: NATURAL,
  descendantsize: NATURAL
});
const entry = shapeOf(EntrySchema);
const entries = shapeOf(ByName(EntrySchema));

/**
 * The family of a transaction by what its node answers.
 *
 * @param own  of `getmempoolentry`; @param above  of verbose `getmempoolancestors`
 * @returns empty when the node does not have it: then a block has it
 * @throws {PlatformError} NODE_REFUSED for another answer
 */
export function readFamily(txid: string, own: unknown, above: unknown): Family {
  if (own === null) return new Map();
  if (!entry.Check(own)) throw malformed('getmempoolentry');
  const isNamed = above !== null && !Array.isArray(above); // bcoin lists them without their ids
  if (isNamed && !entries.Check(above)) throw malformed('getmempoolancestors');
  const ancestors = isNamed ? Object.entries(above) : [];
  return new Map(
    [[txid, own] as const, ...ancestors].map(([id, { vsize, size, descendantcount, descendantsize }]) => [
      id,
      { sizeBytes: vsize ?? size ?? 0, descendants: descendantcount, descendantBytes: descendantsize }
    ])
  );
}

/**
 * Coins that cannot be spent together with those before them, because more would hang together in the mempool than nodes allow.
 *
 * @param families  by the txid of the coin's transaction
 */
export function findCrowded<C extends Outpoint>(
  coins: readonly C[],
  families: ReadonlyMap<string, Family>,
  { count, sizeBytes }: Added
): readonly C[] {
  const joined = new Map<string, FamilyMember>();
  return coins.filter(({ txid }) => {
    const both = new Map([...joined, ...(families.get(txid) ?? [])]);
    const members = [...both.values()];
    const fits =
      members.length + count <= MOST_RELATED &&
      members.reduce((sum, member) => sum + member.sizeBytes, sizeBytes) <= MOST_RELATED_BYTES &&
      members.every((member) => member.descendants + count <= MOST_RELATED) &&
      members.every((member) => member.descendantBytes + sizeBytes <= MOST_RELATED_BYTES);
    if (fits) for (const [id, member] of both) joined.set(id, member);
    return !fits;
  });
}
