import type { GroupBlock } from '../db/block-reader.ts';
import { type BlockHashes, type DatabaseId, SCHEMA_VERSION } from './database.ts';
import { type BlockMessage, INFRA_TABLES, type ReorgMessage, type ServerMessage, type WireRows } from './messages.ts';

/** The message of one block as read. @see the specification, "Server to client" */
export function blockMessage(id: DatabaseId, block: GroupBlock): BlockMessage {
  const { head, changes, rows } = block;
  const isIndexer = id.dbType === 'indexer';
  const header = { block_index: head.height, block_time: head.blockTime, ...head.hashes };
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
    data: isIndexer ? { ...rows, sync_meta: [header] } : rows,
    ...(changes ? changedRows(changes) : {})
  };
}

function previousHash(previous: BlockHashes | null): NonNullable<BlockMessage['previous_hash']> | null {
  return previous && 'block_hash' in previous ? previous.block_hash : previous;
}

function changedRows({ tables, rescoped, vanishedIds }: NonNullable<GroupBlock['changes']>): Partial<BlockMessage> {
  const updated: WireRows = {};
  const deleted: WireRows = {};
  const whole: string[] = [];
  for (const [table, change] of tables) {
    if (change.updated.length > 0) updated[table] = change.updated;
    if (change.deleted.length > 0) deleted[table] = change.deleted;
    if (change.whole) whole.push(table);
  }
  for (const [table, ids] of vanishedIds) deleted[table] = ids.map((id) => ({ id }));
  return {
    updated_rows: updated,
    ...(Object.keys(deleted).length > 0 ? { deleted_rows: deleted } : {}),
    ...(whole.length > 0 ? { whole } : {}),
    ...(Object.keys(rescoped).length > 0 ? { rescoped: rescoped as BlockMessage['rescoped'] & object } : {})
  };
}

/** The same message for `infra-only` subscribers. */
export function infraOnly(message: BlockMessage): BlockMessage {
  const { data, updated_rows, deleted_rows, whole, rescoped, ...envelope } = message;
  return {
    ...envelope,
    sync_mode: 'infra-only',
    data: infraTables(data),
    ...(updated_rows ? { updated_rows: infraTables(updated_rows) } : {}),
    ...(deleted_rows ? { deleted_rows: infraTables(deleted_rows) } : {}),
    ...(whole ? { whole: whole.filter((table) => INFRA_TABLES.has(table)) } : {}),
    ...(rescoped ? { rescoped: infraTables(rescoped) } : {})
  };
}

function infraTables<T>(tables: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(tables).filter(([table]) => INFRA_TABLES.has(table)));
}

/** @param height the first orphaned block */
export function reorgMessage({ dbType, chain, network }: DatabaseId, height: number): ReorgMessage {
  return { type: 'reorg', chain, network, dbType, block_index: height };
}

/** A message's bytes, in a buffer of their own that can be transferred to another thread. */
export function encodeMessage(message: ServerMessage): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(message));
}
