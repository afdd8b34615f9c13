import { toBaseUnits } from '../../../src/coin/amount.ts';
import { formatAmount, parseAmount } from '../../../src/consensus/amount.ts';
import { MEDIAN_BLOCKS, medianTime } from '../../../src/consensus/median-time.ts';
import type { DatabaseReader, ReadAction } from './database-reader.ts';
import type { ExampleLedger } from './example-ledger.ts';
import { Names } from './names.ts';
import type { RawBlock } from './raw-chain.ts';
import type { Check, Example, Step } from './read.ts';
import { signedText } from './signed.ts';
import { columnSql } from './tables.ts';

/** Actions that no transaction makes and that follow at once from the one before them. */
const CONSEQUENCES = new Set(['ORDER_MATCH', 'SWAP_MATCH', 'DISPENSE', 'DISPENSER_CLOSE', 'ISSUE']);

interface Placed<T> {
  readonly example: Example;
  readonly names: Names;
  readonly line: T;
}

/** Runs examples side by side on one ledger: what they have in one block, they have in the same block. */
export class ExampleRun {
  /** Differences from an example. */
  readonly faults = new Map<Example, string[]>();
  readonly #ledger: ExampleLedger;
  readonly #reader: DatabaseReader;
  readonly #timeAt: (height: number) => number;
  readonly #steps = new Map<number, Placed<Step>[]>();
  readonly #checks = new Map<number, Placed<Check>[]>();

