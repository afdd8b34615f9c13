import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '../db/connection.ts';
import type { Logger } from '../log.ts';
import { readTableSizes, type TableSizes } from '../replication/tables/table-sizes.ts';
import type { DatabaseCoordinates, DatabaseId } from '../wire/data/database.ts';
import type { Catalog, CatalogEntry } from '../wire/log/catalog.ts';
import type { DatabaseReport } from '../wire/state/report.ts';

/** Time that an answer waits for MariaDB before it uses the last known sizes. */
const PATIENCE_MS = 1_000;
/** Lifetime of an answer for which a server came too late. */
const LATE_MS = 5_000;
const STATEMENT_LIMIT_S = 5;

interface CatalogOptions {
  readonly cacheMs: number;
  readonly log: Logger;
  readonly list: () => readonly DatabaseId[];
  readonly whereIs: (id: DatabaseId) => DatabaseCoordinates | undefined;
  readonly lastReport: (id: DatabaseId) => Pick<DatabaseReport, 'height'> | undefined;
}

/** The databases of one account at one server. */
interface Server {
  readonly at: Omit<DatabaseCoordinates, 'name'>;
  readonly names: string[];
}

/**
 * Served databases with their sizes: read on demand by one query per server, and cached.
 *
 * A server that does not answer holds nobody up: its last known sizes are used, zeros before the first.
 */
export class CatalogCache {
  readonly #options: CatalogOptions;
  readonly #sizes = new Map<string, TableSizes>();
  /** By server: the look that is under way, so that one that hangs is not joined by another. */
  readonly #looks = new Map<string, Promise<void>>();
  #current: { readonly answer: Promise<Catalog>; until: number } | undefined;

  constructor(options: CatalogOptions) {
    this.#options = options;
  }

  async read(): Promise<Catalog> {
    const now = performance.now();
    if (!this.#current || now >= this.#current.until) {
      this.#current = { answer: this.#refresh(), until: now + this.#options.cacheMs };
    }
    return this.#current.answer;
  }

  async #refresh(): Promise<Catalog> {
    const looks = this.#servers().map(([key, server]) => this.#look(key, server));
    await Promise.race([Promise.all(looks), sleep(PATIENCE_MS, undefined, { ref: false })]);
    if (this.#looks.size > 0) this.#current!.until = Math.min(this.#current!.until, performance.now() + LATE_MS);
    return { generated_at: new Date().toISOString(), databases: this.#options.list().map((id) => this.#entry(id)) };
  }

  #servers(): [string, Server][] {
    const servers = new Map<string, Server>();
    for (const id of this.#options.list()) {
      const found = this.#options.whereIs(id);
      if (!found) continue;
      const { name, ...at } = found;
      const key = serverKey(found);
      const server = servers.get(key) ?? { at, names: [] };
      server.names.push(name);
      servers.set(key, server);
    }
    return [...servers];
  }

  #look(key: string, server: Server): Promise<void> {
    const look = this.#looks.get(key) ?? this.#measure(key, server).finally(() => this.#looks.delete(key));
    this.#looks.set(key, look);
    return look;
  }

  async #measure(key: string, { at, names }: Server): Promise<void> {
    try {
      const connection = await connect(at, { statementLimitS: STATEMENT_LIMIT_S });
      try {
        for (const [name, sizes] of await readTableSizes(connection, names)) this.#sizes.set(`${key}/${name}`, sizes);
      } finally {
        connection.destroy();
      }
    } catch (caught) {
      this.#options.log.warn({ err: caught }, "the sizes of a MariaDB server's databases could not be read");
    }
  }

  #entry(id: DatabaseId): CatalogEntry {
    const at = this.#options.whereIs(id);
    const sizes = at && this.#sizes.get(`${serverKey(at)}/${at.name}`);
    const { tables = 0, dataBytes = 0, indexBytes = 0, rows = 0 } = sizes ?? {};
    return {
      coin: id.chain,
      network: id.network,
      dbType: id.dbType,
      db_name: at?.name ?? null,
      block_height: heightOf(this.#options.lastReport(id)),
      table_count: tables,
      data_bytes: dataBytes,
      index_bytes: indexBytes,
      total_bytes: dataBytes + indexBytes,
      row_estimate: rows
    };
  }
}

function serverKey({ host, port, socketPath, user }: DatabaseCoordinates): string {
  return `${user}@${socketPath ?? `${host}:${port}`}`;
}

/** Returns the height of a report; a source without a block reports -1. */
function heightOf(report: Pick<DatabaseReport, 'height'> | undefined): number | null {
  return report?.height != null && report.height >= 0 ? report.height : null;
}
