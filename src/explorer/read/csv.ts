/**
 * Writes rows as CSV with a line of names; a field that holds a sign of the form, in any locale, is quoted. A text that
 * a spreadsheet would run as a formula begins with an apostrophe.
 *
 * @see RFC 4180
 */
export function writeCsv(names: readonly string[], rows: readonly Readonly<Record<string, unknown>>[]): string {
  const lines = [names, ...rows.map((row) => names.map((name) => row[name]))];
  return lines.map((fields) => `${fields.map(writeField).join(',')}\r\n`).join('');
}

/** Characters that may precede a formula: white space, invisible marks, and quotes. */
const UNSEEN = /^[\p{White_Space}\p{C}\p{M}"']+/u;
/** Signs that begin a formula; wide, small and raised forms of them are made plain before. */
const FORMULA = /^[=+@\u2212-]/;
/** Characters after which a cell may begin within a text: some locales separate by semicolons or tabs. */
const BREAKS = /([;\t\r\n])/;
const NUMBER = /^[+-]?\d+(?:\.\d+)?$/;

function guard(cell: string): string {
  if (NUMBER.test(cell)) return cell;
  return FORMULA.test(cell.replace(UNSEEN, '').normalize('NFKC')) ? `'${cell}` : cell;
}

function writeField(value: unknown): string {
  const fieldText = value === null || value === undefined ? '' : String(value);
  const text = fieldText.split(BREAKS).map(guard).join('');
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
