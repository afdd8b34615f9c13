import type { TypedForeignKey, TypedKey } from '../../wire/data/schema.ts';
import type { CreateTableTokens } from './create-table-tokens.ts';

/**
 * Parses one key, from the word KEY on.
 *
 * @param given its name where the text has none
 * @param kind BTREE unless the text names another one
 * @throws {PlatformError} SCHEMA_REFUSED
 */
export function parseKey(
  tokens: CreateTableTokens,
  given: 'PRIMARY' | null,
  unique: boolean,
  kind = 'BTREE'
): TypedKey {
  tokens.expect('key');
  const name = given ?? tokens.name();
  const key: TypedKey = { name, unique, kind, columns: parseKeyColumns(tokens, name) };
  for (;;) {
    if (tokens.take('using')) key.kind = tokens.word().toUpperCase();
    else if (tokens.take('comment')) tokens.quotedText();
    else if (tokens.take('ignored') || tokens.take('not'))
      continue; // by the optimizer, which is each server's own
    else if (tokens.take('key_block_size')) {
      tokens.take('=');
      tokens.number();
    } else return key;
  }
}

/**
 * Parses a named constraint, from behind its name on.
 *
 * @returns null for a check, which the source keeps
 * @throws {PlatformError} SCHEMA_REFUSED
 */
export function parseConstraint(tokens: CreateTableTokens, name: string): TypedForeignKey | null {
  if (tokens.take('check')) {
    tokens.parenthesized();
    return null;
  }
  tokens.expect('foreign');
  tokens.expect('key');
  const columns = parseNames(tokens);
  tokens.expect('references');
  const referencedTable = tokens.name();
  if (tokens.peek().text === '.') tokens.refuse(`foreign key ${name} refers to another database`);
  const foreignKey = { name, columns, referencedTable, referencedColumns: parseNames(tokens) };
  const rules = { onDelete: 'RESTRICT', onUpdate: 'RESTRICT' };
  while (tokens.take('on')) {
    const event = tokens.take('delete') ? 'onDelete' : 'onUpdate';
    if (event === 'onUpdate') tokens.expect('update');
    const first = tokens.word();
    rules[event] = (first === 'set' || first === 'no' ? `${first} ${tokens.word()}` : first).toUpperCase();
  }
  return { ...foreignKey, ...rules };
}

function parseKeyColumns(tokens: CreateTableTokens, key: string): TypedKey['columns'] {
  const columns: TypedKey['columns'] = [];
  tokens.expect('(');
  do {
    if (tokens.peek().kind !== 'name') tokens.refuse(`key ${key} is over an expression`);
    const name = tokens.name();
    let prefix: number | null = null;
    if (tokens.take('(')) {
      prefix = Number(tokens.number());
      tokens.expect(')');
    }
    const descending = tokens.take('desc');
    tokens.take('asc');
    columns.push({ name, prefix, descending });
  } while (tokens.take(','));
  tokens.expect(')');
  return columns;
}

function parseNames(tokens: CreateTableTokens): string[] {
  return parseKeyColumns(tokens, 'of a reference').map(({ name }) => name);
}
