import type { LoadedConfig } from './load.ts';
import type { HubPlace, Variable, Variables } from './variables.ts';

/** Returns name, default and meaning of each variable. */
export function variableRows(variables: Variables): (readonly [name: string, state: string, doc: string])[] {
  return Object.entries(variables).map(([name, row]) => {
    const hasDefault = row.fallback !== undefined && !row.family;
    const state = row.required ? 'required' : hasDefault ? shown(row, row.fallback) : 'unset';
    return [name, state, row.hub ? `${row.doc} (hub: ${placeText(row.hub)})` : row.doc];
  });
}

const placeText = ({ service, params, beside, present }: HubPlace) =>
  present === undefined
    ? `${params.join(' or ')} of <prefix>-${service}${beside === undefined ? '' : `, if that also has ${beside}`}`
    : `${present}, if it names a <prefix>-${service}`;

/** Returns the table of variables for --help. */
export function helpTable(variables: Variables): string {
  const rows = variableRows(variables).map(
    ([name, state, doc]) => [name, ['required', 'unset'].includes(state) ? state : `default ${state}`, doc] as const
  );
  const width = (column: 0 | 1) => Math.max(0, ...rows.map((row) => row[column].length));
  return rows.map(([name, state, doc]) => `  ${name.padEnd(width(0))}  ${state.padEnd(width(1))}  ${doc}`).join('\n');
}

/** Returns the text of --check-config: every effective value, secrets masked, and its origin. */
export function describeConfig<V extends Variables>(variables: V, loaded: LoadedConfig<V>): string {
  const width = Math.max(...Object.keys(variables).map((name) => name.length));
  return Object.entries(variables)
    .map(([name, row]) => {
      const value = (loaded.values as Record<string, unknown>)[name];
      const text = value === undefined ? '(unset)' : row.secret ? '********' : shown(row, value);
      return `${name.padEnd(width)} = ${text}  (${loaded.origins[name]})`;
    })
    .join('\n');
}

function shown(row: Variable<unknown>, value: unknown): string {
  return row.show ? row.show(value) : printable(value);
}

function printable(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? '(none)' : value.map(printable).join(',');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
