import { type Connection, quoteName, rows, type Statements } from '../../db/connection.ts';
import { isBinary } from '../../db/row-codec.ts';
import { PlatformError } from '../../errors.ts';
import type { BlockHashes, DbType } from '../../wire/data/database.ts';
import type { TypedKey, TypedTable } from '../../wire/data/schema.ts';

/** State commitments of an indexer block; null where the source has none. */
interface Commitments {
  readonly state_hash: string | null;
  readonly balances_root: string | null;
  readonly block_merkle_root: string | null;
  readonly state_root: string | null;
}

/** Identity of one block. */
export interface BlockHead {
  readonly height: number;
  readonly blockTime: number | null;
  readonly hashes: BlockHashes;
  /** Indexer only. */
  readonly commitments: Commitments | null;
  /** Decoder only: the hash of the block before, where the table keeps it. */
  readonly parent?: string | null;
}

/** Layout of this database's `blocks` table, for either way of keeping the hashes. */
export interface HeadLayout {
  readonly dbType: DbType;
  readonly select: string;
  readonly from: string;
  /** The commitments that this database's own tables carry. */
  readonly commitments: readonly (keyof Commitments)[];
  /** Sorts rows of one height, where `block_index` is not unique: the last one counts. */
  readonly tieBreak: string;
}

const HASHES = {
  indexer: ['ledger_hash', 'actions_hash', 'contract_hash'],
  decoder: ['block_hash']
} as const satisfies Record<DbType, readonly string[]>;
const PARENT = 'previous_block_hash';
const COMMITMENTS = ['state_hash', 'balances_root', 'block_merkle_root', 'state_root'] as const;
/** Table in which an indexer keeps its own roots beside `blocks`: a row for each block that has some. */
const ROOTS_TABLE = 'state_tree_roots';
/** Heights of which heads are read at once. */
const HEADS_PAGE = 1_000;
/** Blocks below the tip that show which hashes this chain fills in. */
const TIP_SAMPLE = 20;

/**
 * Finds where `blocks` keeps its hashes: a column of that name, or `<name>_id` into `index_transactions`. Roots may also stand in
 * `state_tree_roots`, where that is made to be read by height.
 *
 * @returns null when there is no `blocks` table yet
 * @throws {PlatformError} DATABASE_UNUSABLE when `blocks` names no block by any hash
 */
export function headLayout(tables: readonly TypedTable[], dbType: DbType): HeadLayout | null {
  const blocks = tables.find(({ name }) => name === 'blocks');
  if (!blocks) return null;
  const column = (name: string) => blocks.columns.find((candidate) => candidate.name === name);
  const joins: string[] = [];
  const roots = tables.find(({ name, keys }) => name === ROOTS_TABLE && keys.some(isByHeight));
  const rootOf = (name: string): string => {
    if (dbType !== 'indexer' || !roots?.columns.some((candidate) => candidate.name === name)) return 'NULL';
    const join = `LEFT JOIN ${ROOTS_TABLE} roots ON roots.block_index = b.block_index`;
    if (!joins.includes(join)) joins.push(join);
    return `roots.${quoteName(name)}`;
  };
  const hash = (name: string): string => {
    const direct = column(name);
    if (direct) return isBinary(direct) ? `LOWER(HEX(b.${quoteName(name)}))` : `b.${quoteName(name)}`;
    if (!column(`${name}_id`)) return rootOf(name);
    joins.push(`LEFT JOIN index_transactions ${name} ON ${name}.id = b.${quoteName(`${name}_id`)}`);
    return `${name}.hash`;
  };
  const names = [...HASHES[dbType], ...(dbType === 'indexer' ? COMMITMENTS : [PARENT])];
  const fields = names.map((name) => ({ name, sql: hash(name) }));
  if (!column('block_index') || fields[0]?.sql === 'NULL') {
    throw new PlatformError('DATABASE_UNUSABLE', {
      reason: `table blocks has no column block_index, or neither ${names[0]} nor ${names[0]}_id`
    });
  }
  const select = [
    'b.block_index AS height',
    `${column('block_time') ? 'b.block_time' : 'NULL'} AS block_time`,
    ...fields.map(({ name, sql }) => `${sql} AS ${name}`)
  ].join(', ');
  const commitments = COMMITMENTS.filter((name) => fields.some((field) => field.name === name && field.sql !== 'NULL'));
  return {
    dbType,
    select,
    commitments,
    from: ['blocks b', ...joins].join(' '),
    tieBreak: column('id') ? ', b.id' : ''
  };
}

