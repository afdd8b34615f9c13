import type { CreateTableTokens } from './create-table-tokens.ts';
import type { ParsedColumn } from './text-defaults.ts';

type Draft = { -readonly [K in keyof ParsedColumn]: ParsedColumn[K] };

const MEMBER_TYPE = /^(enum|set)$/;

/** By word behind a column's type: reads the rest of the attribute; the word itself has been taken. */
const ATTRIBUTES: Readonly<Record<string, (tokens: CreateTableTokens, column: Draft) => void>> = {
  character: (tokens, column) => {
    tokens.expect('set');
    column.charset = tokens.word();
  },
  charset: (tokens, column) => {
    column.charset = tokens.word();
  },
  collate: (tokens, column) => {
    column.collation = tokens.word();
  },
  not: (tokens, column) => {
    tokens.expect('null');
    column.nullable = false;
  },
  null: () => undefined,
  default: (tokens, column) => {
    column.default = parseDefault(tokens, column.name);
  },
  on: (tokens, column) => {
    tokens.expect('update');
    column.onUpdate = parseMoment(tokens, tokens.word());
  },
  auto_increment: (_, column) => {
    column.autoIncrement = true;
  },
  generated: (tokens, column) => {
    tokens.expect('always');
    tokens.expect('as');
    column.generated = { expression: tokens.parenthesized(), stored: false };
  },
  as: (tokens, column) => {
    column.generated = { expression: tokens.parenthesized(), stored: false };
  },
  virtual: (tokens, column) => setStored(tokens, column, 'virtual'),
  stored: (tokens, column) => setStored(tokens, column, 'stored'),
  persistent: (tokens, column) => setStored(tokens, column, 'persistent'),
  invisible: (_, column) => {
    column.invisible = true;
  },
  comment: (tokens) => void tokens.quotedText(),
  check: (tokens, column) => {
    if (isJsonCheck(tokens.parenthesized(), column.name)) column.json = true;
  }
};

/** Parses one column, from its name to the comma or parenthesis behind it. @throws {PlatformError} SCHEMA_REFUSED */
export function parseColumn(tokens: CreateTableTokens): ParsedColumn {
  const name = tokens.name();
  const isJson = tokens.take('json');
  const column: Draft = {
    name,
    type: isJson ? 'longtext' : parseType(tokens),
    nullable: true,
    default: null,
    charset: isJson ? 'utf8mb4' : null,
    collation: isJson ? 'utf8mb4_bin' : null,
    autoIncrement: false,
    onUpdate: null,
    generated: null,
    json: isJson
  };
  for (let { text, kind } = tokens.peek(); text !== ',' && text !== ')'; { text, kind } = tokens.peek()) {
    if (kind !== 'word') tokens.refuse(`column ${name}: ${tokens.shown()} is not expected`);
    tokens.next();
    const attribute = Object.hasOwn(ATTRIBUTES, text) ? ATTRIBUTES[text] : undefined;
    if (!attribute) tokens.refuse(`column ${name}: ${text.slice(0, 40).toUpperCase()} is not allowed`);
    attribute(tokens, column);
  }
  return column;
}

/** Parses a type and returns it as information_schema writes it. */
function parseType(tokens: CreateTableTokens): string {
  let type = tokens.word();
  if (tokens.take('(')) {
    const parts: string[] = [];
    do parts.push(MEMBER_TYPE.test(type) ? tokens.quotedText() : tokens.number());
    while (tokens.take(','));
    tokens.expect(')');
    type += `(${parts.join(',')})`;
  }
  for (const attribute of ['unsigned', 'zerofill']) if (tokens.take(attribute)) type += ` ${attribute}`;
  return type;
}

function parseDefault(tokens: CreateTableTokens, column: string): string {
  const { kind, text } = tokens.peek();
  if (kind === 'text') return tokens.quotedText();
  if (kind === 'number' || text === '-') {
    const sign = tokens.take('-') ? '-' : '';
    return sign + tokens.number();
  }
  if (kind !== 'word') tokens.refuse(`column ${column}: its default is an expression`);
  tokens.next();
  if (text === 'null') return 'NULL';
  if ((text === 'b' || text === 'x') && tokens.peek().kind === 'text') return text + tokens.quotedText();
  return parseMoment(tokens, text);
}

function parseMoment(tokens: CreateTableTokens, word: string): string {
  if (word !== 'current_timestamp' && word !== 'now') tokens.refuse(`${word.slice(0, 40)} is not an allowed value`);
  if (!tokens.take('(')) return 'current_timestamp()';
  const digits = tokens.peek().kind === 'number' ? tokens.number() : '';
  tokens.expect(')');
  return `current_timestamp(${digits})`;
}

function setStored(tokens: CreateTableTokens, column: Draft, word: string): void {
  if (!column.generated) tokens.refuse(`column ${column.name}: ${word} of a column that is not generated`);
  column.generated = { ...column.generated, stored: word !== 'virtual' };
}

/** Returns whether a check is the column's own `json_valid`, the only one that means something to a writer. */
function isJsonCheck(expression: string, column: string): boolean {
  return expression.replaceAll(/\s/g, '').toLowerCase() === `json_valid(\`${column.toLowerCase()}\`)`;
}
