import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type from 'typebox';
import type { AddressReader } from '../callers/address.ts';
import { AuditEntrySchema, type AuditLog } from './audit-log.ts';

/** Parts of the audit: the log, and the addresses of callers. */
interface AuditDeps {
  readonly audit: AuditLog;
  readonly addressOf: AddressReader;
}

const MOST_LETTERS = 200;

/** Parameters of operations of an operator. */
export const ReasonSchema = Type.Object({
  reason: Type.Optional(Type.String({ maxLength: MOST_LETTERS, description: 'kept in the audit log' }))
});

/** Refusals of callers without the key, or in haste: anybody could push all other entries out by them. */
const OF_STRANGERS: ReadonlySet<number> = new Set([401, 403, 421, 429]);

/**
 * Notes each answer of a route that needs an operator, also a refusal of one who has the key. It is noted when it is made: one who
 * hangs up meanwhile never gets it. The answer leaves when the entry is durable.
 */
export function auditOperators(app: FastifyInstance, { audit, addressOf }: AuditDeps): void {
  app.addHook('onSend', async (request, reply) => {
    const { config, url } = request.routeOptions;
    if (!config.operator || OF_STRANGERS.has(reply.statusCode)) return;
    const target = Object.values(request.params as Record<string, string>).join('/');
    audit.add({
      at: new Date().toISOString(),
      from: addressOf(request.raw),
      operation: `${request.method} ${url}`,
      target: target === '' ? null : target,
      reason: reasonOf(request),
      outcome: reply.statusCode < 300 ? 'done' : `refused with ${reply.statusCode}`
    });
    await audit.written;
  });
}

/** Returns the operator's reason; null if none was given. */
export function reasonOf({ query }: FastifyRequest): string | null {
  const { reason } = query as { reason?: unknown };
  return typeof reason === 'string' && reason !== '' ? reason.slice(0, MOST_LETTERS) : null;
}

/** `GET /debug/audit`: the operations of operators, newest first. */
export const auditRoutes: FastifyPluginAsyncTypebox<Pick<AuditDeps, 'audit'>> = async (app, { audit }) => {
  app.get(
    '/debug/audit',
    {
      config: {
        isDiagnostic: true,
        doc: {
          tag: 'Operator',
          summary: 'Operations that changed something: when, from where, what, why, with which outcome'
        }
      },
      schema: { response: { 200: Type.Array(AuditEntrySchema) } }
    },
    async () => [...audit.newest]
  );
};
