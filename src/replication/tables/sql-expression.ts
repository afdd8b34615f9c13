import { quoteName } from '../../db/connection.ts';
import { quoteText } from '../../db/sql-literal.ts';
import { MAX_EXPRESSION } from '../../wire/data/schema.ts';

/** Functions that a generated column may use: deterministic, of their arguments alone. */
const FUNCTIONS = new Set(
  `abs binary cast ceiling char_length coalesce concat concat_ws convert crc32 floor hex if ifnull json_extract json_unquote
   json_value lcase left length lower lpad ltrim md5 mod nullif octet_length replace reverse right round rpad rtrim sha sha1
   sha2 substr substring substring_index trim truncate ucase unhex upper`.split(/\s+/)
);

/** Words that may stand without parentheses: types of CAST, names of character sets and collations, CASE. */
const WORDS =
  /^(as|char|charset|character|set|binary|using|signed|unsigned|integer|int|decimal|date|datetime|time|collate|null|is|not|and|or|case|when|then|else|end|from|for|in|utf8|utf8mb3|utf8mb4|latin1|ascii|(utf8|utf8mb3|utf8mb4|latin1|ascii)_[a-z0-9_]{1,48})$/;

const TOKEN =
  /\s+|`((?:[^`]|``)*)`|'((?:[^'\\]|''|\\.)*)'|(\d+(?:\.\d+)?)|([A-Za-z_][A-Za-z0-9_]*)|(<=>|<=|>=|<>|!=|\|\||&&|[-+*/%=<>(),])/suy;

/** Character for each letter behind a backslash; before a wildcard of LIKE the backslash stays. */
const UNESCAPED: Readonly<Record<string, string>> = {
  '0': '\0',
  n: '\n',
  r: '\r',
  t: '\t',
  b: '\b',
  Z: '\x1a',
  '%': '\\%',
  _: '\\_'
};

/** Returns the text that a quoted SQL literal's inside stands for. */
export function unescapeText(inside: string): string {
  return inside.replace(/''|\\(.)/gsu, (found, escaped: string | undefined) =>
    found === "''" ? "'" : (UNESCAPED[escaped!] ?? escaped!)
  );
}

/**
 * Prints the expression of a generated column anew from its tokens.
 *
 * @param columns the names that it may refer to; null: any
 * @returns the expression, or null when it is too long, or holds anything but one column, literals, known functions and operators
 */
export function reprintExpression(expression: string, columns: ReadonlySet<string> | null): string | null {
  const printed: string[] = [];
  const referred = new Set<string>();
  let depth = 0;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < expression.length) {
    const [found, name, text, number, word, symbol] = TOKEN.exec(expression) ?? [];
    if (found === undefined) return null;
    if (name !== undefined) {
      if (columns && !columns.has(name)) return null;
      referred.add(name);
      printed.push(quoteName(name));
    } else if (text !== undefined) printed.push(quoteText(unescapeText(text)));
    else if (number !== undefined) printed.push(number);
    else if (word !== undefined) {
      const lower = word.toLowerCase();
      const called = expression[TOKEN.lastIndex] === '(';
      if (!(called && FUNCTIONS.has(lower)) && !WORDS.test(lower)) return null;
      printed.push(lower);
      if (called) {
        printed.push('(');
        TOKEN.lastIndex++;
        depth++;
      }
    } else if (symbol !== undefined) {
      if (symbol === '(') depth++;
      else if (symbol === ')' && --depth < 0) return null;
      printed.push(symbol);
    }
  }
  if (depth !== 0 || referred.size !== 1) return null;
  const whole = joinTokens(printed);
  return whole.length <= MAX_EXPRESSION ? whole : null;
}

/** Joins tokens. An opening parenthesis follows its function at once: MariaDB takes `name (` for no function call. */
function joinTokens(tokens: readonly string[]): string {
  return tokens
    .map((token, at) => (at === 0 || tokens[at - 1] === '(' || /^[(),]$/.test(token) ? token : ` ${token}`))
    .join('');
}

const MOMENT = /^(current_timestamp|now)\(([0-6]?)\)$/i;

/** Prints `current_timestamp(n)` anew; null for another text. */
export function reprintMoment(text: string): string | null {
  const [, , digits = ''] = MOMENT.exec(text === 'current_timestamp' ? 'current_timestamp()' : text) ?? [];
  return MOMENT.test(text) || text === 'current_timestamp' ? `current_timestamp(${digits})` : null;
}

/** Prints a column's default anew: NULL, a number, a quoted text, `b'…'`, `x'…'`, `current_timestamp(n)`; else null. */
export function reprintDefault(text: string): string | null {
  if (/^null$/i.test(text)) return 'NULL';
  if (/^-?\d{1,65}(\.\d{1,38})?(e[+-]?\d{1,3})?$/i.test(text)) return text;
  if (/^(b'[01]{0,64}'|x'([0-9a-f]{2}){0,255}')$/i.test(text)) return text;
  const [, inside] = /^'((?:[^'\\]|''|\\.)*)'$/su.exec(text) ?? [];
  if (inside !== undefined) return quoteText(unescapeText(inside));
  return reprintMoment(text);
}
