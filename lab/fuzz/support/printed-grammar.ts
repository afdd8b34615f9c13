/*
 * What this system may ever execute to make a table, written down a second time and apart from what prints it: names of one table and
 * its columns, types, literals without anything but quotes, backslashes and NUL escaped, functions of their arguments alone.
 */
const NAME = '`[A-Za-z0-9_]{1,64}`';
const TEXT = String.raw`'(?:[^'\\\0]|\\['\\0])*'`;
const NUMBER = String.raw`-?\d{1,65}(?:\.\d{1,38})?(?:[eE][+-]?\d{1,3})?`;
const MOMENT = String.raw`current_timestamp\([0-6]?\)`;
const list = (item: string) => `${item}(?:, ${item})*`;

const SIZED = '(?:\\(\\d{1,5}(?:,\\d{1,2})?\\))?';
const NUMERIC = `(?:tinyint|smallint|mediumint|int|bigint|decimal|float|double)${SIZED}(?: unsigned)?(?: zerofill)?`;
const OTHER = `(?:bit|date|time|datetime|timestamp|year|char|varchar|binary|varbinary)${SIZED}`;
const LARGE = '(?:tiny|medium|long)?(?:text|blob)|uuid|inet4|inet6';
const MEMBERS = String.raw`(?:enum|set)\(${TEXT}(?:,${TEXT})*\)`;
const TYPE = `(?:${NUMERIC}|${OTHER}|${LARGE}|${MEMBERS})`;
const CHARSET = '(?: CHARACTER SET [a-z0-9]{1,64} COLLATE [a-z0-9_]{1,64})?';

const HARMLESS =
  'abs|binary|cast|ceiling|char_length|coalesce|concat|concat_ws|convert|crc32|floor|hex|if|ifnull|json_extract|json_unquote|json_value|lcase|left|length|lower|lpad|ltrim|md5|mod|nullif|octet_length|replace|reverse|right|round|rpad|rtrim|sha|sha1|sha2|substr|substring|substring_index|trim|truncate|ucase|unhex|upper';
const WORDS =
  'as|char|charset|character|set|binary|using|signed|unsigned|integer|int|decimal|date|datetime|time|collate|null|is|not|and|or|case|when|then|else|end|from|for|in|(?:utf8|utf8mb3|utf8mb4|latin1|ascii)(?:_[a-z0-9_]{1,48})?';
const OPERATORS = String.raw`<=>|<=|>=|<>|!=|\|\||&&|[-+*/%=<>]`;
/** No two pieces can be read as one, and no two signs stand together: they would make a comment. */
const PIECE = String.raw`(?:${NAME}|${TEXT}|\d+(?:\.\d+)?(?![\d.])|(?:${HARMLESS})\(|(?:${WORDS})(?![a-z0-9_])|(?:${OPERATORS})(?=[ (),])|[(),])`;
const EXPRESSION = `(?:${PIECE} ?)+`;

const VALUE = `(?:NULL|${NUMBER}|${TEXT}|b'[01]*'|x'(?:[0-9a-fA-F]{2})*'|${MOMENT})`;
const STORED_COLUMN = ` (?:NOT )?NULL(?: INVISIBLE)?(?: DEFAULT ${VALUE})?(?: AUTO_INCREMENT)?(?: ON UPDATE ${MOMENT})?(?: CHECK \\(json_valid\\(${NAME}\\)\\))?`;
const COLUMN = `${NAME} ${TYPE}${CHARSET}(?: GENERATED ALWAYS AS \\(${EXPRESSION}\\) (?:STORED|VIRTUAL)(?: INVISIBLE)?|${STORED_COLUMN})`;
const KEY = String.raw`(?:PRIMARY KEY|(?:UNIQUE |FULLTEXT )?KEY ${NAME}) \(${list(String.raw`${NAME}(?:\(\d{1,4}\))?(?: DESC)?`)}\)`;
const RULE = '(?:RESTRICT|CASCADE|SET NULL|NO ACTION)';
const REFERENCE = String.raw`CONSTRAINT ${NAME} FOREIGN KEY \(${list(NAME)}\) REFERENCES ${NAME} \(${list(NAME)}\) ON DELETE ${RULE} ON UPDATE ${RULE}`;

const ITEM = `(?:${COLUMN}|${KEY})`;
const GONE = `DROP (?:PRIMARY KEY|(?:FOREIGN KEY|KEY|COLUMN) ${NAME})`;
const CHANGE = `(?:ADD (?:${KEY}|${REFERENCE})|ADD COLUMN ${COLUMN} (?:FIRST|AFTER ${NAME})|MODIFY COLUMN ${COLUMN}|${GONE})`;
const OPTIONS =
  "ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci COMMENT='replicated by platform-node'";
const STATEMENT = new RegExp(
  String.raw`^(?:CREATE TABLE (${NAME}) \(\n  ${ITEM}(?:,\n  ${ITEM})*\n\) ${OPTIONS}|ALTER TABLE (${NAME}) ${list(CHANGE)})$`,
  'is'
);
const QUOTED = new RegExp(`${TEXT}|${NAME}`, 'gs');

/** Returns the part of a printed statement beyond the grammar that may be executed to make that table; null when there is none. */
export function beyondGrammar(table: string, statement: string): string | null {
  const [, made, changed] = STATEMENT.exec(statement) ?? [];
  if ((made ?? changed) !== `\`${table}\``) return `no part of the grammar: ${statement}`;
  // The grammar's texts and names hide nothing from these.
  const bare = statement.replaceAll(QUOTED, '');
  const [found] = /--|\/\*|\*\/|[#;@\\`'"?$\0]|[^\n\x20-\x7e]/.exec(bare) ?? [];
  if (found !== undefined) return `${JSON.stringify(found)} outside of quotes: ${statement}`;
  let depth = 0;
  for (const [bracket] of bare.matchAll(/[()]/g)) {
    depth += bracket === '(' ? 1 : -1;
    if (depth < 0) break;
  }
  return depth === 0 ? null : `unbalanced: ${statement}`;
}
