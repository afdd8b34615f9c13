import type { TypedColumn } from '../../wire/data/schema.ts';

/** Character set and collation of text. */
export interface TextDefaults {
  readonly charset: string;
  readonly collation: string;
}

/** A column before the table's own character set is known, which stands behind all columns. */
export interface ParsedColumn extends Omit<TypedColumn, 'charset' | 'collation'> {
  readonly charset: string | null;
  readonly collation: string | null;
}

const TEXT_TYPE = /^(var)?char|^(tiny|medium|long)?text|^enum|^set/;

/** Collations that text without COLLATE means; every other character set's is `<name>_general_ci`. */
const CLASSIC_COLLATIONS: ReadonlyMap<string, string> = new Map([
  ['latin1', 'latin1_swedish_ci'],
  ['latin2', 'latin2_general_ci'],
  ['big5', 'big5_chinese_ci'],
  ['gbk', 'gbk_chinese_ci'],
  ['gb2312', 'gb2312_chinese_ci'],
  ['sjis', 'sjis_japanese_ci'],
  ['cp932', 'cp932_japanese_ci'],
  ['ujis', 'ujis_japanese_ci'],
  ['eucjpms', 'eucjpms_japanese_ci'],
  ['euckr', 'euckr_korean_ci'],
  ['tis620', 'tis620_thai_ci'],
  ['swe7', 'swe7_swedish_ci'],
  ['dec8', 'dec8_swedish_ci'],
  ['hp8', 'hp8_english_ci']
]);

/** Returns character set and collation by their names of today; a set that is named alone has its classic collation. */
export function textDefaults(charset: string, collation: string | null): TextDefaults {
  const set = plainCharset(charset);
  return { charset: set, collation: collation === null ? classicCollation(set) : plainCollation(collation) };
}

/**
 * Adds character set and collation to a text column. Without either it has those of the table; with a set alone, that
 * set's classic collation.
 */
export function withText(column: ParsedColumn, table: TextDefaults): TypedColumn {
  if (!TEXT_TYPE.test(column.type)) return { ...column, charset: null, collation: null };
  const named = column.collation === null ? null : plainCollation(column.collation);
  if (column.charset === null && named === null) return { ...column, ...table };
  const charset = column.charset === null ? named!.split('_')[0]! : plainCharset(column.charset);
  return { ...column, charset, collation: named ?? classicCollation(charset) };
}

/** Returns a character set by its name of today: older servers say `utf8` for utf8mb3. */
function plainCharset(name: string): string {
  return name === 'utf8' ? 'utf8mb3' : name;
}

function plainCollation(name: string): string {
  return name.startsWith('utf8_') ? `utf8mb3_${name.slice('utf8_'.length)}` : name;
}

function classicCollation(charset: string): string {
  return CLASSIC_COLLATIONS.get(charset) ?? `${charset}_general_ci`;
}
