import { type BlockHashes, type DatabaseId, SCHEMA_VERSION } from './database.ts';
import {
  type AmendmentMessage,
  type BlockMessage,
  type Group,
  INFRA_TABLES,
  MAX_MESSAGE_BYTES,
  type ReorgMessage,
  type ServerMessage,
  type SettledMessage,
  type WireRow,
  type WireRows
} from './messages.ts';

/** One block of a group, as its message is made of it. */
interface ReadBlock {
  readonly head: {
    readonly height: number;
    readonly blockTime: number | null;
    readonly hashes: BlockHashes;
    /** Indexer only. */
    readonly commitments: object | null;
  };
  readonly previous: BlockHashes | null;
  readonly group: Group;
  readonly layout: {
    readonly fingerprint: string;
    readonly plans: readonly { readonly name: string; readonly class: string }[];
  };
  readonly rows: WireRows;
  /** Changes in other blocks; on the last block of the group only. */
  readonly changes: ReadChanges | null;
  /** Amendments of the block before the group's; absent: not known. */
  readonly amendedBefore?: number | undefined;
}

/** A block that was broadcast, as later messages name it. */
export interface NamedHead {
  readonly height: number;
  readonly hashes: BlockHashes;
}

interface ReadChanges {
  readonly tables: ReadonlyMap<string, ReadChange>;
  /** By lookup table: rows that were sent before and got their block now. */
  readonly stamped: ReadonlyMap<string, WireRow[]>;
  /** By lookup table: ids that replicas may hold and the database does not have. */
  readonly vanishedIds: ReadonlyMap<string, readonly bigint[]>;
  /** Descriptions of changes that could not be found. */
  readonly gaps: readonly string[];
  /** Tables that were not looked at whole. */
  readonly unlooked: ReadonlySet<string>;
}

interface ReadChange {
  /** Parts that are left for the next group. */
  readonly left: readonly unknown[];
  readonly updated: WireRow[];
  readonly deleted: WireRow[];
  /** Parts that are sent whole; null where `updated` and `deleted` say all. */
  readonly ranges: {
    readonly column: string | null;
    readonly spans: readonly (readonly [number, number] | null)[];
    readonly rows: WireRow[];
  } | null;
}

/**
 * Makes the message of one block as read. @see the specification, "Server to client"
 *
 * @param compatibleClients whether balances stand in `updated_rows` and not in `data`: clients that keep balances
 *   themselves insert what `data` has, and a balance that they hold would be in the way of the whole block
 */
export function blockMessage(id: DatabaseId, block: ReadBlock, compatibleClients = false): BlockMessage {
  const { head, changes, rows } = block;
  const isIndexer = id.dbType === 'indexer';
  const header = { block_index: head.height, block_time: head.blockTime, ...head.hashes };
  const changed = changes && changedRows(changes);
  const { updated_rows: all = {}, ...parts } = changed ?? {};
  const derived = compatibleClients
    ? []
    : block.layout.plans.filter((plan) => plan.class === 'derived').map(({ name }) => name);
  // A decoder's clients know no `updated_rows`; an indexer's balances come with the block that moves them.
  const isOwn = (table: string) => !isIndexer || derived.includes(table);
  const [beside, updated_rows] = [true, false].map((own) => tablesOf(all, (table) => isOwn(table) === own));
  return {
    type: 'block',
    chain: id.chain,
    network: id.network,
    dbType: id.dbType,
    schema_version: SCHEMA_VERSION[id.dbType],
    ...header,
    group: block.group,
    previous_hash: previousHash(block.previous),
    ...(head.commitments ?? {}),
    schema_fingerprint: block.layout.fingerprint,
    ...(changes && unsettledOf(changes)),
    ...(changes && isSettling(changes) ? { settling: true as const } : {}),
    ...(block.amendedBefore === undefined ? {} : { amended_before: block.amendedBefore }),
    data: { ...joined(rows, beside!), ...(isIndexer ? { sync_meta: [header] } : {}) },
    ...(isIndexer && changed ? { updated_rows: updated_rows! } : {}),
    ...parts
  };
}

