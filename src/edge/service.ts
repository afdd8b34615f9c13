import { edgeVariables, findEdgeFaults } from '../config/services/edge.ts';
import { defineService } from '../service/define.ts';

/** An edge: passes on the live streams of sync servers, without a database. */
export const service = defineService({
  name: 'edge',
  command: 'edge',
  summary: "an edge of a sync server: serves subscribers from the server's streams in NATS, without a database",
  variables: edgeVariables,
  checks: { prefixes: ['EDGE_'], findFaults: findEdgeFaults },
  place: { host: 'EDGE_API_HOST', port: 'EDGE_API_PORT', key: 'EDGE_API_KEY' },
  actors: {},
  needs: ({ SYNC_ORIGIN_URL: place }) => ({
    services: place === undefined ? [] : [{ variable: 'SYNC_ORIGIN_URL', place }]
  }),
  start: async (config, start) => (await import('./start.ts')).startEdge(config, start)
});
