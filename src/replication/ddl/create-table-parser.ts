import { PlatformError } from '../../errors.ts';
import { isTypedTable, type TypedForeignKey, type TypedKey, type TypedTable } from '../../wire/data/schema.ts';
import { parseColumn } from './column-definition.ts';
import { CreateTableTokens } from './create-table-tokens.ts';
import { parseConstraint, parseKey } from './key-definition.ts';
import { type ParsedColumn, type TextDefaults, textDefaults, withText } from './text-defaults.ts';

/** Options of a table that a replica does without: how its rows are stored, and remarks. */
const DROPPED_OPTIONS = new Set(
  `engine auto_increment avg_row_length checksum page_checksum comment delay_key_write key_block_size max_rows min_rows
   pack_keys row_format stats_auto_recalc stats_persistent stats_sample_pages table_checksum transactional compression
   page_compressed page_compression_level`.split(/\s+/)
);

interface Items {
  readonly columns: ParsedColumn[];
  readonly keys: TypedKey[];
  readonly foreignKeys: TypedForeignKey[];
}

/**
 * Reads a table's SHOW CREATE TABLE text, as MariaDB and MySQL print it. It is never executed: what comes of it goes through
 * the same checks as a typed description.
 *
 * @param expectedName what the text must call its table
 * @throws {PlatformError} SCHEMA_REFUSED naming table, part and reason
 */
export function parseCreateTable(expectedName: string, text: string): TypedTable {
  const tokens = new CreateTableTokens(text, (reason) => {
    const table = expectedName.slice(0, 80);
    throw new PlatformError('SCHEMA_REFUSED', {
      reason: `the definition of table ${table} is refused: ${reason}`,
      table
    });
  });
  if (!tokens.take('create') || !tokens.take('table')) tokens.refuse('it is no CREATE TABLE statement of a base table');
  const name = tokens.name();
  if (name !== expectedName) tokens.refuse(`it makes a table of another name, ${name}`);
  const items: Items = { columns: [], keys: [], foreignKeys: [] };
  tokens.expect('(');
  do parseItem(tokens, items);
  while (tokens.take(','));
  tokens.expect(')');
  const { engine, defaults } = parseOptions(tokens);
  const columns = items.columns.map((column) => withText(column, defaults));
  const table = { name, engine, columns, keys: items.keys, foreignKeys: items.foreignKeys };
  if (!isTypedTable(table)) tokens.refuse('it has more columns, keys or words than a table that is taken');
  return table;
}

function parseItem(tokens: CreateTableTokens, { columns, keys, foreignKeys }: Items): void {
  if (tokens.peek().kind === 'name') columns.push(parseColumn(tokens));
  else if (tokens.take('primary')) keys.push(parseKey(tokens, 'PRIMARY', true));
  else if (tokens.take('unique')) keys.push(parseKey(tokens, null, true));
  else if (tokens.take('fulltext')) keys.push(parseKey(tokens, null, false, 'FULLTEXT'));
  else if (tokens.take('spatial')) keys.push(parseKey(tokens, null, false, 'SPATIAL'));
  else if (tokens.peek().text === 'key') keys.push(parseKey(tokens, null, false));
  else if (tokens.take('constraint')) {
    const foreignKey = parseConstraint(tokens, tokens.name());
    if (foreignKey) foreignKeys.push(foreignKey);
  } else if (tokens.take('check')) tokens.parenthesized();
  else tokens.refuse(`${tokens.shown()} begins no column, key or constraint`);
}

/** Parses the options behind the closing parenthesis. */
function parseOptions(tokens: CreateTableTokens): { readonly engine: string; readonly defaults: TextDefaults } {
  let engine = '';
  let charset = 'utf8mb4';
  let collation: string | null = null;
  for (let token = tokens.peek(); token.kind !== 'end'; token = tokens.peek()) {
    tokens.take('default');
    const option = parseOption(tokens);
    tokens.take('=');
    if (option === 'charset') charset = tokens.word();
    else if (option === 'collate') collation = tokens.word();
    else {
      const value = tokens.next();
      if (value.kind === 'symbol' || value.kind === 'end') tokens.refuse(`option ${option} has no value`);
      if (option === 'engine') engine = value.source;
    }
  }
  return { engine, defaults: textDefaults(charset, collation) };
}

function parseOption(tokens: CreateTableTokens): string {
  const { kind, text } = tokens.next();
  if (text === 'character') {
    tokens.expect('set');
    return 'charset';
  }
  if (text === 'charset' || text === 'collate') return text;
  const known = (kind === 'word' || kind === 'name') && DROPPED_OPTIONS.has(text.toLowerCase());
  if (!known) tokens.refuse(`option ${text.slice(0, 40).toUpperCase()} is not allowed`);
  return text;
}
