import { writeFileSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';

/** A measurement beside its reference, in the same run. */
export interface Figure {
  readonly what: string;
  readonly measured: number;
  readonly reference: number;
  readonly unit: string;
  /** `times` compares by a ratio, `above` by the difference. */
  readonly compare: 'times' | 'above';
  /** The largest ratio or difference that will do. */
  readonly most: number;
  readonly aim: number;
}

const MISSED = 'NO';
const NUMBER = new Intl.NumberFormat('en', { maximumFractionDigits: 2, maximumSignificantDigits: 4 });

/** The middle one of an odd number of values. */
export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** The value that 99 of 100 do not exceed. */
export function p99(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.ceil(values.length * 0.99) - 1] ?? Number.NaN;
}

/**
 * Both sides of a ratio by turns, so that whatever else the machine does meets both.
 *
 * @param statistic of each side's runs; default: their median
 */
export async function alternate(
  runs: number,
  measured: () => Promise<number>,
  reference: () => Promise<number>,
  statistic: (values: readonly number[]) => number = median
): Promise<{ readonly measured: number; readonly reference: number }> {
  const [measuredRuns, referenceRuns]: [number[], number[]] = [[], []];
  for (let run = 0; run < runs; run++) {
    referenceRuns.push(await reference());
    measuredRuns.push(await measured());
  }
  return { measured: statistic(measuredRuns), reference: statistic(referenceRuns) };
}

/** Prints the figures as a table and writes them as JSON; a missed must ends the program with exit code 1. @param jsonFile default: below the system's temporary directory */
export function report(name: string, figures: readonly Figure[], jsonFile?: string): void {
  const rows = figures.map(({ what, measured, reference, unit, compare, most, aim }) => {
    const times = compare === 'times';
    const value = times ? measured / reference : measured - reference;
    const print = (number: number) => (times ? `${NUMBER.format(number)}x` : `+${NUMBER.format(number)} ${unit}`);
    const verdict = value <= aim ? 'aim' : value <= most ? 'yes' : MISSED;
    return [
      what,
      `${NUMBER.format(measured)} ${unit}`,
      `${NUMBER.format(reference)} ${unit}`,
      print(value),
      print(most),
      print(aim),
      verdict
    ];
  });
  const head = ['what', 'measured', 'reference', 'result', 'must', 'aim', 'reached'];
  console.log(`| ${head.join(' | ')} |\n|${head.map(() => '---').join('|')}|`);
  for (const row of rows) console.log(`| ${row.join(' | ')} |`);
  if (rows.some((row) => row.at(-1) === MISSED)) process.exitCode = 1;
  const file = jsonFile ?? join(tmpdir(), `platform-bench-${name}.json`);
  const machine = { cores: availableParallelism(), load: loadavg()[0] };
  writeFileSync(file, `${JSON.stringify({ bench: name, at: new Date().toISOString(), machine, figures }, null, 2)}\n`);
  console.log(`written to ${file}`);
}
