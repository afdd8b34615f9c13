import type { TableVerdict, Verdict } from './compare.ts';
import type { RowDifference } from './differences.ts';

const LONGEST_VALUE = 120;

/** Returns a verdict as text: differences first, the result in the last line. */
export function renderVerdict({ equal, heights, part, tables, durationMs }: Verdict): string {
  const lines = [`heights: source ${heights.source ?? 'none'}, replica ${heights.replica ?? 'none'}`];
  if (part?.infraOnly) lines.push('the replica is infra-only: its ten tables are compared');
  if (part && part.floor !== null)
    lines.push(`the replica begins at block ${part.floor}: lower blocks are not compared`);
  for (const table of tables) for (const line of renderTable(table)) lines.push(line);
  const rows = tables.reduce((sum, table) => sum + (table.rows.source ?? 0), 0);
  const differing = tables.filter((table) => !table.equal).length;
  const summary = `${tables.length} tables, ${rows} rows, ${(durationMs / 1000).toFixed(1)} s`;
  if (equal) lines.push(`EQUAL: ${summary}`);
  else if (heights.source !== heights.replica)
    lines.push(`DIFFERENT: the heights differ, ${differing} tables differ; ${summary}`);
  else lines.push(`DIFFERENT: ${differing} tables differ; ${summary}`);
  return lines.join('\n');
}

function renderTable(verdict: TableVerdict): string[] {
  const { table, equal, asOf, ownIds, sameOrder, rows, schema, differences, more } = verdict;
  const apart = `${asOf ? ' (has a height of its own)' : ''}${ownIds ? ' (without its ids: see --ids)' : ''}`;
  const order = sameOrder ? '' : ', but in another order of ids';
  if (equal) return [`  equal      ${table}: ${rows.source} rows${order}${apart}`];
  const lines = [
    `  DIFFERENT  ${table}: source ${rows.source ?? 'no'} rows, replica ${rows.replica ?? 'no'} rows${apart}`
  ];
  for (const sentence of schema) lines.push(`      schema: ${sentence}`);
  for (const difference of differences) lines.push(`      ${renderRow(difference)}`);
  if (more) lines.push('      and more; see --limit');
  return lines;
}

function renderRow({ kind, key, columns, count }: RowDifference): string {
  const name = Object.entries(key)
    .map(([column, value]) => `${column}=${shortened(value)}`)
    .join(' ');
  if (kind !== 'changed') {
    const times = count !== undefined && count > 1 ? ` (${count} times)` : '';
    return `only in ${kind === 'onlyInSource' ? 'source' : 'replica'}${times}: ${name}`;
  }
  const changes = Object.entries(columns ?? {})
    .map(([column, { source, replica }]) => `${column}: source ${shortened(source)}, replica ${shortened(replica)}`)
    .join('; ');
  return `changed: ${name}: ${changes}`;
}

function shortened(value: string | null): string {
  if (value === null) return 'NULL';
  return value.length <= LONGEST_VALUE ? value : `${value.slice(0, LONGEST_VALUE)}… (${value.length} characters)`;
}