/** Returns whether amendments of the group's last block may follow. */
export function isSettling({
  tables,
  unlooked
}: Pick<ReadChanges, 'unlooked'> & { readonly tables: ReadonlyMap<string, Pick<ReadChange, 'left'>> }): boolean {
  return unlooked.size > 0 || [...tables.values()].some(({ left }) => left.length > 0);
}

/** Returns the message of rows that changed up to a block, found after it was broadcast. @param number counts from 1 for each block */
export function amendmentMessage(
  id: DatabaseId,
  { height, hashes }: NamedHead,
  {
    fingerprint,
    number,
    tables
  }: { readonly fingerprint: string; readonly number: number; readonly tables: ReadChanges['tables'] }
): AmendmentMessage {
  const { dbType, chain, network } = id;
  const changed = changedRows({ tables, stamped: new Map(), vanishedIds: new Map() });
  return {
    type: 'amendment',
    chain,
    network,
    dbType,
    block_index: height,
    ...hashes,
    number,
    schema_fingerprint: fingerprint,
    ...changed
  } as AmendmentMessage;
}

/** Says that all that changed up to a block was sent. @param amendments of that block; null: not known */
export function settledMessage(
  { dbType, chain, network }: DatabaseId,
  { height, hashes }: NamedHead,
  amendments: number | null,
  isUnknown: boolean
): SettledMessage {
  const head = { type: 'settled', chain, network, dbType, block_index: height, ...hashes, amendments } as const;
  return { ...head, ...(isUnknown ? { unknown: true as const } : {}) } as SettledMessage;
}

/** Returns an id as a row has it: a number, or text where a number is not exact. */
function wireId(id: bigint): number | string {
  return Number.isSafeInteger(Number(id)) ? Number(id) : String(id);
}

function unsettledOf({ tables, gaps }: ReadChanges): Pick<BlockMessage, 'unsettled'> {
  if (gaps.length > 0) return { unsettled: 'unknown' };
  return [...tables.values()].some(({ left }) => left.length > 0) ? { unsettled: 'rest' } : {};
}

function previousHash(previous: BlockHashes | null): NonNullable<BlockMessage['previous_hash']> | null {
  return previous && 'block_hash' in previous ? previous.block_hash : previous;
}

function changedRows({
  tables,
  stamped,
  vanishedIds
}: Pick<ReadChanges, 'tables' | 'stamped' | 'vanishedIds'>): Pick<
  BlockMessage,
  'updated_rows' | 'deleted_rows' | 'ranges'
> {
  const updated: WireRows = {};
  const deleted: WireRows = {};
  const ranges: NonNullable<BlockMessage['ranges']> = {};
  for (const [table, change] of tables) {
    if (change.updated.length > 0) updated[table] = change.updated;
    if (change.deleted.length > 0) deleted[table] = change.deleted;
    if (change.ranges)
      ranges[table] = { ...change.ranges, spans: change.ranges.spans.map((span) => span && [...span]) };
  }
  for (const [table, list] of stamped) updated[table] = [...(updated[table] ?? []), ...list];
  for (const [table, ids] of vanishedIds) deleted[table] = ids.map((id) => ({ id: wireId(id) }));
  return {
    updated_rows: updated,
    ...(Object.keys(deleted).length > 0 ? { deleted_rows: deleted } : {}),
    ...(Object.keys(ranges).length > 0 ? { ranges } : {})
  };
}

/** Joins the rows of both: a table may have new rows and changed ones. */
function joined(rows: WireRows, beside: WireRows): WireRows {
  const all: WireRows = { ...rows };
  for (const [table, list] of Object.entries(beside)) all[table] = [...(rows[table] ?? []), ...list];
  return all;
}