function isByHeight({ columns }: TypedKey): boolean {
  return columns[0]?.name === 'block_index';
}

/** Reads the heads of the heights from `from` to `to` that exist, ascending, whether their hashes are complete or not. */
export async function readBlockHeads(
  connection: Statements,
  layout: HeadLayout,
  from: number,
  to: number
): Promise<BlockHead[]> {
  const found = await rows(
    connection,
    `SELECT ${layout.select} FROM ${layout.from} WHERE b.block_index BETWEEN ? AND ? ORDER BY b.block_index${layout.tieBreak}`,
    [from, to]
  );
  return distinctHeads(found, layout.dbType);
}

/** The heads of a page of heights; some may be missing. */
interface HeadPage {
  readonly from: number;
  readonly to: number;
  readonly heads: readonly BlockHead[];
}

/** Yields what `readBlockHeads` reads, page by page, for any number of heights. */
export async function* readHeadPages(
  connection: Statements,
  layout: HeadLayout,
  first: number,
  last: number
): AsyncGenerator<HeadPage> {
  for (let from = first; from <= last; from += HEADS_PAGE) {
    const to = Math.min(last, from + HEADS_PAGE - 1);
    yield { from, to, heads: await readBlockHeads(connection, layout, from, to) };
  }
}

/** Reads the highest visible block: one whose hashes are complete. Null when there is none. */
export async function readTip(connection: Statements, layout: HeadLayout): Promise<BlockHead | null> {
  const descending = layout.tieBreak === '' ? '' : `${layout.tieBreak} DESC`;
  const found = await rows(
    connection,
    `SELECT ${layout.select} FROM ${layout.from} WHERE b.block_index IS NOT NULL ORDER BY b.block_index DESC${descending} LIMIT ${TIP_SAMPLE}`
  );
  const heads = distinctHeads(found.reverse(), layout.dbType);
  return visibleHeads(heads).at(-1) ?? null;
}

/** Reads the lowest height; null when the table is empty. */
export async function readFirstHeight(connection: Connection): Promise<number | null> {
  const [first] = await rows<{ height: number | null }>(connection, 'SELECT MIN(block_index) AS height FROM blocks');
  return first?.height == null ? null : Number(first.height);
}

/**
 * Returns the heads that are complete: every hash that any of them has must be there. A hash that none has is not kept
 * by this chain.
 *
 * @param heads some twenty neighbours, so that a hash which is only late is not taken for one that is never given
 */
export function visibleHeads(heads: readonly BlockHead[]): BlockHead[] {
  const value = ({ hashes }: BlockHead, name: string) => (hashes as Record<string, string | null>)[name];
  const kept = Object.keys(heads[0]?.hashes ?? {}).filter((name) => heads.some((head) => value(head, name) != null));
  return kept.length === 0 ? [] : heads.filter((head) => kept.every((name) => value(head, name) != null));
}

function distinctHeads(found: readonly Record<string, unknown>[], dbType: DbType): BlockHead[] {
  const byHeight = new Map<number, BlockHead>();
  const pick = (row: Record<string, unknown>, names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, row[name] == null ? null : String(row[name])]));
  for (const row of found) {
    const height = Number(row['height']);
    byHeight.set(height, {
      height,
      blockTime: row['block_time'] == null ? null : Number(row['block_time']),
      hashes: pick(row, HASHES[dbType]) as BlockHashes,
      commitments: dbType === 'indexer' ? (pick(row, COMMITMENTS) as unknown as Commitments) : null,
      // The first block's parent is kept as an empty text by some.
      ...(dbType === 'decoder' && { parent: row[PARENT] ? String(row[PARENT]) : null })
    });
  }
  return [...byHeight.values()];
}
