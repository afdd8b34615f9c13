import { createHash } from 'node:crypto';
import type { TablePlan } from './classify.ts';
import { type Connection, quoteName, rows } from './connection.ts';
import { EMPTY_FIGURE, type Figure, readFigures, scopeSql } from './scope-sql.ts';
import { planSignature, type SourceLayout } from './source-layout.ts';

/** Blocks in which a change of older rows is looked for. */
export const WINDOW = 1_000;
/** Blocks under one digest of a resume point. */
const BUCKET = 50;
/** Equal to no figure: what a replica holds of this block is not known. */
const UNKNOWN: Figure = '?';

/** What was last broadcast of one scoped table. */
export interface ScopedMemory {
  readonly signature: string;
  /** Lowest block that is compared. */
  readonly from: number;
  /** By block; a block without rows is absent. */
  readonly figures: Map<number, Figure>;
  /** Highest AUTO_INCREMENT id seen; 0 where there is no such column. */
  readonly lastId: number;
}

/** A table's content up to `height` as it stands, where it is the same as what `digest` remembers; elsewhere unknown. */
export async function readScopedMemory(
  connection: Connection,
  layout: SourceLayout,
  plan: TablePlan,
  height: number,
  before: { readonly digest: string | undefined; readonly lastId: number | undefined } | null
): Promise<ScopedMemory> {
  const signature = planSignature(plan);
  const lastId = before?.lastId ?? (await readLastId(connection, plan));
  const remembered = before ? Number(before.digest?.split(':', 1)[0] ?? Number.NaN) : Number.NaN;
  const from = Number.isNaN(remembered) ? Math.max(0, height - WINDOW + 1) : remembered;
  const figures = await readFigures(connection, plan, layout.tables, from, height);
  const now = { signature, from, figures, lastId };
  if (!before) return now;
  const old = before.digest?.split(':')[1]?.split('.') ?? [];
  const current = bucketDigests(now, height);
  for (let bucket = 0; bucket < current.length; bucket += 1) {
    if (old[bucket] === current[bucket]) continue;
    const start = from + bucket * BUCKET;
    for (let at = start; at <= Math.min(height, start + BUCKET - 1); at += 1) figures.set(at, UNKNOWN);
  }
  return now;
}

/** The text that a resume point keeps: the first block, then one digest for each 50 blocks; empty where there are no rows. */
export function scopedDigest(memory: ScopedMemory, height: number): string {
  return `${memory.from}:${bucketDigests(memory, height).join('.')}`;
}

/** The same, equal to nothing. */
export function unknownDigest({ from }: ScopedMemory): string {
  return `${from}:?`;
}

function bucketDigests({ from, figures }: ScopedMemory, height: number): string[] {
  const digests: string[] = [];
  for (let start = from; start <= height; start += BUCKET) {
    let text = '';
    for (let at = start; at <= Math.min(height, start + BUCKET - 1); at += 1) {
      const figure = figures.get(at);
      if (figure !== undefined) text += `${at}=${figure};`;
    }
    digests.push(text === '' ? '' : createHash('sha256').update(text).digest('hex').slice(0, 16));
  }
  return digests;
}

/** A memory that nothing equals, for a table whose columns changed: all blocks that it compares are sent again. */
export function unknownScopes(memory: ScopedMemory, plan: TablePlan, height: number): ScopedMemory {
  return { ...forgetScopes(memory, allScopes(memory, height)), signature: planSignature(plan) };
}

/** The blocks that are compared, up to `height`. */
export function allScopes({ from }: ScopedMemory, height: number): number[] {
  return Array.from({ length: Math.max(0, height - from + 1) }, (_, index) => from + index);
}

/** A memory in which these blocks must be sent again. */
export function forgetScopes(memory: ScopedMemory, heights: readonly number[]): ScopedMemory {
  if (heights.length === 0) return memory;
  return { ...memory, figures: new Map([...memory.figures, ...heights.map((at): [number, Figure] => [at, UNKNOWN])]) };
}

/** Blocks up to `height` whose rows are not what was broadcast, ascending. */
export function changedScopes(
  memory: ScopedMemory,
  now: ReadonlyMap<number, Figure>,
  height: number,
  from = memory.from
): number[] {
  const changed: number[] = [];
  for (let at = Math.max(memory.from, from); at <= height; at += 1) {
    if ((memory.figures.get(at) ?? EMPTY_FIGURE) !== (now.get(at) ?? EMPTY_FIGURE)) changed.push(at);
  }
  return changed;
}

/** True when the replica's rows of a block may not be those that the figures were made of. */
export function isUnknown(memory: ScopedMemory, height: number): boolean {
  return memory.figures.get(height) === UNKNOWN;
}

/** The highest value of the table's AUTO_INCREMENT column; 0 where there is none. */
export async function readLastId(connection: Connection, plan: TablePlan): Promise<number> {
  const counter = plan.columns.find(({ autoIncrement }) => autoIncrement)?.name;
  if (counter === undefined) return 0;
  const [row] = await rows<{ id: number | null }>(
    connection,
    `SELECT MAX(${quoteName(counter)}) AS id FROM ${quoteName(plan.name)}`
  );
  return Number(row?.id ?? 0);
}

/** Blocks below the compared ones that new rows name; a number below 0 names none, and a comparison by digests finds its rows. */
export async function readLateScopes(
  connection: Connection,
  layout: SourceLayout,
  plan: TablePlan,
  memory: ScopedMemory
): Promise<number[]> {
  const counter = plan.columns.find(({ autoIncrement }) => autoIncrement)?.name;
  if (counter === undefined) return [];
  const { from, block } = scopeSql(plan, layout.tables);
  const found = await rows<{ height: number }>(
    connection,
    `SELECT DISTINCT ${block} AS height FROM ${from} WHERE r.${quoteName(counter)} > ? AND ${block} >= 0 AND ${block} < ? ORDER BY height`,
    [memory.lastId, memory.from]
  );
  return found.map(({ height }) => Number(height));
}
