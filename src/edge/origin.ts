import type { FastifyReply, FastifyRequest } from 'fastify';
import { PlatformError } from '../errors.ts';
import { SourceConnection } from '../replication/client/source-connection.ts';
import type { DatabaseId } from '../wire/data/database.ts';
import { shapeOf } from '../wire/data/shape.ts';
import { SourceStatusSchema } from '../wire/state/status.ts';

/** Answers of the origin that are under way at once; each may be a snapshot. */
const MAX_AT_ONCE = 64;
/** Headers of a request that decide on its answer. */
const ASKED = ['accept-encoding', 'range', 'if-range', 'if-none-match'];
/** Headers of an answer that are passed on, beside those that begin with `x-`. */
const TOLD = /^(?:x-.*|content-(?:type|encoding|length|range)|etag|accept-ranges|vary|retry-after)$/;

const isStatus = shapeOf(SourceStatusSchema);

/** The sync server that answers what needs a database. */
export class Origin {
  readonly #connection: SourceConnection | null;
  #underWay = 0;

  /** @param url absent: nothing is answered */
  constructor(url: string | undefined, key: string | undefined) {
    this.#connection = url === undefined ? null : new SourceConnection(url, key, undefined);
  }

  /**
   * Passes a request on, and the answer back as it comes, byte for byte.
   *
   * @throws {PlatformError} ACTOR_NOT_READY without an origin, ACTOR_BUSY, SOURCE_UNREACHABLE, SOURCE_REFUSED
   */
  async answer({ raw, headers }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    if (this.#connection === null)
      throw new PlatformError('ACTOR_NOT_READY', {
        reason: 'this edge has no database, and SYNC_ORIGIN_URL is not set'
      });
    this.#enter();
    const gone = new AbortController();
    reply.raw.once('close', () => {
      this.#underWay -= 1;
      gone.abort();
    });
    const asked = ASKED.flatMap((name) => (typeof headers[name] === 'string' ? [[name, headers[name]] as const] : []));
    const path = raw.url ?? '/';
    const found = await this.#connection.get(
      path,
      { 'accept-encoding': 'identity', ...Object.fromEntries(asked) },
      gone.signal
    );
    if (found.status === 429) {
      // No caller is in haste here: to the origin all of them are one.
      found.body.on('error', () => undefined).destroy();
      reply.header('retry-after', found.headers['retry-after'] ?? '60');
      throw new PlatformError('ACTOR_BUSY', {
        reason: `the origin answers this edge no more for now: raise its limits (SNAPSHOT_RATE_FULL, SNAPSHOT_RATE_INCR)`
      });
    }
    for (const [name, value] of Object.entries(found.headers)) if (TOLD.test(name)) reply.header(name, value);
    return reply.code(found.status).send(found.body);
  }

  /**
   * Returns what the origin signs a challenge with: an edge counts as the same source as its origin, and as its other edges.
   *
   * @throws {PlatformError} ACTOR_BUSY, SOURCE_UNREACHABLE, SOURCE_REFUSED, SOURCE_INVALID
   */
  async identify({ dbType, chain, network }: DatabaseId, challenge: string): Promise<unknown> {
    const path = `/status/${dbType}/${chain}/${network}?challenge=${challenge}`;
    this.#enter();
    try {
      return (await this.#connection?.answer(path, isStatus))?.value.identity;
    } finally {
      this.#underWay -= 1;
    }
  }

  #enter(): void {
    if (this.#underWay >= MAX_AT_ONCE)
      throw new PlatformError('ACTOR_BUSY', { reason: `${this.#underWay} answers of the origin are under way` });
    this.#underWay += 1;
  }

  async close(): Promise<void> {
    await this.#connection?.close();
  }
}
