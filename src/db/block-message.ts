import { PlatformError } from '../errors.ts';
import type { BlockMessage, WireRow, WireRows } from '../wire/messages.ts';
import { strayScope } from './classify.ts';
import { canonicalRows, type GroupTransaction, type Merge } from './group-transaction.ts';
import {
  type CanonicalRow,
  canonicalRow,
  findTable,
  keyText,
  type ReplicaSchema,
  type ReplicaTable,
  travels
} from './replica-schema.ts';

const CONTROL = new Set(['sync_meta', 'merkle_epochs']);

/** The tables of some rows, parents first. */
function* ordered(schema: ReplicaSchema, given: WireRows | undefined): Generator<[ReplicaTable, WireRow[]]> {
  if (!given) return;
  for (const name of Object.keys(given)) if (!CONTROL.has(name)) findTable(schema, name);
  for (const table of schema.tables) {
    const list = Object.hasOwn(given, table.name) ? given[table.name] : undefined;
    if (list && travels(table) && table.plan.class !== 'snapshotOnly') yield [table, list];
  }
}

/**
 * Makes the rows of older blocks what a message says they are, before new ones come: those may take the key of one that goes.
 */
export async function replaceOlder(
  group: GroupTransaction,
  schema: ReplicaSchema,
  message: BlockMessage
): Promise<void> {
  const { data, rescoped = {} } = message;
  if (Object.keys(rescoped).length === 0) return;
  const parts: { table: ReplicaTable; existing: CanonicalRow[]; list: CanonicalRow[] }[] = [];
  const unsent = Object.keys(rescoped).filter((name) => !Object.hasOwn(data, name));
  for (const [table, list] of ordered(schema, { ...data, ...Object.fromEntries(unsent.map((name) => [name, []])) })) {
    const all = canonicalRows(table, list);
    const stray = strayScope(table.plan);
    if (stray && Object.hasOwn(rescoped, table.name)) {
      // Which rows are those blocks' is not known here; those that share a transaction or an action are of one block.
      parts.push({ table, existing: await group.readAlike(table, stray, all), list: all });
    }
    if (!table.plan.scope) continue;
    group.learnParents(table, all);
    const older = olderBlocks(message, table);
    if (older.size === 0) continue;
    const blocks = await group.blocksOf(table, all);
    const existing = await group.readBlocks(
      table,
      [...older].map((height) => ({ first: height, last: height }))
    );
    parts.push({ table, existing, list: all.filter((_, index) => older.has(blocks[index] ?? -1)) });
  }
  for (const { table, existing, list } of parts) await group.replaceRows(table, existing, list);
}

/** Blocks below the group of which a message holds all rows of a table. */
function olderBlocks({ rescoped, group, block_index }: BlockMessage, { name }: ReplicaTable): ReadonlySet<number> {
  const first = group?.first ?? block_index;
  const heights = rescoped && Object.hasOwn(rescoped, name) ? rescoped[name]! : [];
  return new Set(heights.filter((height) => height < first));
}

/** Takes the rows of a message into its group. @param derives balances are not the message's to say */
export async function applyMessage(
  group: GroupTransaction,
  schema: ReplicaSchema,
  message: BlockMessage,
  derives: boolean
): Promise<void> {
  const { block_index: height, whole = [] } = message;
  for (const [table, list] of ordered(schema, message.deleted_rows)) {
    await group.removeByIdentity(table, identitiesOf(table, list));
  }
  const wholeTables = new Set(whole);
  const own = [...ordered(schema, message.data)];
  const changed = [...ordered(schema, message.updated_rows)].filter(
    ([{ name, plan }]) => !wholeTables.has(name) && !(derives && plan.class === 'derived')
  );
  const merges = own.flatMap(([table, list]): Merge[] => {
    const { class: tableClass } = table.plan;
    const isState = tableClass === 'mutable' || (tableClass === 'derived' && !message.group && !derives);
    if (tableClass !== 'lookup' && !isState) return [];
    return [{ table, list: canonicalRows(table, list), known: isState ? 'replace' : 'refuse' }];
  });
  const comesAlone = ({ name, plan }: ReplicaTable) => plan.class !== 'scoped' && !Object.hasOwn(message.data, name);
  for (const [table, list] of changed) {
    if (comesAlone(table)) merges.push({ table, list: canonicalRows(table, list), known: 'replace' });
  }
  await group.mergeAll(merges);
  for (const [table, list] of own) {
    if (table.plan.class === 'scoped') await applyScoped(group, table, list, height, olderBlocks(message, table));
  }
  for (const [table, list] of changed) {
    if (!comesAlone(table)) await group.merge(table, canonicalRows(table, list), 'replace');
  }
  for (const name of wholeTables) {
    const table = findTable(schema, name);
    if (!table || table.plan.class === 'scoped') continue;
    const list = canonicalRows(table, message.updated_rows?.[name] ?? []);
    const received = new Set(table.identity ? list.map((row) => keyText(row, table.identity!)) : []);
    await group.replaceWhole(table, received, [await group.comparePage(table, list)]);
  }
}

/**
 * Rows of a scoped table: new rows of the message's own block, and what came beside them, which is merged.
 *
 * @param replaced older blocks, whose rows stand already
 */
async function applyScoped(
  group: GroupTransaction,
  table: ReplicaTable,
  list: readonly WireRow[],
  own: number,
  replaced: ReadonlySet<number>
): Promise<void> {
  const all = canonicalRows(table, list);
  group.learnParents(table, all);
  const blocks = await group.blocksOf(table, all);
  const fresh = all.filter((_, index) => blocks[index] === own);
  await group.insertScoped(table, fresh);
  for (const [height, rest] of Map.groupBy(all.keys(), (index) => blocks[index] ?? null)) {
    if (height === own || (height !== null && replaced.has(height))) continue;
    await group.merge(
      table,
      rest.map((index) => all[index]!),
      'replace',
      height
    );
  }
}

/** Rows of which only the identity columns are given. */
function identitiesOf(table: ReplicaTable, list: readonly WireRow[]): (readonly (string | null)[])[] {
  const { identity } = table;
  if (identity === null) {
    throw new PlatformError('SOURCE_INVALID', {
      reason: `deleted rows of ${table.name}, which has no key`,
      table: table.name
    });
  }
  const columns = table.plan.columns.filter(({ name }) =>
    identity.some((position) => table.codecs[position]!.name === name)
  );
  const codecs = identity.map((position) => table.codecs[position]!);
  const narrow = { ...table, codecs, plan: { ...table.plan, columns } };
  return list.map((row) => {
    const values = canonicalRow(narrow, row);
    const full: (string | null)[] = table.codecs.map(() => null);
    for (const [index, position] of identity.entries()) full[position] = values[index]!;
    return full;
  });
}