/** Returns the same message for `infra-only` subscribers. */
export function infraOnly(message: BlockMessage): BlockMessage {
  const { data, updated_rows, deleted_rows, ranges, ...envelope } = message;
  return {
    ...envelope,
    sync_mode: 'infra-only',
    data: infraTables(data),
    ...(updated_rows ? { updated_rows: infraTables(updated_rows) } : {}),
    ...(deleted_rows ? { deleted_rows: infraTables(deleted_rows) } : {}),
    ...(ranges ? { ranges: infraTables(ranges) } : {})
  };
}

function tablesOf<T>(tables: Record<string, T>, holds: (table: string) => boolean): Record<string, T> {
  return Object.fromEntries(Object.entries(tables).filter(([table]) => holds(table)));
}

const infraTables = <T>(tables: Record<string, T>): Record<string, T> =>
  tablesOf(tables, (table) => INFRA_TABLES.has(table));

/** Returns the same amendment for `infra-only` subscribers; it may be left with no rows. */
export function infraAmendment({
  updated_rows,
  deleted_rows,
  ranges,
  ...envelope
}: AmendmentMessage): AmendmentMessage {
  return {
    ...envelope,
    ...(updated_rows ? { updated_rows: infraTables(updated_rows) } : {}),
    ...(deleted_rows ? { deleted_rows: infraTables(deleted_rows) } : {}),
    ...(ranges ? { ranges: infraTables(ranges) } : {})
  };
}

/** @param height the first orphaned block */
export function reorgMessage({ dbType, chain, network }: DatabaseId, height: number): ReorgMessage {
  return { type: 'reorg', chain, network, dbType, block_index: height };
}

/** Limits of the rows that are made text at once: their number, and their expected characters. */
const SLICE_ROWS = 64;
const SLICE_CHARS = 2 ** 18;
/** Text that is turned into bytes at once. */
const PART_CHARS = 2 ** 20;

/**
 * Returns a message's bytes, in a buffer of their own that can be transferred to another thread; none (an empty buffer)
 * when it is larger than clients take, which costs no more memory than that.
 */
export function encodeMessage(message: ServerMessage, maxBytes = MAX_MESSAGE_BYTES): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let [text, sizeBytes] = ['', 0];
  const flush = () => {
    parts.push(new TextEncoder().encode(text));
    sizeBytes += parts.at(-1)!.length;
    text = '';
  };
  for (const piece of piecesOf(message)) {
    text += piece;
    if (text.length >= PART_CHARS) flush();
    if (sizeBytes + text.length > maxBytes) return new Uint8Array(0);
  }
  flush();
  if (sizeBytes > maxBytes) return new Uint8Array(0);
  return parts.length === 1 ? parts[0]! : concat(parts, sizeBytes);
}

/** Yields the JSON.stringify text in pieces that never exceed a string's limit: a few rows of each table at a time. */
function* piecesOf(value: unknown): Generator<string> {
  if (Array.isArray(value)) yield* piecesOfRows(value);
  else if (typeof value !== 'object' || value === null) yield JSON.stringify(value);
  else {
    let before = '{';
    for (const [key, member] of Object.entries(value)) {
      if (member === undefined) continue;
      yield `${before}${JSON.stringify(key)}:`;
      yield* piecesOf(member);
      before = ',';
    }
    yield before === '{' ? '{}' : '}';
  }
}

function* piecesOfRows(rows: readonly unknown[]): Generator<string> {
  yield '[';
  for (let [at, count] = [0, 1]; at < rows.length; ) {
    const text = JSON.stringify(rows.slice(at, at + count)).slice(1, -1);
    yield at > 0 ? `,${text}` : text;
    at += count;
    count = Math.max(1, Math.min(SLICE_ROWS, Math.floor((count * SLICE_CHARS) / (text.length + 1))));
  }
  yield ']';
}

function concat(parts: readonly Uint8Array[], sizeBytes: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(sizeBytes);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
