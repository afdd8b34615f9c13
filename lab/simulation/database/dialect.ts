/** MariaDB's statements as SQLite reads them: as far as a replica's writer, its marker, journal and log, the digests and a source's reader need it. */

const TEXT = /'(?:[^'\\]|\\.|'')*'/gs;
const TAG = /^\/\* platform .*? \*\/ /;
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', 0: '\0', b: '\b', Z: '\x1a' };

/** Value of `@platform_key`: no row here depends on it. */
export const SIMULATED_KEY = 'a5'.repeat(16);

/** NULL where any part is. */
const concatenation = (parts: string): string => `(${parts.split(/, (?![^(]*\))/).join(' || ')})`;

const RULES: readonly (readonly [RegExp, string | ((found: string, inside: string, second: string) => string)])[] = [
  [/information_schema\./gi, 'information_schema_'],
  [/<=>/g, 'IS'],
  [/\bBINARY (?=\w)/g, ''],
  [/\bIF\(/g, 'IIF('],
  [/\bFROM DUAL\b/g, ''],
  [/\bINSERT IGNORE\b/g, 'INSERT OR IGNORE'],
  [/CONVERT\(([\w.`]+) USING \w+\)/g, '$1'],
  [/\bCHAR_LENGTH\(/g, 'LENGTH('],
  [/\bAS DOUBLE\)/g, 'AS REAL)'],
  [/\bAS SIGNED\)/g, 'AS INTEGER)'],
  [/\bGREATEST\(/g, 'MAX('],
  [/\bLEAST\(/g, 'MIN('],
  [/\bAS CHAR\)/g, 'AS TEXT)'],
  [/\bDIV\b/g, '/'],
  [/\bCEIL\((\w+) \/ (\d+)\)/g, '(($1 + $2 - 1) / $2)'],
  [/\bCONCAT\(((?:[^()]|\([^()]*\))*)\)/g, (_, parts) => concatenation(parts)],
  [/@platform_key\b/g, `'${SIMULATED_KEY}'`],
  [
    /\bCAST\(CONV\(LEFT\(SHA2\((.*?), 256\), (8|16)\), 16, 10\) AS UNSIGNED\)/gs,
    (_, text, digits) => `${digits === '8' ? 'POSITION_OF' : 'WORD_OF'}(${text})`
  ],
  [/\bLEFT\(SHA2\((.*?), 256\), (3|8)\)/gs, 'POSITION_HEX($1, $2)'],
  [/\bUNHEX\(SHA2\((.*?), 256\)\)/gs, 'ROW_HASH($1)'],
  [/\bSUM\(WORD_OF\(/g, 'SUM_EXACTLY(WORD_OF('],
  [/^TRUNCATE (TABLE )?/, 'DELETE FROM '],
  [/^(START TRANSACTION|BEGIN).*$/, 'BEGIN'],
  [
    /^DELETE FROM (\S+) WHERE (.*) LIMIT (\d+)$/s,
    'DELETE FROM $1 WHERE rowid IN (SELECT rowid FROM $1 WHERE $2 LIMIT $3)'
  ]
];

const decode = (literal: string): string =>
  literal
    .slice(1, -1)
    .replace(/\\(.)|''/gs, (_, escaped: string | undefined) =>
      escaped === undefined ? "'" : (ESCAPES[escaped] ?? escaped)
    );

/** A statement without the comment that marks whose it is. */
export const withoutTag = (sql: string): string => sql.replace(TAG, '').trim();

/** The statements of one message. */
export function statementsOf(message: string): readonly string[] {
  if (!message.includes(';\n')) return [message];
  const texts: string[] = [];
  const skeleton = message.replace(TEXT, (literal) => `'${texts.push(literal) - 1}'`);
  return skeleton
    .split(';\n')
    .map((statement) => statement.replace(/'(\d+)'/g, (_, index: string) => texts[Number(index)]!));
}

/** @param sql without tag */
export function translate(sql: string): string {
  const texts: string[] = [];
  // Equal ones look equal: rules compare what stands in two places.
  const places = new Map<string, number>();
  let skeleton = sql.replace(TEXT, (literal) => {
    const place = places.get(literal) ?? texts.push(decode(literal)) - 1;
    places.set(literal, place);
    return `'${place}'`;
  });
  for (const [pattern, by] of RULES) skeleton = skeleton.replace(pattern, by as string);
  const [head, update] = skeleton.split('ON DUPLICATE KEY UPDATE');
  if (update !== undefined)
    skeleton = `${head}ON CONFLICT DO UPDATE SET${update.replace(/VALUES\((\w+)\)/g, 'excluded.$1')}`;
  return skeleton.replace(/'(\d+)'/g, (_, index: string) => `'${texts[Number(index)]!.replaceAll("'", "''")}'`);
}

/** One column or key of a CREATE TABLE. */
interface TableParts {
  readonly name: string;
  readonly columns: readonly {
    readonly name: string;
    readonly type: string;
    readonly isKey: boolean;
    readonly rest: string;
  }[];
  readonly keys: readonly string[];
}

/** The parts of a CREATE TABLE, at the commas outside brackets. */
export function readCreateTable(sql: string): TableParts {
  const [, name = '', body = ''] = /^CREATE TABLE (?:IF NOT EXISTS )?`?(\w+)`? \((.*)\)[^)]*$/s.exec(sql) ?? [];
  const parts = body.split(/,(?![^(]*\))/).map((part) => part.trim());
  const isKey = (part: string) => /^(PRIMARY|UNIQUE|KEY)\b/.test(part);
  const columns = parts
    .filter((part) => !isKey(part))
    .map((part) => {
      const [, column = '', type = '', rest = ''] =
        /^`?(\w+)`? (\w+(?:\([\d,]+\))?(?: unsigned)?) ?(.*)$/is.exec(part) ?? [];
      return { name: column, type, rest, isKey: /AUTO_INCREMENT/i.test(rest) };
    });
  return { name, columns, keys: parts.filter(isKey) };
}

/** The same table in SQLite: affinities, keys that are unique, and defaults that are plain. */
export function printCreateTable({ name, columns, keys }: TableParts): string {
  const dealt = columns.some(({ isKey }) => isKey);
  const printed = columns.map(({ name: column, type, rest, isKey }) => {
    if (isKey) return `${column} INTEGER PRIMARY KEY AUTOINCREMENT`;
    const affinity = /int/i.test(type) ? 'INTEGER' : 'TEXT';
    const isTimed = /CURRENT_TIMESTAMP/i.test(rest);
    const fixed = /NOT NULL/i.test(rest) && !isTimed ? ' NOT NULL' : '';
    const standard = isTimed ? '' : (/DEFAULT \S+/i.exec(rest)?.[0] ?? '');
    return `${column} ${affinity}${fixed} ${standard}${/PRIMARY KEY/i.test(rest) ? ' PRIMARY KEY' : ''}`;
  });
  const unique = keys.filter((key) => /^(UNIQUE|PRIMARY)/.test(key) && !(dealt && key.startsWith('PRIMARY')));
  const lines = [...printed, ...unique.map((key) => key.replace(/^UNIQUE KEY \S+/, 'UNIQUE'))];
  return `CREATE TABLE IF NOT EXISTS ${name} (${lines.join(', ')})`;
}
