import { networkOf, nodeRpcOf } from '../config/node.ts';
import { findUnsentKey, serviceUrlOf } from '../config/service-url.ts';
import { encoderChecks, encoderVariables } from '../config/services/encoder.ts';
import { defineService } from '../service/define.ts';
import { NODE_NEEDS } from './node-needs.ts';

/** The encoder: builds transactions that carry actions. */
export const service = defineService({
  name: 'encoder',
  command: 'encoder',
  summary: 'builds unsigned transactions that carry actions, and broadcasts signed ones',
  variables: encoderVariables,
  checks: encoderChecks,
  findWarnings: (_, isSet) => findUnsentKey('UTXO_TRACKER', isSet),
  place: { host: 'ENCODER_API_HOST', port: 'ENCODER_API_PORT', key: 'ENCODER_API_KEY' },
  actors: {},
  needs: (config) => {
    const tracker = serviceUrlOf(config.UTXO_TRACKER_URL, config.UTXO_TRACKER_API_PORT);
    return {
      node: { network: networkOf(config), rpc: nodeRpcOf(config), needs: NODE_NEEDS },
      services: tracker === undefined ? [] : [{ variable: 'UTXO_TRACKER_URL', place: tracker }]
    };
  },
  start: async (config, start) => (await import('./start.ts')).startEncoder(config, start)
});
