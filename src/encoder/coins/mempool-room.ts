import Type, { type Static } from 'typebox';
import { malformed } from '../../coin/node/node-answer.ts';
import { ByName } from '../../wire/by-name.ts';
import { shapeOf } from '../../wire/data/shape.ts';
import type { Outpoint } from './reservations.ts';

/** Transactions that are about to enter the mempool. */
export interface Added {
  /** Number of transactions, each spending from the one before. */
  readonly count: number;
  /** Virtual bytes of them all. */
  readonly sizeBytes: number;
}

/** A mempool transaction and its ancestors, by txid. */
type Family = ReadonlyMap<string, FamilyMember>;

interface FamilyMember {
  readonly sizeBytes: number;
  /** Number of descendants, itself included. */
  readonly descendants: number;
  readonly descendantBytes: number;
}

/**
 * Most ancestors or descendants of a mempool transaction, itself included, and their most virtual bytes. @see
 * `limitancestorcount` of Bitcoin Core
 */
const MOST_RELATED = 25;
const MOST_RELATED_BYTES = 101_000;

const NATURAL = Type.Integer({ minimum: 0 });
/** bcoin leaves the transaction itself out of the count, and says 0 in `ancestorsize`. */
const EntrySchema = Type.Object({
  vsize: Type.Optional(NATURAL),
  size: Type.Optional(NATURAL),
  descendantcount: NATURAL,
  descendantsize: NATURAL,
  ancestorsize: Type.Optional(NATURAL)
});
type Entry = Static<typeof EntrySchema>;
const entry = shapeOf(EntrySchema);
const entries = shapeOf(ByName(EntrySchema));

/**
 * Reads the ancestors of a transaction from two answers of the node.
 *
 * @param own the answer of `getmempoolentry`
 * @param above the answer of verbose `getmempoolancestors`
 * @returns an empty map when the mempool does not have the transaction: a block has it
 * @throws {PlatformError} NODE_REFUSED for a malformed answer
 */
export function readFamily(txid: string, own: unknown, above: unknown): Family {
  if (own === null) return new Map();
  if (!entry.Check(own)) throw malformed('getmempoolentry');
  const isNamed = above !== null && !Array.isArray(above); // bcoin returns an array without ids
  if (isNamed && !entries.Check(above)) throw malformed('getmempoolancestors');
  const ancestors = isNamed ? Object.entries(above) : [];
  return new Map([
    [txid, memberOf(own, 'getmempoolentry')],
    ...ancestors.map(([id, member]) => [id, memberOf(member, 'getmempoolancestors')] as const)
  ]);
}

/** @throws {PlatformError} NODE_REFUSED for an entry without its size, which would count as room for others */
function memberOf(member: Entry, method: string): FamilyMember {
  const sizeBytes = member.vsize ?? member.size;
  if (sizeBytes === undefined) throw malformed(method);
  return { sizeBytes, descendants: descendantsOf(member), descendantBytes: member.descendantsize };
}

/**
 * Returns whether other transactions of the mempool spend from one of it.
 *
 * @param own the answer of `getmempoolentry`
 * @returns null when the mempool does not have the transaction
 * @throws {PlatformError} NODE_REFUSED for a malformed answer
 */
export function hasDescendants(own: unknown): boolean | null {
  if (own === null) return null;
  if (!entry.Check(own)) throw malformed('getmempoolentry');
  return descendantsOf(own) > 1;
}

const descendantsOf = ({ descendantcount, ancestorsize }: Entry): number =>
  ancestorsize === 0 ? descendantcount + 1 : descendantcount;

/**
 * Returns the coins that cannot be spent together with those before them within the nodes' mempool limits.
 *
 * @param families by the txid of the coin's transaction
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
