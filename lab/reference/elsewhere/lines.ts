import type { DatabaseReport } from './check.ts';

/** Returns a report as lines: what was checked with its rows, what is wrong in it, and what could not be checked and why. */
export function linesOf({ dbType, checked, unchecked }: DatabaseReport, hasRoles: boolean): string[] {
  const wrong = checked.filter(({ faults }) => faults.length > 0);
  const lines = checked.flatMap(({ what, rows, faults }) => [
    `${faults.length === 0 ? 'right' : 'WRONG'} ${String(rows).padStart(9)} ${what}`,
    ...faults.map((fault) => `      ${fault}`)
  ]);
  const roles = 'names of well-known addresses in ledger hashes: without --profile each address stands for itself';
  const missing = [...unchecked, ...(dbType === 'indexer' && !hasRoles ? [roles] : [])];
  return [
    ...lines,
    ...missing.map((each) => `not checked: ${each}`),
    `a database of a compatible ${dbType}: ${checked.length} checks, ${wrong.length} with faults, ${missing.length} things not checked`
  ];
}
