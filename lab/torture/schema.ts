import type { Random } from '../../src/devnet/random.ts';
import { COLUMN_KINDS, type ColumnKind, KEY_KINDS } from './values.ts';

/** Column that ties the rows of a table to a block, if any does. */
export type Anchor = 'block_index' | 'tx_index' | 'action_index' | null;

export interface InventedColumn {
  readonly name: string;
  readonly definition: string;
  readonly nullable: boolean;
  /** An SQL expression; null for a generated column. */
  readonly literal: ((random: Random) => string) | null;
}

export interface InventedTable {
  readonly name: string;
  readonly anchor: Anchor;
  /** `index_*`: rows are added only, with the next id; a reorg takes those that are stamped. */
  readonly isLookup: boolean;
  readonly hasId: boolean;
  /** Grows when a column is added. */
  readonly columns: InventedColumn[];
  readonly keys: readonly string[];
}

const ANCHORS = ['block_index', 'block_index', 'tx_index', 'action_index', 'action_index', null, null, null] as const;
/** Their names promise a block, and they are none. */
const MISLEADING = ['deactivation_block', 'callback_block', 'block_number', 'mint_start_block'] as const;

/** One table as its random figures will have it. @param parents tables with an `id` that it may refer to */
export function inventTable(name: string, random: Random, parents: readonly string[]): InventedTable {
  const isLookup = random.between(1, 7) === 1;
  return isLookup ? inventLookup(`index_${name}`, random) : inventRows(name, random, parents);
}

function inventLookup(name: string, random: Random): InventedTable {
  const columns = [valueColumn('value', random.pick(KEY_KINDS), false), ...someColumns(random, random.between(0, 2))];
  if (random.between(0, 1)) columns.push(DEALT_IN);
  return {
    name,
    anchor: null,
    isLookup: true,
    hasId: true,
    columns,
    keys: ['PRIMARY KEY (id)', ...(random.between(0, 1) ? ['UNIQUE KEY by_value (value)'] : [])]
  };
}

/** The block that dealt the id, where it is known: a reorg of it takes the row. */
const DEALT_IN: InventedColumn = {
  name: 'block_index',
  definition: 'BIGINT UNSIGNED NULL',
  nullable: true,
  literal: (random) => random.pick(['@height', '@height', 'NULL'])
};

function inventRows(name: string, random: Random, parents: readonly string[]): InventedTable {
  const anchor = random.pick(ANCHORS);
  const columns: InventedColumn[] = [];
  const keys: string[] = [];
  if (anchor) columns.push(stamp(anchor, 'BIGINT UNSIGNED NOT NULL', false));
  columns.push(valueColumn('k1', random.pick(KEY_KINDS), false), valueColumn('k2', random.pick(KEY_KINDS), false));
  columns.push(...someColumns(random, random.between(1, 6)));
  const hasId = keysOf(random, anchor, columns, keys);
  if (random.between(0, 3) === 0) columns.push(stamp('tx_index', 'BIGINT UNSIGNED NULL', true));
  if (random.between(0, 2) === 0) columns.push(stamp(random.pick(MISLEADING), 'BIGINT UNSIGNED NULL', true));
  if (random.between(0, 3) === 0) {
    columns.push({
      name: 'note',
      definition: 'VARCHAR(120) COLLATE utf8mb4_general_ci NULL',
      nullable: true,
      literal: COLUMN_KINDS[0].literal
    });
    keys.push('KEY note_prefix (note(10) DESC, k1)');
  }
  addGenerated(columns, random);
  if (parents.length > 0 && random.between(0, 2) === 0)
    addReference(name, columns, keys, random.pick(parents as [string]), random);
  return { name, anchor, isLookup: false, hasId, columns: distinct(columns), keys };
}

