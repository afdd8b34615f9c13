import { PlatformError } from '../../errors.ts';
import {
  IDENTIFIER_PATTERN,
  isTypedTable,
  type TypedColumn,
  type TypedForeignKey,
  type TypedKey,
  type TypedTable
} from '../../wire/schema.ts';
import { CreateTableTokens } from './create-table-tokens.ts';

const NAME = new RegExp(IDENTIFIER_PATTERN);
const TEXT_TYPE = /^(var)?char|^(tiny|medium|long)?text|^enum|^set/;
const MEMBER_TYPE = /^(enum|set)$/;

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

/** Options of a table that a replica does without: how its rows are stored, and remarks. */
const DROPPED_OPTIONS = new Set(
  `engine auto_increment avg_row_length checksum page_checksum comment delay_key_write key_block_size max_rows min_rows
   pack_keys row_format stats_auto_recalc stats_persistent stats_sample_pages table_checksum transactional compression
   page_compressed page_compression_level`.split(/\s+/)
);

interface TextDefaults {
  readonly charset: string;
  readonly collation: string;
}

/** A column before the table's own character set is known, which stands behind all columns. */
interface ParsedColumn extends Omit<TypedColumn, 'charset' | 'collation'> {
  readonly charset: string | null;
  readonly collation: string | null;
}

/**
 * Reads a table's SHOW CREATE TABLE text, as MariaDB and MySQL print it. It is never executed: what comes of it goes through
 * the same checks as a typed description.
 *
 * @param expectedName what the text must call its table
 * @throws {PlatformError} SCHEMA_REFUSED naming table, part and reason
 */
export function parseCreateTable(expectedName: string, text: string): TypedTable {
  return new Parser(expectedName, text).parse();
}

class Parser {
  readonly #table: string;
  readonly #tokens: CreateTableTokens;
  readonly #columns: ParsedColumn[] = [];
  readonly #keys: TypedKey[] = [];
  readonly #foreignKeys: TypedForeignKey[] = [];
  #engine = '';

  constructor(table: string, text: string) {
    this.#table = table;
    this.#tokens = new CreateTableTokens(text, (reason) => this.#refuse(reason));
  }

  parse(): TypedTable {
    const tokens = this.#tokens;
    if (!tokens.take('create') || !tokens.take('table'))
      this.#refuse('it is no CREATE TABLE statement of a base table');
    const name = this.#name();
    if (name !== this.#table) this.#refuse(`it makes a table of another name, ${name}`);
    tokens.expect('(');
    do this.#item();
    while (tokens.take(','));
    tokens.expect(')');
    const defaults = this.#options();
    const columns = this.#columns.map((column) => this.#withText(column, defaults));
    const table = { name, engine: this.#engine, columns, keys: this.#keys, foreignKeys: this.#foreignKeys };
    if (!isTypedTable(table)) this.#refuse('it has more columns, keys or words than a table that is taken');
    return table;
  }

  #refuse(reason: string): never {
    throw new PlatformError('SCHEMA_REFUSED', {
      reason: `the definition of table ${this.#table.slice(0, 80)} is refused: ${reason}`,
      table: this.#table.slice(0, 80)
    });
  }

  #name(): string {
    const name = this.#tokens.quotedName();
    if (!NAME.test(name))
      this.#refuse(`name ${JSON.stringify(name.slice(0, 80))} holds other characters than [A-Za-z0-9_]`);
    return name;
  }

