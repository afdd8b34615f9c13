import type { SerialConnection } from '../../../db/serial-connection.ts';
import { PlatformError } from '../../../errors.ts';
import type { SchemaRecord } from '../../../wire/data/schema.ts';
import { readCreateTableTexts } from '../../ddl/create-table-text.ts';
import type { SourceActorData, SourceAsks } from '../../protocol.ts';
import { readLayout, type SourceLayout } from '../../tables/source-layout.ts';
import type { ServedTables } from '../reading/served-tables.ts';
import { recent } from './recent.ts';

/** Milliseconds after which a change of the schema between two blocks shows in snapshots. */
const LAYOUT_AGE_MS = 1_000;

/** Answers for a source's schema. */
export class SourceSchema {
  readonly #data: Pick<SourceActorData, 'id' | 'localTables'>;
  readonly #serial: SerialConnection;
  readonly #served: () => ServedTables;
  #record: { readonly fingerprint: string; readonly body: Promise<string> } | undefined;
  /**
   * The schema a moment ago at most, of a database with blocks: reading it takes longer than handing on a small snapshot that is
   * there; each build reads its own. @throws {PlatformError} BLOCKS_EMPTY
   */
  readonly recentLayout = recent(LAYOUT_AGE_MS, async () => {
    const { heads, fingerprint } = await this.#readLayout();
    if (!heads) throw new PlatformError('BLOCKS_EMPTY', { reason: 'No blocks in database' });
    return { heads, fingerprint };
  });

  /**
   * @param serial one that no block waits for
   * @param served the tables that were served: a schema without one of them is told only once it is known to be dropped
   */
  constructor(data: Pick<SourceActorData, 'id' | 'localTables'>, serial: SerialConnection, served: () => ServedTables) {
    this.#data = data;
    this.#serial = serial;
    this.#served = served;
  }

  /**
   * Reads the body of `/schema` as it is now; null when the asker knows it by its fingerprint.
   *
   * @throws {PlatformError} DATABASE_*, TABLE_HIDDEN
   */
  async read({ known }: SourceAsks['schema.read']['request']): Promise<SourceAsks['schema.read']['reply']> {
    const layout = await this.#readLayout();
    const { fingerprint } = layout;
    if (fingerprint === known) return { body: null, fingerprint };
    if (this.#record?.fingerprint !== fingerprint) {
      const record = { fingerprint, body: this.#describe(layout) };
      this.#record = record;
      record.body.catch(() => {
        if (this.#record === record) this.#record = undefined;
      });
    }
    return { body: await this.#record.body, fingerprint };
  }

  async #describe(layout: SourceLayout): Promise<string> {
    const { fingerprint, plans } = layout;
    const classes = new Map(plans.map((plan) => [plan.name, plan.class]));
    const tables = await this.#serial.use((connection) => readCreateTableTexts(connection, layout));
    // The texts are read one by one, in no snapshot.
    if ((await this.#readLayout()).fingerprint !== fingerprint)
      throw new PlatformError('DATABASE_UNAVAILABLE', { reason: 'the schema changed while it was read: ask again' });
    const typed = layout.tables
      .filter(({ name }) => tables[name] !== undefined)
      .map((table) => ({ ...table, class: classes.get(table.name)! }));
    const { chain, network, dbType } = this.#data.id;
    const leftOut = { not_replicated: Object.fromEntries(layout.notReplicated) };
    return JSON.stringify({ chain, network, dbType, tables, typed, fingerprint, ...leftOut } satisfies SchemaRecord);
  }

  #readLayout(): Promise<SourceLayout> {
    const { id, localTables } = this.#data;
    return this.#serial.use(async (connection) => {
      const layout = await readLayout(connection, id.dbType, localTables);
      await this.#served().check(connection, layout);
      return layout;
    });
  }
}
