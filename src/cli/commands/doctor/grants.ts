const GRANT = /^GRANT (.+?) ON (?:TABLE )?(`(?:[^`]|``)+`|\*)\.(`(?:[^`]|``)+`|\*) TO /;
/** Rights on single columns, which are not rights on a table. */
const OF_COLUMNS = /\w[\w ]* \([^)]*\),? ?/g;
const ALL = 'ALL PRIVILEGES';

/**
 * Returns which rights an account lacks.
 *
 * @param grants lines of SHOW GRANTS, those of the account's roles included
 * @param table a table of the database; null for all of its tables
 */
export function findLacking(
  grants: readonly string[],
  database: string,
  table: string | null,
  rights: readonly string[]
): readonly string[] {
  const given = grants.flatMap((line) => {
    const [, words = '', onDatabase = '', onTable = ''] = GRANT.exec(line) ?? [];
    const isHere = matches(onDatabase, database) && (onTable === '*' || unquoted(onTable) === table);
    return isHere ? words.replaceAll(OF_COLUMNS, '').split(', ') : [];
  });
  return given.includes(ALL) ? [] : rights.filter((right) => !given.includes(right));
}

/** Returns whether the pattern of a GRANT, in which `_` and `%` stand for any characters, fits a database. */
function matches(pattern: string, database: string): boolean {
  if (pattern === '*') return true;
  const source = unquoted(pattern).replaceAll(/\\?[\s\S]/g, (part) => {
    if (part === '%') return '.*';
    if (part === '_') return '.';
    return RegExp.escape(part.at(-1)!);
  });
  return new RegExp(`^${source}$`).test(database);
}

const unquoted = (name: string) => name.replace(/^`|`$/g, '').replaceAll('``', '`');
