import cors from '@fastify/cors';
import type { FastifyInstance } from 'fastify';
import { SNAPSHOT_HEADERS } from '../../wire/data/snapshot.ts';

const PREFLIGHT_S = 600;
const REQUEST_HEADERS = [
  'Authorization',
  'Content-Type',
  'If-Match',
  'If-None-Match',
  'If-Range',
  'Range',
  'X-API-Key'
];
const RESPONSE_HEADERS = [
  'Accept-Ranges',
  'Content-Range',
  'ETag',
  'Link',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'X-Lag-Blocks',
  'X-Stopped-Seconds',
  'X-XChain-Stored-Form'
];

/**
 * Lets web pages of these origins, and no others, read what the service answers. A preflight carries no key, so it
 * is answered before the key is asked for; it tells nothing but that.
 *
 * @see the Fetch standard, "CORS protocol"
 */
export function allowOrigins(app: FastifyInstance, origins: readonly string[]): void {
  app.register(cors, {
    origin: async (origin: string | undefined) =>
      origin !== undefined && (origins.includes(origin) || origins.includes('*')) && origin,
    methods: ['GET', 'HEAD', 'POST'],
    allowedHeaders: REQUEST_HEADERS,
    exposedHeaders: [...RESPONSE_HEADERS, ...Object.values(SNAPSHOT_HEADERS)],
    maxAge: PREFLIGHT_S,
    strictPreflight: false
  });
}