  #item(): void {
    const tokens = this.#tokens;
    if (tokens.peek().kind === 'name') this.#columns.push(this.#column());
    else if (tokens.take('primary')) this.#key('PRIMARY', true, 'BTREE');
    else if (tokens.take('unique')) this.#key(null, true, 'BTREE');
    else if (tokens.take('fulltext')) this.#key(null, false, 'FULLTEXT');
    else if (tokens.take('spatial')) this.#key(null, false, 'SPATIAL');
    else if (tokens.peek().text === 'key') this.#key(null, false, 'BTREE');
    else if (tokens.take('constraint')) this.#constraint(this.#name());
    else if (tokens.take('check')) tokens.parenthesized();
    else this.#refuse(`${tokens.shown()} begins no column, key or constraint`);
  }

  #column(): ParsedColumn {
    const name = this.#name();
    const tokens = this.#tokens;
    const isJson = tokens.take('json');
    const column = {
      name,
      type: isJson ? 'longtext' : this.#type(),
      nullable: true,
      default: null as string | null,
      charset: isJson ? 'utf8mb4' : null,
      collation: isJson ? 'utf8mb4_bin' : null,
      autoIncrement: false,
      onUpdate: null as string | null,
      generated: null as TypedColumn['generated'],
      json: isJson
    } as { -readonly [K in keyof ParsedColumn]: ParsedColumn[K] };
    for (let { text, kind } = tokens.peek(); text !== ',' && text !== ')'; { text, kind } = tokens.peek()) {
      if (kind !== 'word') this.#refuse(`column ${name}: ${tokens.shown()} is not expected`);
      tokens.next();
      switch (text) {
        case 'character':
          tokens.expect('set');
          column.charset = this.#word();
          break;
        case 'charset':
          column.charset = this.#word();
          break;
        case 'collate':
          column.collation = this.#word();
          break;
        case 'not':
          tokens.expect('null');
          column.nullable = false;
          break;
        case 'null':
          break;
        case 'default':
          column.default = this.#default(name);
          break;
        case 'on':
          tokens.expect('update');
          column.onUpdate = this.#moment(this.#word());
          break;
        case 'auto_increment':
          column.autoIncrement = true;
          break;
        case 'generated':
          tokens.expect('always');
          tokens.expect('as');
          column.generated = { expression: tokens.parenthesized(), stored: false };
          break;
        case 'as':
          column.generated = { expression: tokens.parenthesized(), stored: false };
          break;
        case 'virtual':
        case 'stored':
        case 'persistent':
          if (!column.generated) this.#refuse(`column ${name}: ${text} of a column that is not generated`);
          column.generated = { ...column.generated, stored: text !== 'virtual' };
          break;
        case 'comment':
          tokens.quotedText();
          break;
        case 'check':
          if (isJsonCheck(tokens.parenthesized(), name)) column.json = true;
          break;
        default:
          this.#refuse(`column ${name}: ${text.slice(0, 40).toUpperCase()} is not allowed`);
      }
    }
    return column;
  }

  /** As information_schema writes it. */
  #type(): string {
    const tokens = this.#tokens;
    let type = this.#word();
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

  #default(column: string): string {
    const tokens = this.#tokens;
    const { kind, text } = tokens.peek();
    if (kind === 'text') return tokens.quotedText();
    if (kind === 'number' || text === '-') {
      const sign = tokens.take('-') ? '-' : '';
      return sign + tokens.number();
    }
    if (kind !== 'word') this.#refuse(`column ${column}: its default is an expression`);
    tokens.next();
    if (text === 'null') return 'NULL';
    if ((text === 'b' || text === 'x') && tokens.peek().kind === 'text') return text + tokens.quotedText();
    return this.#moment(text);
  }

  #moment(word: string): string {
    if (word !== 'current_timestamp' && word !== 'now') this.#refuse(`${word.slice(0, 40)} is not an allowed value`);
    if (!this.#tokens.take('(')) return 'current_timestamp()';
    const digits = this.#tokens.peek().kind === 'number' ? this.#tokens.number() : '';
    this.#tokens.expect(')');
    return `current_timestamp(${digits})`;
  }

  #key(given: 'PRIMARY' | null, unique: boolean, kind: string): void {
    const tokens = this.#tokens;
    tokens.expect('key');
    const name = given ?? this.#name();
    const key: TypedKey = { name, unique, kind, columns: this.#keyColumns(name) };
    for (;;) {
      if (tokens.take('using')) key.kind = this.#word().toUpperCase();
      else if (tokens.take('comment')) tokens.quotedText();
      else if (tokens.take('key_block_size')) {
        tokens.take('=');
        tokens.number();
      } else break;
    }
    this.#keys.push(key);
  }

  #keyColumns(key: string): TypedKey['columns'] {
    const tokens = this.#tokens;
    const columns: TypedKey['columns'] = [];
    tokens.expect('(');
    do {
      if (tokens.peek().kind !== 'name') this.#refuse(`key ${key} is over an expression`);
      const name = this.#name();
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

  #constraint(name: string): void {
    const tokens = this.#tokens;
    if (tokens.take('check')) {
      tokens.parenthesized();
      return;
    }
    tokens.expect('foreign');
    tokens.expect('key');
    const columns = this.#names();
    tokens.expect('references');
    const referencedTable = this.#name();
    if (tokens.peek().text === '.') this.#refuse(`foreign key ${name} refers to another database`);
    const foreignKey = { name, columns, referencedTable, referencedColumns: this.#names() };
    const rules = { onDelete: 'RESTRICT', onUpdate: 'RESTRICT' };
    while (tokens.take('on')) {
      const event = tokens.take('delete') ? 'onDelete' : 'onUpdate';
      if (event === 'onUpdate') tokens.expect('update');
      const first = this.#word();
      rules[event] = (first === 'set' || first === 'no' ? `${first} ${this.#word()}` : first).toUpperCase();
    }
    this.#foreignKeys.push({ ...foreignKey, ...rules });
  }

  #names(): string[] {
    return this.#keyColumns('of a reference').map(({ name }) => name);
  }

  #word(): string {
    const { kind, text } = this.#tokens.peek();
    if (kind !== 'word') this.#refuse(`${this.#tokens.shown()} stands where a word is expected`);
    this.#tokens.next();
    return text;
  }

  /** What stands behind the closing parenthesis. */
  #options(): TextDefaults {
    const tokens = this.#tokens;
    let charset = 'utf8mb4';
    let collation: string | null = null;
    for (let token = tokens.peek(); token.kind !== 'end'; token = tokens.peek()) {
      tokens.take('default');
      const option = this.#option();
      tokens.take('=');
      if (option === 'charset') charset = plainCharset(this.#word());
      else if (option === 'collate') collation = plainCollation(this.#word());
      else {
        const value = tokens.next();
        if (value.kind === 'symbol' || value.kind === 'end') this.#refuse(`option ${option} has no value`);
        if (option === 'engine') this.#engine = value.source;
      }
    }
    return { charset, collation: collation ?? classicCollation(charset) };
  }

  #option(): string {
    const { kind, text } = this.#tokens.next();
    if (text === 'character') {
      this.#tokens.expect('set');
      return 'charset';
    }
    if (text === 'charset' || text === 'collate') return text;
    const known = (kind === 'word' || kind === 'name') && DROPPED_OPTIONS.has(text.toLowerCase());
    if (!known) this.#refuse(`option ${text.slice(0, 40).toUpperCase()} is not allowed`);
    return text;
  }

  /** Text that says nothing has the table's character set; one that names only its set has that set's classic collation. */
  #withText(column: ParsedColumn, table: TextDefaults): TypedColumn {
    if (!TEXT_TYPE.test(column.type)) return { ...column, charset: null, collation: null };
    const named = column.collation === null ? null : plainCollation(column.collation);
    if (column.charset === null && named === null) return { ...column, ...table };
    const charset = column.charset === null ? named!.split('_')[0]! : plainCharset(column.charset);
    return { ...column, charset, collation: named ?? classicCollation(charset) };
  }
}

/** The one check that means something to a writer: the column's own `json_valid`. */
function isJsonCheck(expression: string, column: string): boolean {
  return expression.replaceAll(/\s/g, '').toLowerCase() === `json_valid(\`${column.toLowerCase()}\`)`;
}

/** `utf8` is what older servers call utf8mb3. */
function plainCharset(name: string): string {
  return name === 'utf8' ? 'utf8mb3' : name;
}

function plainCollation(name: string): string {
  return name.startsWith('utf8_') ? `utf8mb3_${name.slice('utf8_'.length)}` : name;
}

function classicCollation(charset: string): string {
  return CLASSIC_COLLATIONS.get(charset) ?? `${charset}_general_ci`;
}
