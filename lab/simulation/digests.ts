import { type DigestQuery, MAX_RANGES, type RangeDigest } from '../../src/wire/data/digest.ts';
import type { WireRow } from '../../src/wire/data/messages.ts';
import type { TableClass } from '../../src/wire/data/schema.ts';
import { above, type Block, blockRow, transfersOf } from './chain.ts';
import { position as positionOf, word } from './database/checksums.ts';

/** A source's lie about one table: its sums are not those of its rows, or differ each time, or its rows are other ones. */
export interface DigestLie {
  readonly table: string;
  readonly kind: 'sum' | 'mood' | 'row';
  /** Returns a number that is added to a sum. */
  readonly noise: () => number;
}

interface ComparedTable {
  readonly name: string;
  readonly class: TableClass;
  /** Compared columns, in the order of their names. */
  readonly columns: readonly string[];
  /** The column whose values are the source's own; null: there is none. */
  readonly surrogate: string | null;
  /** Columns that give the position of a row without a block. */
  readonly identity: readonly string[];
  /** A value that a lie may have another of. */
  readonly figure: string;
  rows(tip: Block): readonly WireRow[];
}

const LOG_COLUMNS = ['actions_hash', 'block_index', 'block_time', 'contract_hash', 'ledger_hash'];
const loggedRow = (block: Block): WireRow => {
  const { id: _, ...logged } = blockRow(block);
  return logged;
};
const LAST_HASH = 2 ** 32 - 1;

/** The tables of all sources, as the documentation of digests has it and apart from the code that is tested. */
const COMPARED: readonly ComparedTable[] = [
  {
    name: 'index_addresses',
    class: 'lookup',
    columns: ['address', 'id'],
    surrogate: null,
    identity: ['id'],
    figure: 'address',
    rows: (tip) => above(tip, 0).flatMap(({ addresses }) => addresses)
  },
  {
    name: 'blocks',
    class: 'scoped',
    columns: [...LOG_COLUMNS, 'id'].sort(),
    surrogate: 'id',
    identity: ['id'],
    figure: 'block_time',
    rows: (tip) => above(tip, 0).map(blockRow)
  },
  {
    name: 'tokens',
    class: 'mutable',
    columns: ['id', 'supply', 'tick'],
    surrogate: 'id',
    identity: ['tick'],
    figure: 'supply',
    rows: (tip) => [...tip.tokens.values()]
  },
  {
    name: 'transfers',
    class: 'scoped',
    columns: ['address_id', 'amount', 'block_index', 'id'],
    surrogate: 'id',
    identity: ['id'],
    figure: 'amount',
    rows: (tip) => above(tip, 0).flatMap((block) => transfersOf(tip, block))
  },
  {
    name: 'sync_meta',
    class: 'scoped',
    columns: LOG_COLUMNS,
    surrogate: null,
    identity: ['block_index'],
    figure: 'block_time',
    rows: (tip) => above(tip, 0).map(loggedRow)
  }
];

/** The names of the tables that digests tell of. */
export const COMPARED_TABLES: readonly string[] = COMPARED.map(({ name }) => name);

/** Returns a source's answer at a tip. @returns null where it has no such table */
export function answerDigest(tip: Block, query: DigestQuery, key: string, lie: DigestLie | null): object | null {
  if (query.table === null) {
    const tables = COMPARED.map((table) => {
      const { ranges: _, ...sums } = summed(rangesOf(table, tip, whole(table, tip), key, lie));
      return { table: table.name, class: table.class, ...sums };
    });
    return { tables };
  }
  const known = COMPARED.find(({ name }) => name === query.table);
  if (!known) return null;
  const table = query.ids === false ? withoutIds(known) : known;
  const range = query.range ?? whole(table, tip);
  if (!query.rows) return { table: table.name, ...summed(rangesOf(table, tip, range, key, lie)) };
  const found = placedRows(table, tip, range, key, lie);
  const digest = found.reduce((sum, { hash }) => sum + hash, 0n);
  return { table: table.name, rows: found.length, digest: String(digest), data: found.map(({ row }) => row) };
}

type Range = NonNullable<DigestQuery['range']>;

/** In the place of its rows' ids, all their other columns name them. */
function withoutIds(table: ComparedTable): ComparedTable {
  const columns = table.columns.filter((name) => name !== table.surrogate);
  return { ...table, columns, identity: table.identity.includes(table.surrogate ?? '') ? columns : table.identity };
}

/** Returns the whole range of a table; a log has nothing ahead of the tip. */
const whole = ({ name, class: kind }: ComparedTable, { height }: Block): Range =>
  kind === 'scoped'
    ? { from: -1, to: name === 'sync_meta' ? height : height + 1, block: null }
    : { from: 0, to: LAST_HASH, block: null };

function summed(ranges: readonly RangeDigest[]) {
  const rows = ranges.reduce((sum, range) => sum + range.rows, 0);
  return { rows, digest: String(ranges.reduce((sum, range) => sum + BigInt(range.digest), 0n)), ranges };
}

function rangesOf(table: ComparedTable, tip: Block, range: Range, key: string, lie: DigestLie | null): RangeDigest[] {
  const width = Math.ceil((range.to - range.from + 1) / MAX_RANGES);
  const slots = new Map<number, { rows: number; sum: bigint }>();
  for (const { position, hash } of placedRows(table, tip, range, key, lie)) {
    const from = range.from + Math.floor((position - range.from) / width) * width;
    const slot = slots.get(from) ?? { rows: 0, sum: 0n };
    slots.set(from, { rows: slot.rows + 1, sum: slot.sum + hash });
  }
  const ranges = [...slots]
    .sort(([a], [b]) => a - b)
    .map(([from, { rows, sum }]) => ({ from, to: Math.min(range.to, from + width - 1), rows, digest: String(sum) }));
  const first = ranges[0];
  if (first && lie?.table === table.name && lie.kind !== 'row')
    first.digest = String(BigInt(first.digest) + BigInt(lie.noise()));
  return ranges;
}

interface PlacedRow {
  readonly row: WireRow;
  readonly position: number;
  readonly hash: bigint;
}

function placedRows(table: ComparedTable, tip: Block, range: Range, key: string, lie: DigestLie | null): PlacedRow[] {
  const { from, to, block } = range;
  return table
    .rows(tip)
    .map((row, index) => (index === 0 && lie?.table === table.name && lie.kind === 'row' ? falsified(table, row) : row))
    .filter((row) => block === null || row['block_index'] === block)
    .map((row) => placed(table, row, key, block !== null))
    .filter(({ position }) => position >= from && position <= to);
}

function falsified({ figure }: ComparedTable, row: WireRow): WireRow {
  const value = row[figure];
  return { ...row, [figure]: typeof value === 'number' ? value + 1_000 : `${String(value)}x` };
}

function placed(
  { class: kind, columns, identity }: ComparedTable,
  row: WireRow,
  key: string,
  isOfBlock: boolean
): PlacedRow {
  const isByHash = kind !== 'scoped' || isOfBlock;
  const position = isByHash ? positionOf(`${key}|p|${textOf(row, identity)}`) : Number(row['block_index']);
  return { row, position, hash: word(`${key}|${textOf(row, columns)}`) };
}

/** The canonical text of some columns. */
function textOf(row: WireRow, columns: readonly string[]): string {
  return columns
    .map((name) => {
      const value = row[name];
      return typeof value === 'string' ? `t${value.length}:${value}` : value === null ? 'n' : `v${String(value)}`;
    })
    .join('|');
}
