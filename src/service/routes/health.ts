import type { FastifyInstance } from 'fastify';
import type { Static, TSchema } from 'typebox';

/** A route that says whether a service is well. */
interface HealthRoute<Schema extends TSchema> {
  readonly path: string;
  readonly summary: string;
  readonly schema: Schema;
  /** Statuses besides 200 and 503. */
  readonly statuses?: readonly number[];
  readonly read: () => Static<Schema> | Promise<Static<Schema>>;
  readonly isWell: (health: Static<Schema>) => boolean;
}

/** Registers a route that needs no key: 200 while all is well, 503 with the same body while it is not. */
export function healthRoute<Schema extends TSchema>(app: FastifyInstance, route: HealthRoute<Schema>): void {
  const { path, summary, statuses = [], read, isWell } = route;
  const schema: TSchema = route.schema;
  app.get(
    path,
    {
      config: { open: true, doc: { tag: 'State', summary, statuses } },
      schema: { response: { 200: schema, 503: schema } }
    },
    async (_, reply) => {
      const health = await read();
      return reply.code(isWell(health) ? 200 : 503).send(health);
    }
  );
}
