/** Rows as CSV with a line of names; a field that holds a sign of the form is quoted. @see RFC 4180 */
export function writeCsv(names: readonly string[], rows: readonly Readonly<Record<string, unknown>>[]): string {
  const lines = [names, ...rows.map((row) => names.map((name) => row[name]))];
  return lines.map((fields) => `${fields.map(writeField).join(',')}\r\n`).join('');
}

function writeField(value: unknown): string {
  const text = value === null || value === undefined ? '' : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
