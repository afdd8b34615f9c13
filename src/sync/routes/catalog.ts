import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { CatalogSchema } from '../../wire/log/catalog.ts';
import type { AppDeps } from '../http/deps.ts';

/** `GET /catalog`: the databases of this process with their sizes; kept for CATALOG_CACHE_MS, in both modes. */
export const catalogRoutes: FastifyPluginAsyncTypebox<Pick<AppDeps, 'catalog'>> = async (app, { catalog }) => {
  app.get(
    '/catalog',
    {
      config: { doc: { tag: 'State', summary: 'The databases of this process with their sizes on disk' } },
      schema: { response: { 200: CatalogSchema } }
    },
    async () => catalog.read()
  );
};
