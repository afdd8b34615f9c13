import { STATUS_CODES } from 'node:http';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { ERRORS, type ErrorCode, PlatformError } from '../errors.ts';
import { SparseLines } from '../sparse-lines.ts';

const RETRY_AFTER_S = 5;

/** The JSON body of every error. */
interface ErrorBody {
  readonly error: string;
  readonly code?: string;
}

/** A service's own name for an error, in place of the code and status of ERRORS. */
export interface PublicName {
  readonly code: string;
  readonly status?: number;
}

interface HandlerOptions {
  /** False on the transparency routes, whose bodies hold the text alone; `always`: also what has no row in ERRORS has a code. */
  readonly withCode: boolean | 'always';
  readonly names?: Readonly<Partial<Record<ErrorCode, PublicName>>>;
}

/** Handles all errors: a PlatformError by its row of ERRORS, Fastify's own refusals by their status, the rest as 500. */
export function errorHandler({ withCode, names = {} }: HandlerOptions) {
  return async (caught: FastifyError | PlatformError, request: FastifyRequest, reply: FastifyReply) => {
    const { text, ...own } = describe(caught);
    const { code: known, status = own.status } = (own.code && names[own.code]) ?? own;
    const code = known ?? (withCode === 'always' ? codeOfStatus(status) : undefined);
    if (own.status === 500) tellFailure(request, caught);
    else if (status >= 500) request.log.debug({ err: caught }, 'request refused');
    if (status === 401) reply.header('www-authenticate', 'Bearer');
    reply.header('cache-control', 'no-store');
    const waitS = retryAfterOf(caught) ?? (status === 503 ? RETRY_AFTER_S : undefined);
    if (waitS !== undefined && !reply.hasHeader('retry-after')) reply.header('retry-after', waitS);
    const body: ErrorBody = withCode !== false && code !== undefined ? { error: text, code } : { error: text };
    return reply.code(status).type('application/json; charset=utf-8').send(body);
  };
}

function retryAfterOf(caught: FastifyError | PlatformError): number | undefined {
  const waitS = caught instanceof PlatformError ? caught.detail['retryAfterS'] : undefined;
  return typeof waitS === 'number' ? waitS : undefined;
}

const failures = new SparseLines();

/** Logs a failure of this service, each cause once in a while: callers choose how often they ask. */
export function tellFailure({ log }: Pick<FastifyRequest, 'log'>, caught: Error): void {
  const more = failures.take(String(caught));
  if (more !== null) log.error({ err: caught, more }, 'request failed');
}

/** Returns the code of an error that only its status names, such as `NOT_FOUND`. */
export const codeOfStatus = (status: number): string =>
  (STATUS_CODES[status] ?? 'unknown').toUpperCase().replaceAll(/[^A-Z]+/g, '_');

function describe(caught: FastifyError | PlatformError): { status: number; text: string; code?: ErrorCode } {
  if (caught instanceof PlatformError) return { status: caught.status, text: publicFailure(caught), code: caught.code };
  const status = caught.statusCode ?? 500;
  if (status >= 400 && status < 500) return { status, text: caught.message };
  return { status: 500, text: 'internal error', code: 'INTERNAL' };
}

/**
 * Returns the text that a caller may read: the reason of a refusal; for our own failures the table's text alone, since reasons
 * quote hosts and SQL.
 */
export function publicFailure({ code, status, detail, isReasonPublic }: PlatformError): string {
  if (isReasonPublic && typeof detail['reason'] === 'string') return detail['reason'];
  return status === 500 ? 'internal error' : `${code.toLowerCase().replaceAll('_', ' ')}: ${ERRORS[code].hint}`;
}
