import { databaseOf } from '../config/database.ts';
import { networkOf, nodeRpcOf } from '../config/node.ts';
import { RIGHTS } from '../config/rights.ts';
import { decoderChecks, decoderVariables } from '../config/services/decoder.ts';
import { defineService } from '../service/define.ts';

const load = () => import('./start.ts');

/** The decoder: parses the blocks of a coin node into a decoder database. */
export const service = defineService({
  name: 'decoder',
  command: 'decoder',
  summary: 'parses the blocks of a coin node into a decoder database',
  variables: decoderVariables,
  checks: decoderChecks,
  place: { host: 'DECODER_API_HOST', port: 'DECODER_API_PORT', key: 'DECODER_API_KEY' },
  actors: { decoder: ['decoder', 'mempool', 'restart'] },
  options: {
    'clear-halt': {
      type: 'boolean',
      help: ['allow the deep rollback that a stopped decoder refused, and end'],
      order: async (config) => (await load()).decoderOrders.clearHalt(config)
    },
    migrate: {
      type: 'boolean',
      help: ['apply all pending migrations, manual ones too, and end; stop the decoder and make a backup first'],
      order: async (config) => (await load()).decoderOrders.migrate(config)
    },
    migrations: {
      type: 'boolean',
      help: ['list all migrations with their state, and end'],
      order: async (config) => (await load()).decoderOrders.migrations(config)
    }
  },
  needs: (config) => {
    const network = networkOf(config);
    const blocksFrom = config.DECODER_START_BLOCK ?? network.startBlock;
    return {
      databases: [{ coordinates: databaseOf(config, 'DECODER'), rights: RIGHTS.decoder.DECODER, madeBy: null }],
      node: { network, rpc: nodeRpcOf(config), needs: { hasIndex: true, blocksFrom } }
    };
  },
  start: async (config, start) => (await load()).startDecoder(config, start)
});
