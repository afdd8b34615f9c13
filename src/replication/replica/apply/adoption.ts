import { type Connection, databaseError, rows } from '../../../db/connection.ts';
import { hasCode, PlatformError } from '../../../errors.ts';
import type { TypedTable } from '../../../wire/data/schema.ts';
import type { SchemaPlan } from '../../ddl/schema-writer.ts';
import { readBlockHeads, readHeadPages } from '../../tables/block-hashes.ts';
import { createControlTables } from '../../tables/control-tables.ts';
import { printAdditions } from '../../tables/ddl.ts';
import { readTopology } from '../../tables/topology.ts';
import type { LoggedBlock } from '../../tables/transparency-log.ts';
import { CarriedIds } from '../database/carried-ids.ts';
import type { ReplicaSchema } from '../database/schema.ts';
import type { ReplicaState } from '../database/state.ts';
import { logBlocks } from '../database/written-blocks.ts';
import type { WriterContext } from './block-writer.ts';
import { deriveTouched, touchedInSpan } from './derived-balances.ts';
import { GroupTransaction } from './group-transaction.ts';
import { deleteSpan } from './rollback.ts';

/** The control tables that identify another client's replica. */
const CONTROL_KEYS = { sync_meta: 'block_index', merkle_epochs: 'epoch' } as const;

/** The heights of a database that another client made; each of them is there once. */
export interface ForeignHeights {
  readonly lowest: number;
  readonly tip: number;
}

/**
 * Checks that a database without our marker could have been made from this schema. Nothing is written.
 *
 * @throws {PlatformError} REPLICA_FOREIGN with the reason
 */
export async function examineForeign(connection: Connection, plan: SchemaPlan): Promise<ForeignHeights> {
  const own = new Map((await readTopology(connection)).tables.map((table) => [table.name, table]));
  for (const { table } of plan.tables) checkTable(own.get(table.name), table);
  if (own.has('sync_state')) throw refusal('it has a table sync_state of another program: rename it');
  for (const [name, column] of Object.entries(CONTROL_KEYS)) checkControl(own.get(name), column);
  if (own.has('sync_halt')) {
    const [halt] = await rows(connection, 'SELECT reason FROM sync_halt LIMIT 1');
    if (halt) throw refusal(`the other client has halted: ${halt['reason']}`);
  }
  return readHeights(connection);
}

/**
 * Reads the heights of a replica's blocks.
 *
 * @throws {PlatformError} REPLICA_FOREIGN when there are none, or one is missing or there twice
 */
export async function readHeights(connection: Connection): Promise<ForeignHeights> {
  const [found] = await rows(
    connection,
    'SELECT COUNT(block_index) AS n, MIN(block_index) AS lowest, MAX(block_index) AS tip, COUNT(DISTINCT block_index) AS heights FROM blocks'
  );
  const [count, heights, lowest, tip] = ['n', 'heights', 'lowest', 'tip'].map((name) => Number(found![name]));
  if (count === 0) throw refusal('it has no blocks');
  if (count !== heights || heights !== tip! - lowest! + 1)
    throw refusal(`it has ${count} blocks at ${heights} of the heights from ${lowest} to ${tip}`);
  return { lowest: lowest!, tip: tip! };
}

/** Returns the error for a replica of another client that stays as it is. */
export function refusal(reason: string): PlatformError {
  return new PlatformError('REPLICA_FOREIGN', { reason: `the replica of another client is not adopted: ${reason}` });
}

/** Refuses a bootstrap that would replace a replica which is being adopted. @throws {PlatformError} REPLICA_FOREIGN */
export function refuseLoss({ phase }: ReplicaState, reason: string): void {
  if (phase === 'adopting') throw refusal(reason);
}

/** Checks that a table is the source's. Columns and keys may be missing, for they can be added; everything else must be the same. */
function checkTable(own: TypedTable | undefined, sourceTable: TypedTable): void {
  if (!own) throw refusal(`table ${sourceTable.name} of the source is missing`);
  if (own.engine !== 'InnoDB') throw refusal(`table ${own.name} is ${own.engine}, which has no transactions`);
  const known = new Set(sourceTable.columns.map(({ name }) => name));
  const further = own.columns.find(({ name }) => !known.has(name));
  if (further) throw refusal(`table ${own.name} has a column ${further.name}, which the source lacks`);
  try {
    printAdditions(own, sourceTable);
  } catch (caught) {
    if (!hasCode(caught, 'SCHEMA_REFUSED')) throw caught;
    throw refusal(caught.message);
  }
}

function checkControl(own: TypedTable | undefined, column: string): void {
  const isFoundBy = own?.keys.some(
    ({ unique, columns }) => unique && columns.length === 1 && columns[0]!.name === column
  );
  if (own && !isFoundBy) throw refusal(`its table ${own.name} has no unique key over ${column}: rename it`);
}

/** Takes over a database that passed all checks. */
interface Takeover extends ForeignHeights {
  /** Blocks above it are taken away, to be fetched again. */
  readonly height: number;
}

/**
 * Cuts a database back to a height, and records its blocks in the transparency log. A crash in the middle leaves a database
 * without marker, or one that is being adopted: either may be cut back again.
 *
 * @returns the place from which it follows its source
 */
export async function takeOver(
  connection: Connection,
  { schema, epochSize }: Pick<WriterContext, 'schema' | 'epochSize'>,
  { lowest, tip, height }: Takeover
): Promise<Pick<ReplicaState, 'height' | 'blockTime' | 'hashes'>> {
  const heads = schema.heads!;
  if (height < tip) await cutBack(connection, schema, { first: height + 1, last: tip });
  if (heads.dbType === 'indexer') {
    await createControlTables(connection);
    await connection.query('DELETE FROM sync_meta WHERE block_index NOT BETWEEN ? AND ?', [lowest, height]);
    await connection.query('DELETE FROM merkle_epochs');
    for await (const page of readHeadPages(connection, heads, lowest, height))
      await logBlocks(connection, page.heads as readonly LoggedBlock[], epochSize);
  }
  const [head] = await readBlockHeads(connection, heads, height, height);
  return { height, blockTime: head!.blockTime, hashes: head!.hashes };
}

/** Deletes rows of blocks by scope, and sets balances to the remaining credits and debits, in one transaction. */
async function cutBack(
  connection: Connection,
  schema: ReplicaSchema,
  span: { readonly first: number; readonly last: number }
): Promise<void> {
  try {
    await connection.query('BEGIN');
    const balances = schema.byName.get('balances');
    const derived = balances?.plan.class === 'derived' && balances.identity ? balances : null;
    const touched = derived ? await touchedInSpan(connection, schema, derived, span) : [];
    await deleteSpan(connection, schema, span);
    // There is nothing to undo to: the replica begins here.
    const journal = { keep: async () => undefined };
    const group = new GroupTransaction(connection, schema, span, { journal, ids: new CarriedIds([]) });
    if (derived) await deriveTouched(connection, group, derived, touched);
    await connection.query('COMMIT');
  } catch (caught) {
    connection.destroy();
    throw databaseError(caught, { cut: span.first });
  }
}