/** @returns whether one of the keys is that of an AUTO_INCREMENT `id` */
function keysOf(random: Random, anchor: Anchor, columns: readonly InventedColumn[], keys: string[]): boolean {
  const first = anchor ?? 'k2';
  const prefix = isText(columns.find(({ name }) => name === 'k1')!) ? '(2)' : '';
  const maybe = columns.find((column) => column.nullable && !isLong(column));
  switch (random.between(1, 12)) {
    case 1:
      return false;
    case 2:
      keys.push(`KEY by_first (${first} DESC)`);
      return false;
    case 3:
      keys.push(`PRIMARY KEY (${first}, k1)`);
      return false;
    case 4:
      keys.push(`PRIMARY KEY (k1 DESC${anchor ? `, ${anchor}` : ''})`);
      return false;
    case 5:
      keys.push('UNIQUE KEY pair (k1, k2)', `KEY by_first (${first})`);
      return false;
    case 6:
      keys.push('PRIMARY KEY (id)');
      return true;
    case 7:
      keys.push('PRIMARY KEY (id)', `UNIQUE KEY pair (${first}, k1)`);
      return true;
    case 8:
      keys.push('KEY by_id (id)');
      return true;
    case 9:
      keys.push(`PRIMARY KEY (k1${prefix}, ${first})`);
      return false;
    case 10:
      keys.push('PRIMARY KEY (id)', `UNIQUE KEY starts (k1${prefix} DESC)`);
      return true;
    case 11:
      keys.push(`UNIQUE KEY maybe (${maybe ? `\`${maybe.name}\`, ` : ''}k1)`);
      return false;
    default:
      keys.push('PRIMARY KEY (k1)', 'UNIQUE KEY by_id (id)');
      return true;
  }
}

const isText = ({ definition }: InventedColumn): boolean => /CHAR|TEXT|BINARY|BLOB/.test(definition);
/** Too long for a key without a length. */
const isLong = ({ definition }: InventedColumn): boolean => /TEXT|BLOB|JSON|\((?:[2-9]|1[0-9])\d\d\)/.test(definition);

function addGenerated(columns: InventedColumn[], random: Random): void {
  const base = columns.find(({ literal, definition }) => literal && findKind(definition)?.derived);
  const forms = base && findKind(base.definition)?.derived;
  if (!base || !forms || random.between(0, 2) > 0) return;
  const expression = random.pick(forms as [string]).replace('#', `\`${base.name}\``);
  for (const [name, how] of [
    ['made_stored', 'STORED'],
    ['made_virtual', 'VIRTUAL']
  ] as const) {
    const definition = `VARCHAR(400) COLLATE utf8mb4_general_ci AS (LEFT(${expression}, 90)) ${how}`;
    columns.push({ name, definition, nullable: true, literal: null });
  }
}

function addReference(table: string, columns: InventedColumn[], keys: string[], parent: string, random: Random): void {
  columns.push({
    name: 'parent_id',
    definition: 'BIGINT UNSIGNED NULL',
    nullable: true,
    literal: (choice) =>
      `(SELECT p.id FROM ${parent} p ORDER BY MOD(p.id * ${choice.between(1, 97)}, 101), p.id LIMIT 1)`
  });
  const rule = random.pick(['CASCADE', 'SET NULL', 'RESTRICT'] as const);
  keys.push(`CONSTRAINT fk_${table} FOREIGN KEY (parent_id) REFERENCES ${parent} (id) ON DELETE ${rule}`);
}

/** A column to be added to a table that is in use. */
export function inventAddition(name: string, random: Random): InventedColumn {
  const kind = random.pick(COLUMN_KINDS);
  if (random.between(0, 2) > 0) return valueColumn(name, kind, true);
  return { ...valueColumn(name, COLUMN_KINDS[5]!, false), definition: 'INT NOT NULL DEFAULT -7' };
}

export function createStatement({ name, hasId, columns, keys }: InventedTable): string {
  const id = hasId ? ['id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT'] : [];
  const lines = [...id, ...columns.map((column) => `\`${column.name}\` ${column.definition}`), ...keys];
  return `CREATE TABLE \`${name}\` (${lines.join(', ')}) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci`;
}

function someColumns(random: Random, count: number): InventedColumn[] {
  return Array.from({ length: count }, (_, index) =>
    valueColumn(`c${index + 1}`, random.pick(COLUMN_KINDS), random.between(0, 2) > 0)
  );
}

function valueColumn(name: string, kind: ColumnKind, nullable: boolean): InventedColumn {
  const ending = nullable ? ' NULL' : ' NOT NULL';
  const literal = (random: Random) => (nullable && random.between(1, 5) === 1 ? 'NULL' : kind.literal(random));
  return { name, definition: `${kind.type.replace(/ NULL$/, '')}${ending}`, nullable, literal };
}

/** A number that looks like one of a block: its own, one in the future, or none. */
function stamp(name: string, definition: string, nullable: boolean): InventedColumn {
  const literal = (random: Random) =>
    random.pick(['@height', '@height', String(random.between(1, 100_000)), nullable ? 'NULL' : '@height']);
  return { name, definition, nullable, literal };
}

function findKind(definition: string): ColumnKind | undefined {
  return [...COLUMN_KINDS, ...KEY_KINDS].find(
    ({ type }) =>
      definition.startsWith(`${type.replace(/ NULL$/, '')} N`) ||
      definition.startsWith(`${type.replace(/ NULL$/, '')} NOT`)
  );
}

function distinct(columns: readonly InventedColumn[]): InventedColumn[] {
  return columns.filter(({ name }, index) => columns.findIndex((other) => other.name === name) === index);
}
