import { createHash } from 'node:crypto';
import { above, type Block, nameOf, transfersOf } from './chain.ts';
import type { MemoryServer } from './database/memory-server.ts';

/** The rows of a database as texts, by table. */
export type Content = Readonly<Record<string, readonly string[]>>;

/** Surrogates and times of logging are each database's own. */
const TEXTS: Readonly<Record<string, string>> = {
  index_addresses: "id || ' ' || address",
  blocks: "block_index || ' ' || block_time",
  transfers: "block_index || ' ' || address_id || ' ' || amount",
  tokens: "tick || ' ' || supply",
  sync_meta: "block_index || ' ' || block_time || ' ' || ledger_hash || ' ' || actions_hash || ' ' || contract_hash",
  merkle_epochs: "epoch || ' ' || merkle_root || ' ' || leaf_count"
};

/** The ids of rows that nothing else names: a replica's are its source's. */
const IDS = { 'transfers by id': "id || ' ' || block_index" };

/** Reads the committed content; there must be no transaction under way. @param withIds the database is a replica */
export function readContent(server: MemoryServer, withIds = false): Content {
  const read = (table: string, text: string) =>
    server.read<{ text: string }>(`SELECT ${text} AS text FROM ${table}`).map((row) => row.text);
  const texts = Object.entries(TEXTS).map(([table, text]) => [table, read(table, text)] as const);
  const ids = Object.entries(IDS).map(([name, text]) => [name, read(name.split(' ')[0]!, text)] as const);
  return Object.fromEntries(withIds ? [...texts, ...ids] : texts);
}

/**
 * Returns the content of a database at a block: its transparency log is its blocks, and each full epoch has the root of its leaves.
 */
export function contentOf(tip: Block, epochSize: number): Content {
  const blocks = above(tip, 0);
  const transfers = blocks.flatMap((block) => transfersOf(tip, block));
  return {
    index_addresses: blocks.flatMap(({ addresses }) => addresses).map((row) => `${row['id']} ${row['address']}`),
    blocks: blocks.map(({ height, time }) => `${height} ${time}`),
    transfers: transfers.map((row) => `${row['block_index']} ${row['address_id']} ${row['amount']}`),
    'transfers by id': transfers.map((row) => `${row['id']} ${row['block_index']}`),
    tokens: [...tip.tokens.values()].map((row) => `${row['tick']} ${row['supply']}`),
    sync_meta: blocks.map(logText),
    merkle_epochs: blocks
      .filter(({ height }) => height % epochSize === 0)
      .map((last) => `${last.height / epochSize} ${epochRootAt(last, epochSize)} ${epochSize}`)
  };
}

/** Returns the transparency log's line of a block. */
export const logText = ({ height, time, hashes }: Block): string => `${height} ${time} ${nameOf(hashes)}`;

/** The rows that only one of two has, each with its table, of the tables that the first has. */
export function differences(here: Content, there: Content): string[] {
  return Object.keys(here).flatMap((table) => {
    const [own, other] = [[...here[table]!].sort(), [...there[table]!].sort()];
    if (own.length === other.length && own.every((text, index) => text === other[index])) return [];
    return [...surplus(own, other).map((text) => `${table}: ${text} is too many`)].concat(
      surplus(other, own).map((text) => `${table}: ${text} is missing`)
    );
  });
}

/** Returns the surplus rows; each of several equal rows counts. */
function surplus(some: readonly string[], others: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const text of others) counts.set(text, (counts.get(text) ?? 0) + 1);
  return some.filter((text) => {
    const count = counts.get(text) ?? 0;
    counts.set(text, count - 1);
    return count <= 0;
  });
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const roots = new WeakMap<Block, string>();

/** @param last block of a full epoch; all that ask have epochs of one size */
function epochRootAt(last: Block, epochSize: number): string {
  const known = roots.get(last);
  if (known !== undefined) return known;
  const leaves = above(last, last.height - epochSize).map(({ hashes: { ledger_hash, actions_hash, contract_hash } }) =>
    sha256(ledger_hash + actions_hash + contract_hash)
  );
  const root = rootOf(leaves);
  roots.set(last, root);
  return root;
}

/** An epoch's root by the words of the specification, apart from the code that is tested. */
function rootOf(leaves: readonly string[]): string {
  if (leaves.length === 1) return leaves[0]!;
  const pairs = Array.from({ length: Math.ceil(leaves.length / 2) }, (_, index) => {
    const left = leaves[2 * index]!;
    return sha256(left + (leaves[2 * index + 1] ?? left));
  });
  return rootOf(pairs);
}
