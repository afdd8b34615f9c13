import { type Connection, rows } from '../../../db/connection.ts';
import type { DigestPart } from '../../../wire/data/digest.ts';
import { travels } from '../database/schema.ts';
import { writeReplicaState } from '../database/state.ts';
import type { Replica } from '../parts/replica.ts';

type Parts = Pick<Replica, 'store' | 'sources'>;

/** A table of more rows, by MariaDB's estimate, is compared by itself: a restart loses no more than the table under way. */
const LARGE_ROWS = 200_000;
/** Names that can be asked for. */
const PLAIN = /^\w{1,64}$/;

/** The tables to compare next, and the rows of all that are compared, by MariaDB's estimate. */
export interface ComparisonPlan {
  readonly part: DigestPart;
  readonly rows: number;
}

/**
 * The tables that a comparison has found equal so far, durable: large ones first, each in a snapshot of its own, then all others.
 *
 * It is void with another source or schema. Rows that differ, that no message brought, or that have other ids need all tables at once.
 */
export class ComparisonPosition {
  readonly #replica: Parts;
  #isVoid = false;

  constructor(replica: Parts) {
    this.#replica = replica;
  }

  /** Tables that were compared so far; null: nothing that counts. */
  get known() {
    const { compared, height, schemaFingerprint } = this.#replica.store.state;
    if (this.#isVoid || compared === null || compared.height > (height ?? -1)) return null;
    const isOfSource = compared.source === this.#replica.sources.client.url;
    return isOfSource && compared.fingerprint === schemaFingerprint ? compared : null;
  }

  /** The next comparison begins with the first table. */
  forget(): void {
    this.#isVoid = true;
  }

  /** Chooses the tables to compare next. */
  async plan(connection: Connection): Promise<ComparisonPlan> {
    const found = await rows<{ name: string; n: string | number | null }>(
      connection,
      'SELECT TABLE_NAME AS name, TABLE_ROWS AS n FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()'
    );
    const { context, state } = this.#replica.store;
    const { byName } = context.schema;
    const sizes = found.flatMap(({ name, n }) => {
      const table = byName.get(name);
      return table && travels(table) ? [{ name, rows: Number(n ?? 0) }] : [];
    });
    const all = sizes.reduce((sum, { rows: ofTable }) => sum + ofTable, 0);
    const isSound = state.complete && !state.misses && state.ids.source === this.#replica.sources.client.url;
    if (!isSound) return { part: null, rows: all };
    const done = this.known?.tables ?? [];
    const isLarge = ({ name, rows: ofTable }: (typeof sizes)[number]) => ofTable >= LARGE_ROWS && PLAIN.test(name);
    const large = sizes.filter((table) => isLarge(table) && !done.includes(table.name));
    const [next] = large.map(({ name }) => name).sort();
    if (next !== undefined) return { part: { only: next }, rows: all };
    return { part: done.length > 0 ? { without: [...done].sort() } : null, rows: all };
  }

  /** Keeps that a table was found equal. @param compared how many of its rows were */
  async add(table: string, height: number, compared: number): Promise<void> {
    const { store, sources } = this.#replica;
    const before = this.known;
    const { url: source } = sources.client;
    const begun = before ?? { height, at: new Date().toISOString(), tables: [], rows: 0 };
    const { schemaFingerprint: fingerprint } = store.state;
    const tables = [...begun.tables, table];
    const now = { source, fingerprint, height: begun.height, at: begun.at, tables, rows: begun.rows + compared };
    await writeReplicaState(store.writer, { compared: now });
    await store.reloadState();
    this.#isVoid = false;
  }
}
