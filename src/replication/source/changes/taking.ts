import { quoteName, type SqlRow, type Statements } from '../../../db/connection.ts';
import { BINARY_KEY } from '../../../db/raw-text.ts';
import { inCharset } from '../../../db/sql-literal.ts';
import { within } from '../../../db/within.ts';
import type { DbType } from '../../../wire/data/database.ts';
import type { TablePlan } from '../../tables/classify.ts';
import { type Checksum, isSame, NO_ROWS, together, type Value } from './checksum-map.ts';
import { growthOf } from './correlated.ts';
import type { TableFound } from './found-changes.ts';
import type { Look } from './looking.ts';
import { type ReadRow, readRows } from './own-rows.ts';
import { inSpansSql } from './ranging.ts';
import { commonSpans, ENDS, HIGHEST, isEnd, LOWEST, mergeSpans, type Span, withoutSpans } from './spans.ts';
import type { TableWatch } from './table-watch.ts';
import type { TouchedKeys } from './touch-rules.ts';

/** Rows and bytes of older blocks, and of tables without blocks, that go with one group; the rest goes with the next. */
const GROUP_ROOM = { rows: 100_000, bytes: 16 * 2 ** 20 };
/** The same where a group must be divided: replicas write it while amendments with the rest are read. */
const FIRST_ROOM = { rows: 8_000, bytes: 512 * 1024 };
/** Keys of one SELECT. */
const KEYS_AT_ONCE = 500;

/**
 * Returns how much one group may carry.
 *
 * @param looks at all tables
 * @param isAmended every subscriber takes the rest with amendments
 */
export function groupRoom(looks: readonly Look[], isAmended: boolean): Readonly<typeof GROUP_ROOM> {
  if (!isAmended) return GROUP_ROOM;
  let rows = 0;
  for (const { watch, facts, wanted } of looks) {
    if (!watch.isSingle) continue;
    for (const span of wanted) rows += span === null ? 1 : Math.min(span[1] - span[0] + 1, facts?.rows ?? 0);
  }
  return rows > GROUP_ROOM.rows ? FIRST_ROOM : GROUP_ROOM;
}

/** The rows of a table that other tables' rows name. */
export interface NamedRows {
  /** The columns that name a row. */
  readonly key: readonly string[];
  /** The texts of the keys that were named. */
  readonly named: ReadonlySet<string>;
  /** The rows that are there. */
  readonly read: readonly ReadRow[];
}

/** Reads what looks found, as much as one group may carry. */
export class ChangeTaker {
  readonly #statements: Statements;
  /** For subscribers that know parts of tables: rows in a part do not come once more alone. */
  readonly #isAmendment: boolean;
  /** Clients that know no parts of tables get changed rows of older blocks one by one, as far as they take them. */
  readonly #isForOthers: (plan: TablePlan) => boolean;
  #room: { rows: number; bytes: number };

  /** @param isAmendment for subscribers that know parts of tables @param room how much may be read; default: for a group */
  constructor(
    statements: Statements,
    dbType: DbType,
    {
      isAmendment = false,
      room = GROUP_ROOM
    }: { readonly isAmendment?: boolean; readonly room?: Readonly<typeof GROUP_ROOM> } = {}
  ) {
    this.#statements = statements;
    this.#isAmendment = isAmendment;
    // They take rows of a decoder's older blocks for new ones.
    this.#isForOthers = ({ scope, class: tableClass }) =>
      !isAmendment && (dbType === 'indexer' || (scope === null && tableClass !== 'lookup'));
    this.#room = { ...room };
  }

  /** Whether nothing more can be read. */
  get isFull(): boolean {
    return this.#room.rows <= 0 || this.#room.bytes <= 0;
  }

