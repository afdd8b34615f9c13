import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { pageHeaders } from '../pages/page.ts';
import type { ConsoleFile } from './console-files.ts';

interface ConsoleDeps {
  /** The console page's built files; empty where there are none. */
  readonly consoleFiles: ReadonlyMap<string, ConsoleFile>;
  /** Path of the page; `/` when absent. */
  readonly consolePath?: string;
}

/** `GET /` or the service's own path, and `GET /console/*`: static files of the console, open to all; its data needs the key. */
export const consoleRoutes: FastifyPluginAsync<ConsoleDeps> = async (app, { consoleFiles, consolePath = '/' }) => {
  const config = { open: true } as const;
  const page = consoleFiles.get('index.html');
  if (!page) app.log.info('the console page is missing; run: npm run build:web');
  const doc = { tag: 'Documentation', summary: 'The console page', mediaType: 'text/html' } as const;
  app.get(consolePath, { config: { ...config, doc } }, async (request, reply) => send(request, reply, page));
  for (const [name, file] of consoleFiles)
    app.get(`/console/${name}`, { config }, async (request, reply) => send(request, reply, file));
};

function send({ headers }: FastifyRequest, reply: FastifyReply, file: ConsoleFile | undefined): unknown {
  if (!file) return reply.code(404).send({ error: 'the console page is missing; run: npm run build:web' });
  reply.headers(pageHeaders()).header('etag', file.etag).header('vary', 'accept-encoding');
  if (headers['if-none-match'] === file.etag) return reply.code(304).send();
  const gzips = /\bgzip\b/.test(String(headers['accept-encoding'] ?? ''));
  if (gzips) reply.header('content-encoding', 'gzip');
  return reply.type(file.type).send(gzips ? file.gzipped : file.body);
}