  constructor(
    ledger: ExampleLedger,
    reader: DatabaseReader,
    timeAt: (height: number) => number,
    examples: readonly Example[]
  ) {
    this.#ledger = ledger;
    this.#reader = reader;
    this.#timeAt = timeAt;
    for (const [place, example] of examples.entries()) {
      const names = new Names(place + 1, ledger.network.addresses);
      for (const line of example.lines) {
        if (line.kind === 'step') placeAt(this.#steps, { example, names, line });
        else placeAt(this.#checks, { example, names, line });
      }
    }
  }

  /** Carries out every block in which an example has something. */
  async run(): Promise<void> {
    const heights = new Set([...this.#steps.keys(), ...this.#checks.keys()]);
    for (const height of [...heights].toSorted((one, other) => one - other)) {
      const { length } = this.#ledger.chain.blocks;
      const between = Array.from({ length: height - length }, (_, place) => this.#timeAt(length + place));
      if (between.length > 0) await this.#ledger.addEmpty(between);
      const placed = this.#steps.get(height) ?? [];
      const steps = [];
      for (const step of placed) steps.push(await this.#rawStep(step));
      const block = await this.#ledger.add(this.#timeAt(height), steps);
      if (placed.length > 0) await this.#judge(placed, block, await this.#reader.actionsOf(height));
      await this.#check(height);
    }
  }

  /** Takes blocks back down to a height, where every check of that height must hold again. */
  async rewind(height: number): Promise<void> {
    await this.#ledger.rewind(height, () => this.#check(height));
  }

  /** The height that most checks stand at among those between two. */
  busiest(from: number, to: number): number {
    const within = [...this.#checks].filter(([height]) => height >= from && height < to);
    return within.toSorted(([, one], [, other]) => other.length - one.length)[0]?.[0] ?? from;
  }

  async #rawStep({ line, names, example }: Placed<Step>) {
    try {
      const text = await this.#fill(names.write(line.text), names);
      return {
        script: names.party(line.source).script,
        text,
        pays: line.pays.map(({ to, coins }) => ({ script: names.party(to).script, amount: toBaseUnits(coins) }))
      };
    } catch (caught) {
      throw new Error(`${example.file}:${line.line} ${(caught as Error).message}`);
    }
  }

  async #judge(placed: readonly Placed<Step>[], block: RawBlock, actions: readonly ReadAction[]): Promise<void> {
    for (const [place, one] of placed.entries()) {
      const { line, names } = one;
      const own = actionsOf(actions, block.txids[place]!);
      for (const [at, label] of line.labels.entries()) if (own[at]) names.labels.set(label, own[at].index);
      const verdicts = own.flatMap((action, at) => {
        const isSaid = at === 0 || line.text.toUpperCase().includes(action.name);
        const shown = action.verdicts.length === 0 ? ['no row'] : action.verdicts;
        return shown.map((verdict) => names.read(isSaid ? verdict : `${action.name} ${verdict}`));
      });
      const found = verdicts.length === 0 ? 'none' : verdicts.join(' / ');
      const wanted = line.now ?? line.verdicts;
      const expected = wanted === null ? null : await this.#fill(wanted, names);
      const isRight = expected === null ? verdicts.length > 0 && allValid(verdicts) : found === expected;
      if (!isRight) this.#fault(one, `says ${expected ?? 'valid'}, is ${found}: ${line.text}`);
    }
  }

  async #check(height: number): Promise<void> {
    for (const placed of this.#checks.get(height) ?? []) {
      const { line, names } = placed;
      const wanted = line.now ?? line.expected;
      const expected = await this.#fill(wanted, names).catch(() => wanted);
      const found = await this.#answer(placed, expected).catch((caught: Error) => caught.message);
      if (found !== null) this.#fault(placed, `after block ${height}, ${line.subject} is ${found}, not ${expected}`);
    }
  }

  /** Returns the answer to a check if it is not the expected one. */
  async #answer({ line, names }: Placed<Check>, expected: string): Promise<string | null> {
    const [table = '', how, ...rest] = line.subject.split(' ');
    if (how === undefined) return await this.#holdings(await this.#fill(names.write(table), names), names, expected);
    const key = rest.join(' ');
    const conditions = how === 'of' ? [keyOf(key)] : key.split(', ').map((one) => splitAt(one, '='));
    const where = conditions.map(([column]) => `${this.#conditionOf(table, column)} = ?`).join(' AND ');
    const values = [];
    for (const [, value] of conditions) {
      const label = names.labels.get(value);
      values.push(label === undefined ? await this.#fill(names.write(value), names) : String(label));
    }
    if (expected === 'none') {
      const { length } = await this.#reader.rowsOf(table, [], where, values);
      return length === 0 ? null : `${length} rows`;
    }
    const wanted = expected.split(' | ').map((row) => row.split(', ').map((part) => splitAt(part, '=')));
    const columns = wanted[0]!.map(([name]) => name);
    const whole = columns.map((name) => this.#reader.column(table, name));
    const found = (await this.#reader.rowsOf(table, whole, where, values)).map((row) =>
      row.map((value, place) => `${columns[place]}=${names.read(value)}`).join(', ')
    );
    const shown = wanted.map((row) => row.map(([name, value]) => `${name}=${value}`).join(', '));
    return shown.toSorted().join(' | ') === found.toSorted().join(' | ') ? null : found.join(' | ') || 'none';
  }

  #conditionOf(table: string, column: string): string {
    return columnSql(table, this.#reader.column(table, column));
  }

  async #holdings(tick: string, names: Names, expected: string): Promise<string | null> {
    const query = async (sql: string) => await this.#reader.query(sql, [tick]);
    const id = '(SELECT id FROM index_tickers WHERE tick = ?)';
    const balances = await query(
      `SELECT a.address, b.amount FROM balances b JOIN index_addresses a ON a.id = b.address_id WHERE b.tick_id = ${id}`
    );
    const escrows = await query(`SELECT amount FROM escrows WHERE tick_id = ${id}`);
    const [token] = await query(`SELECT supply FROM tokens WHERE tick_id = ${id}`);
    const sum = (all: readonly Record<string, unknown>[]) =>
      all.reduce((total, row) => total + read(row['amount']), 0n);
    const escrow = sum(escrows);
    const supply = token ? read(token['supply']) : 0n;
    if (supply !== sum(balances) + escrow) return `a supply of ${formatAmount(supply)} that nobody has`;
    const holders = balances.map(({ address, amount }) => `${names.read(String(address))} ${amount}`).toSorted();
    const held = holders.join(', ') || (token ? 'nobody' : 'no token');
    const found = escrow === 0n ? held : `${held}; escrow ${formatAmount(escrow)}`;
    return found === expected ? null : found;
  }

  /** A text with its places in braces filled in. @see test/examples/FORMAT */
  async #fill(text: string, names: Names): Promise<string> {
    let filled = text;
    for (const [whole, inner = ''] of text.matchAll(/\{([^{}]+)\}/g)) {
      filled = filled.replace(whole, () => '\0');
      const value = await this.#valueOf(inner, names);
      filled = filled.replace('\0', () => value);
    }
    return filled;
  }

  async #valueOf(inner: string, names: Names): Promise<string> {
    const [, repeated, count] = /^(.+)\*(\d+)$/.exec(inner) ?? [];
    if (repeated !== undefined) return repeated.repeat(Number(count));
    const [, height, more = '0'] = /^time (\d+)(?: ?\+ ?(\d+))?$/.exec(inner) ?? [];
    if (height !== undefined) return String(this.#medianAt(Number(height)) + Number(more));
    if (inner.startsWith('key ')) return names.key(inner.slice(4));
    const signed = signedText(inner, (block) => this.#medianAt(block));
    if (signed !== undefined) return signed;
    if (inner.startsWith('^')) return `^${await this.#idOf(names.write(inner.slice(1)))}`;
    const [, label = '', offset = '0'] = /^([a-z0-9]+)(?:\+(\d+))?$/.exec(inner) ?? [];
    const index = names.labels.get(label);
    if (index === undefined) throw new Error(`nothing is called ${inner}`);
    return String(index + Number(offset));
  }

  /** The time that rules go by in a block. */
  #medianAt(height: number): number {
    return medianTime(Array.from({ length: MEDIAN_BLOCKS }, (_, back) => this.#timeAt(height - back)).reverse());
  }

  async #idOf(name: string): Promise<unknown> {
    for (const [table, column] of [
      ['index_tickers', 'tick'],
      ['index_addresses', 'address']
    ]) {
      const [row] = await this.#reader.query(`SELECT id FROM ${table} WHERE ${column} = ?`, [name]);
      if (row) return row['id'];
    }
    throw new Error(`${name} has no id`);
  }

  #fault({ example, line }: Placed<Step | Check>, text: string): void {
    this.faults.set(example, [...(this.faults.get(example) ?? []), `${example.file}:${line.line} ${text}`]);
  }
}

/** Releases have amounts below zero. */
function read(amount: unknown): bigint {
  const text = String(amount);
  return text.startsWith('-') ? -parseAmount(text.slice(1))! : parseAmount(text)!;
}

const GOOD = new Set(['valid', 'open', 'pending_coinpay']);
const allValid = (verdicts: readonly string[]) => verdicts.every((verdict) => GOOD.has(verdict.split(' ').at(-1)!));

/** A row is named by its action, or by its token. */
function keyOf(key: string): [column: string, value: string] {
  if (/^[a-z0-9]+$/.test(key)) return ['action_index', key];
  return ['tick', key];
}

function splitAt(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return [text.slice(0, at), text.slice(at + mark.length)];
}

/** The actions of a transaction, with those that followed from them at once. */
function actionsOf(actions: readonly ReadAction[], txid: string): ReadAction[] {
  let isOwn = false;
  return actions.filter(({ name, txid: made, verdicts }) => {
    if (made !== undefined) isOwn = made === txid;
    else if (!CONSEQUENCES.has(name) || (name === 'DISPENSER_CLOSE' && verdicts.includes('cancelled'))) isOwn = false;
    return isOwn;
  });
}

function placeAt<T extends Step | Check>(all: Map<number, Placed<T>[]>, placed: Placed<T>): void {
  const { height } = placed.line;
  all.set(height, [...(all.get(height) ?? []), placed]);
}
