import type { FastifyPluginAsync } from 'fastify';
import Type from 'typebox';
import type { AddressReader } from '../callers/address.ts';
import { limitDocuments } from '../callers/limits.ts';
import { docsPage } from '../pages/docs-page.ts';
import { sendPage } from '../pages/page.ts';
import type { OpenRpc } from '../rpc/openrpc.ts';
import type { OpenApi } from '../schema/openapi.ts';

const HTML = 'text/html; charset=utf-8';

interface DocumentationDeps {
  readonly document: () => OpenApi;
  /** Description of the methods; absent for a service without JSON-RPC. */
  readonly methods?: OpenRpc['methods'] | undefined;
  readonly addressOf: AddressReader;
  /** Path of the console. */
  readonly console: string;
}

/** `GET /openapi.json`, and `GET /docs`, which shows the same to people. Open: they tell nothing but what anybody may ask for. */
export const documentationRoutes: FastifyPluginAsync<DocumentationDeps> = async (
  app,
  { document, methods, addressOf, console: consolePath }
) => {
  const limit = limitDocuments(app, addressOf);
  /** Bytes that all callers share: a slow reader takes no memory. */
  let pages: { readonly json: Buffer; readonly html: Buffer } | undefined;
  const made = () => {
    if (!pages) {
      const found = document();
      pages = { json: Buffer.from(JSON.stringify(found)), html: Buffer.from(docsPage(found, consolePath, methods)) };
    }
    return pages;
  };
  app.get(
    '/openapi.json',
    {
      config: { open: true, doc: { tag: 'Documentation', summary: 'This document, OpenAPI 3.1', statuses: [429] } },
      onRequest: (request, reply) => limit.take(request, reply),
      schema: { response: { 200: Type.Object({}, { additionalProperties: true }) } }
    },
    (_, reply) => reply.type('application/json; charset=utf-8').send(made().json)
  );
  app.get(
    '/docs',
    {
      config: {
        open: true,
        doc: { tag: 'Documentation', summary: 'The same as a page', mediaType: HTML, statuses: [429] }
      },
      onRequest: (request, reply) => limit.take(request, reply)
    },
    (_, reply) => sendPage(reply, made().html)
  );
};
