/** Returns a text table. Columns are as wide as their widest cell and two spaces apart. */
export function textTable(lines: readonly (readonly string[])[]): string {
  const widths = lines[0]!.map((_, column) => lines.reduce((most, line) => Math.max(most, line[column]!.length), 0));
  const padded = lines.map((line) => line.map((cell, column) => cell.padEnd(widths[column]!)).join('  '));
  return padded.map((line) => line.trimEnd()).join('\n');
}
