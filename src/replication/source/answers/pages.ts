import { Transferred } from '../../../../actors/runtime/channel.ts';
import type { Connection } from '../../../db/connection.ts';
import { inSnapshot } from '../../../db/in-snapshot.ts';
import { SerialConnection } from '../../../db/serial-connection.ts';
import type { SourceActorData, SourceAsks } from '../../protocol.ts';
import { encodeBody } from '../../snapshot/page-body.ts';
import { readTip } from '../../tables/block-hashes.ts';
import { readLayout, type SourceLayout } from '../../tables/source-layout.ts';
import { readCheckpoint } from '../reading/checkpoints.ts';
import { readDispensers, readLookupPage } from '../reading/table-pages.ts';

/** A page of ordinary rows is shorter; its reader asks on where it ends. */
const PAGE_BYTES = 32 * 2 ** 20;

/**
 * Answers what is read straight from a table, a page or a record at a time, one after the other, on a connection of its own
 * that lasts as long as someone waits: polling is not delayed by it.
 */
export class SourcePages {
  readonly #data: Pick<SourceActorData, 'id' | 'localTables'>;
  readonly #serial: SerialConnection;
  #waiting = 0;

  constructor(data: Pick<SourceActorData, 'id' | 'localTables'>, open: () => Promise<Connection>) {
    this.#data = data;
    this.#serial = new SerialConnection(open);
  }

  async lookups({ coding, ...order }: SourceAsks['lookups.page']['request']) {
    const { rows, ...head } = await this.#read((connection, layout) =>
      readLookupPage(connection, layout, { ...order, maxBytes: PAGE_BYTES })
    );
    const text = `${JSON.stringify(head).slice(0, -1)},"rows":[${rows.join(',')}]}`;
    return transferred({ body: await encodeBody(text, coding), maxId: head.max_id, hasMore: head.has_more });
  }

  async dispensers({ coding }: SourceAsks['dispensers.read']['request']) {
    const { tip, page } = await this.#read(async (connection, layout) => ({
      tip: layout.heads && (await readTip(connection, layout.heads)),
      page: await readDispensers(connection, layout)
    }));
    return transferred({ body: await encodeBody(JSON.stringify(page), coding), height: tip?.height ?? null });
  }

  async checkpoint({ height }: SourceAsks['checkpoint.read']['request']) {
    return this.#read((connection, layout) => readCheckpoint(connection, this.#data.id, layout, height));
  }

  /** Ends what is under way. */
  destroy(): void {
    this.#serial.destroy();
  }

  async #read<T>(work: (connection: Connection, layout: SourceLayout) => Promise<T>): Promise<T> {
    this.#waiting++;
    try {
      return await this.#serial.use((connection) =>
        inSnapshot(connection, async () => {
          const { id, localTables } = this.#data;
          return work(connection, await readLayout(connection, id.dbType, localTables));
        })
      );
    } finally {
      if (--this.#waiting === 0) this.#serial.destroy();
    }
  }
}

function transferred<T extends { readonly body: Uint8Array<ArrayBuffer> }>(reply: T): Transferred<T> {
  return new Transferred(reply, [reply.body.buffer]);
}