  /** Reads the rows of a table to send. @returns null if it was not looked at and nothing is sent */
  async take(look: Look, touched: TouchedKeys): Promise<TableFound | null> {
    const { plan, watch, required, wanted, stale, notes } = look;
    if (wanted.length === 0 && stale.length === 0 && !notes.isLooked) return null;
    const { read, done, left } = await this.#readSpans(look, wanted);
    const entries = entriesOf(read);
    const list = read.map(({ row }) => row);
    const common = { notes, sent: { spans: done, entries }, left, keys: null };
    // What older rows of blocks name; the other rows without a block change by themselves.
    if (plan.scope) touched.note(plan, list);
    // A known id with other content would be a contradiction: it goes as a part.
    if (watch.isSingle && plan.class !== 'lookup') {
      // Replicas may hold rows that are unknown here: a part is sent whole, a single value is reported as gone.
      const unknown = commonSpans(done, [...required, ...ENDS]);
      const parts = unknown.filter((span) => span !== null && (span[0] < span[1] || isEnd(span[0])));
      const values = [
        ...absentOf(withoutSpans(unknown, parts), entries),
        ...goneOf(watch, withoutSpans(done, unknown), entries)
      ];
      const gone = values.map((value) => ({ [watch.ranging.column!]: value }));
      const isInPart = within(parts);
      const inParts = parts.length === 0 ? [] : read.flatMap(({ row, value }) => (isInPart(value) ? [row] : []));
      const ranges = parts.length === 0 ? null : { column: watch.ranging.column, spans: parts, rows: inParts };
      const alone = this.#isAmendment ? read.flatMap(({ row, value }) => (isInPart(value) ? [] : [row])) : list;
      const unexplained = Math.max(0, gone.length - look.notes.explained);
      look.notes.explained = Math.max(0, look.notes.explained - gone.length);
      const keys = ranges || unexplained > 0 ? null : keysOf(plan, list);
      return { ...common, updated: alone, deleted: gone, ranges, keys };
    }
    const spans = mergeSpans([...done, ...stale]);
    const ranges = spans.length === 0 ? null : { column: watch.ranging.column, spans, rows: list };
    return { ...common, updated: this.#isForOthers(plan) ? changedRows(look, read) : [], deleted: [], ranges };
  }

  /** Reads the rows that the group's rows name. @returns undefined for a table whose rows no other table names */
  async readNamed(look: Look, touched: TouchedKeys): Promise<NamedRows | undefined> {
    const rule = touched.rules.find(({ plan }) => plan === look.plan);
    if (!rule) return undefined;
    const named = touched.of(look.plan.name);
    return { key: rule.key, named, read: await this.#readKeys(look, rule.key, [...named]) };
  }

  /** Takes the rows that the group touched, and other changed rows, of a table whose rows are named by other tables' rows. */
  async takeNamed(look: Look, { key, named, read }: NamedRows, touched: TouchedKeys): Promise<TableFound | null> {
    const { plan, watch } = look;
    const present = new Set(read.map(({ row }) => JSON.stringify(key.map((name) => row[name]))));
    const isDerived = plan.class === 'derived';
    const absent = isDerived ? [...named].filter((text) => !present.has(text)) : [];
    // It does not matter when a vanished id is found: its row is absent, or has another id now.
    const renamed = read.filter(({ value }) => watch.fine.get(value).rows === 0);
    if (isDerived) look.notes.explained += absent.length + renamed.length;
    const base = await this.take(look, touched);
    if (named.size === 0) return base;
    const entries = new Map(base?.sent.entries ?? []);
    const spans = [...(base?.sent.spans ?? [])];
    const updated = [...(base?.updated ?? [])];
    const seen = new Set(updated.map((row) => JSON.stringify(key.map((name) => row[name]))));
    for (const { row, value, checksum } of read) {
      if (seen.has(JSON.stringify(key.map((name) => row[name]))) && entries.has(value)) continue;
      const isKnown = watch.ranging.isUnique && value !== null && !isEnd(value) && value >= watch.from;
      if (!isDerived && isKnown && isSame(watch.fine.get(value), checksum)) continue;
      updated.push(row);
      // Where a value names several rows, the look at all of them finds the present ones.
      if (value === null || isEnd(value) || !watch.ranging.isUnique) continue;
      entries.set(value, checksum);
      spans.push([value, value]);
    }
    const gone = absent.map((text) => {
      const values = JSON.parse(text) as unknown[];
      return Object.fromEntries(key.map((name, index) => [name, values[index]]));
    });
    return {
      notes: look.notes,
      left: base?.left ?? [],
      ranges: base?.ranges ?? null,
      updated,
      deleted: [...(base?.deleted ?? []), ...gone],
      sent: { spans: mergeSpans(spans), entries },
      keys: isDerived && (!base || base.keys) ? new Set([...named, ...(base?.keys ?? [])]) : null
    };
  }

  async #readKeys({ plan, watch }: Look, key: readonly string[], texts: readonly string[]): Promise<ReadRow[]> {
    const charsets = new Map(plan.columns.map(({ name, charset }) => [name, charset]));
    const names = key.map((name) => `r.${quoteName(name)}`).join(', ');
    const tuple = `(${key.map((name) => inCharset('?', charsets.get(name) ?? null)).join(', ')})`;
    const read: ReadRow[] = [];
    for (let at = 0; at < texts.length; at += KEYS_AT_ONCE) {
      const part = texts.slice(at, at + KEYS_AT_ONCE);
      const where = `(${names}) IN (${part.map(() => tuple).join(', ')})`;
      const values = part.flatMap(keyValues);
      for (const each of await readRows(this.#statements, plan, watch.ranging, where, { values })) read.push(each);
    }
    return read;
  }

  /** Reads the rows of some spans, as many as still fit; a value is never divided. */
  async #readSpans(
    { plan, watch }: Look,
    spans: readonly Span[]
  ): Promise<{ read: ReadRow[]; done: Span[]; left: Span[] }> {
    const read: ReadRow[] = [];
    const done: Span[] = [];
    for (let at = 0; at < spans.length; ) {
      if (this.isFull) return { read, done, left: spans.slice(at) };
      const some = askedTogether(spans, at);
      const where = inSpansSql(watch.ranging, plan, some);
      const limit = some[0] === null ? Number.POSITIVE_INFINITY : this.#room.rows + 1;
      const bound = Number.isFinite(limit) ? { limit } : {};
      const found = await readRows(this.#statements, plan, watch.ranging, where, bound);
      const cut = found.length < limit ? null : found.at(-1)!.value;
      if (cut === null) {
        this.#keep(found, read);
        for (const span of some) done.push(span);
        at += some.length;
        continue;
      }
      // The last value may have more rows: it is left for the next group, unless it is the only one.
      const isOnly = found[0]!.value === cut;
      const whole = isOnly
        ? await readRows(this.#statements, plan, watch.ranging, inSpansSql(watch.ranging, plan, [[cut, cut]]))
        : found.filter(({ value }) => value !== cut);
      this.#keep(whole, read);
      const rest: Span = [isOnly ? cut + 1 : cut, HIGHEST];
      const left = withoutSpans(spans.slice(at), withoutSpans([[LOWEST, HIGHEST]], [rest]));
      for (const span of withoutSpans(spans.slice(at), left)) done.push(span);
      return { read, done, left };
    }
    return { read, done, left: [] };
  }

  #keep(found: readonly ReadRow[], read: ReadRow[]): void {
    this.#room.rows -= found.length;
    const names = Object.keys(found[0]?.row ?? {});
    const overhead = names.reduce((sum, { length }) => sum + length + 4, 0);
    for (const each of found) {
      read.push(each);
      let bytes = overhead;
      for (const name of names) {
        const value = each.row[name];
        bytes += typeof value === 'string' ? value.length : 12;
      }
      this.#room.bytes -= bytes;
    }
  }
}

/**
 * Returns the next spans of one SELECT. NULL, the last of them, is asked for alone: its rows come first, they are of one value, and no
 * value is divided.
 */
function askedTogether(spans: readonly Span[], at: number): readonly Span[] {
  const some = spans.slice(at, at + KEYS_AT_ONCE);
  return some[0] === null ? some : some.filter((span) => span !== null);
}

function entriesOf(read: readonly ReadRow[]): Map<Value, Checksum> {
  const entries = new Map<Value, Checksum>();
  for (const { value, checksum } of read) entries.set(value, together(entries.get(value) ?? NO_ROWS, checksum));
  return entries;
}

/** Returns the values that are asked for by themselves and have no rows now. It changes nothing if they never had any. */
function absentOf(spans: readonly Span[], entries: ReadonlyMap<Value, Checksum>): number[] {
  return spans.flatMap((span) => (span !== null && span[0] === span[1] && !entries.has(span[0]) ? [span[0]] : []));
}

/** Yields the values whose rows were broadcast and that have no rows now. */
function* goneOf(watch: TableWatch, spans: readonly Span[], entries: ReadonlyMap<Value, Checksum>): Generator<number> {
  for (const span of spans) {
    if (span === null) continue;
    for (const [value] of watch.fine.entries(span[0], span[1])) if (!entries.has(value)) yield value;
  }
}

/** Returns the identities of rows of a derived table. */
function keysOf({ identity, class: tableClass }: TablePlan, list: readonly SqlRow[]): ReadonlySet<string> | null {
  if (tableClass !== 'derived') return null;
  return identity && new Set(list.map((row) => JSON.stringify(identity.map((name) => row[name]))));
}

/** Returns the changed rows of older blocks for clients that know no ranges, as far as the rows can be identified. */
function changedRows({ plan, watch, growth }: Look, read: readonly ReadRow[]): SqlRow[] {
  if (plan.identity !== null) return read.map(({ row }) => row);
  const changed: SqlRow[] = [];
  for (const [value, now] of Map.groupBy(read, (each) => each.value)) {
    const sum = now.reduce((total, { checksum }) => together(total, checksum), NO_ROWS);
    const isFine = value === null || value >= watch.from;
    const grown = isFine ? growthOf(watch.fine.get(value), sum) : growth.get(value);
    for (const { row } of newRows(grown, now)) changed.push(row);
  }
  return changed;
}

/**
 * Finds the new ones among rows that look alike: those whose words add up to the growth of the checksum.
 *
 * @param grown undefined: not known
 */
function newRows(grown: Checksum | undefined, now: readonly ReadRow[]): readonly ReadRow[] {
  if (now.length === (grown?.rows ?? 1)) return now;
  return grown?.rows === 1 ? now.filter(({ checksum }) => checksum.sum === grown.sum).slice(0, 1) : [];
}

/** Returns the SQL values of a key text. */
function keyValues(key: string): unknown[] {
  return (JSON.parse(key) as unknown[]).map((value) => {
    const binary = (value as Record<string, unknown> | null)?.[BINARY_KEY];
    return typeof binary === 'string' ? Buffer.from(binary, 'base64') : value;
  });
}
