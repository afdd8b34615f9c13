/**
 * Rows as CSV with a line of names; a field that holds a sign of the form is quoted. A text that a spreadsheet would run as a
 * formula begins with an apostrophe.
 *
 * @see RFC 4180
 */
export function writeCsv(names: readonly string[], rows: readonly Readonly<Record<string, unknown>>[]): string {
  const lines = [names, ...rows.map((row) => names.map((name) => row[name]))];
  return lines.map((fields) => `${fields.map(writeField).join(',')}\r\n`).join('');
}

const FORMULA = /^[=+@\t\r-]/;
const NUMBER = /^[+-]?\d+(?:\.\d+)?$/;

function writeField(value: unknown): string {
  const told = value === null || value === undefined ? '' : String(value);
  const text = FORMULA.test(told) && !NUMBER.test(told) ? `'${told}` : told;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
