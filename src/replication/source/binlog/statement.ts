/**
 * The effect of a statement on a table: its rows may have become others (`moved`), or their values may have (`altered`), as when a column
 * is dropped and added again.
 */
type Effect = 'moved' | 'altered';
/** The tables that a statement in the binary log may have changed; `all` where its text does not say. */
type StatementTables = ReadonlyMap<string, Effect> | 'all';
const NONE: StatementTables = new Map();

/** Statements that only begin, divide or end a transaction. */
const CONTROL =
  /^(BEGIN( WORK)?;?$|(COMMIT|ROLLBACK|START TRANSACTION|SAVEPOINT|RELEASE SAVEPOINT|XA (START|BEGIN|END))\b)/i;
/** Statements that change no row, or name every table whose rows they change. Whatever is not here may have changed any. */
const DEFINITION =
  /^(CREATE|ALTER|DROP|TRUNCATE|RENAME|OPTIMIZE|ANALYZE (LOCAL |NO_WRITE_TO_BINLOG )?TABLE|REPAIR|FLUSH|GRANT|REVOKE|SET (PASSWORD|ROLE|DEFAULT ROLE))\b/i;
/** A statement within its own settings. In settings with quotes, the end of them is not looked for. */
const WITH_SETTINGS = /^SET STATEMENT\b([^'"`]*?)\bFOR\b([\s\S]*)$/i;
/** Definitions that change rows otherwise than the new columns of a table say. */
const MOVES_ROWS =
  /^(TRUNCATE|RENAME|REPAIR|DROP (TEMPORARY )?TABLE|CREATE (OR REPLACE )(TEMPORARY )?TABLE|ALTER\b[\s\S]*\b(IGNORE|PARTITION|TABLESPACE|RENAME))\b/i;
/** Fills the table that it makes. In the row format, the log has such a statement without its query. */
const FILLS = /^CREATE (OR REPLACE )?(TEMPORARY )?TABLE\b[\s\S]*\b(SELECT|VALUES(?! ?(LESS|IN)))\b/i;
/** Drops every table without its name: the rows that come back stand in the log, and not those that do not. */
const DROPS_ALL = /^(DROP|CREATE OR REPLACE) (DATABASE|SCHEMA)\b/i;
/** The others that may change values of a table that looks the same afterwards. */
const ALTERS = /^ALTER\b/i;
const COMMENTS = /\/\*(?!M?!)[\s\S]*?\*\/|\/\*M?!\d*|\*\//g;
const WORDS = /`(?:[^`]|``)+`|[\p{L}\p{N}_$]+/gu;

/**
 * Finds the tables of one database that a statement of the binary log may have changed. It may name tables that did not change, and
 * leaves none out: a name counts wherever it stands in the text.
 *
 * @param schema default database of the statement's session
 * @param database the database whose tables count
 * @param tables its tables
 */
export function tablesOfStatement(
  text: string,
  schema: string,
  database: string,
  tables: Iterable<string>
): StatementTables {
  const whole = text.replace(COMMENTS, ' ').replace(/\s+/g, ' ').trim();
  const sql = WITH_SETTINGS.exec(whole)?.[2]?.trim() ?? whole;
  if (CONTROL.test(sql)) return NONE;
  // A statement with data instead of rows, of any database: what its triggers, views and functions wrote here stands nowhere.
  if (!DEFINITION.test(sql) || FILLS.test(sql)) return 'all';
  const words = new Set(Array.from(whole.matchAll(WORDS), ([word]) => plain(word)));
  if (schema !== database && !words.has(plain(database))) return NONE;
  if (DROPS_ALL.test(sql)) return words.has(plain(database)) ? 'all' : NONE;
  const effect = MOVES_ROWS.test(sql) ? 'moved' : 'altered';
  if (effect === 'altered' && !ALTERS.test(sql)) return NONE;
  const named = Array.from(tables).filter((name) => words.has(plain(name)));
  return new Map(named.map((name) => [name, effect]));
}

/** Returns a name without quotes and in lower case: some servers keep names so. */
function plain(word: string): string {
  return (word.startsWith('`') ? word.slice(1, -1).replaceAll('``', '`') : word).toLowerCase();
}
