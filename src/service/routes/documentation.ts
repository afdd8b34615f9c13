import type { FastifyPluginAsync, FastifyReply } from 'fastify';
import Type from 'typebox';
import type { OpenApi } from '../openapi.ts';
import { docsPage } from '../pages/docs-page.ts';
import type { Page } from '../pages/page.ts';
import type { OpenRpc } from '../rpc/openrpc.ts';

const HTML = 'text/html; charset=utf-8';

interface DocumentationDeps {
  readonly document: () => OpenApi;
  /** Of a service that speaks JSON-RPC. */
  readonly methods?: OpenRpc['methods'] | undefined;
}

/** `GET /openapi.json`, and `GET /docs`, which shows the same to people. Open: they tell nothing but what anybody may ask for. */
export const documentationRoutes: FastifyPluginAsync<DocumentationDeps> = async (app, { document, methods }) => {
  let pages: { readonly json: string; readonly docs: Page } | undefined;
  const made = () => {
    if (!pages) {
      const found = document();
      pages = { json: JSON.stringify(found), docs: docsPage(found, methods) };
    }
    return pages;
  };
  app.get(
    '/openapi.json',
    {
      config: { open: true, doc: { tag: 'Documentation', summary: 'This document, OpenAPI 3.1' } },
      schema: { response: { 200: Type.Object({}, { additionalProperties: true }) } }
    },
    (_, reply) => reply.type('application/json; charset=utf-8').send(made().json)
  );
  app.get(
    '/docs',
    { config: { open: true, doc: { tag: 'Documentation', summary: 'The same as a page', mediaType: HTML } } },
    (_, reply) => send(reply, made().docs)
  );
};

function send(reply: FastifyReply, { html, policy }: Page): FastifyReply {
  return reply
    .headers({
      'content-security-policy': policy,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-cache'
    })
    .type(HTML)
    .send(html);
}
