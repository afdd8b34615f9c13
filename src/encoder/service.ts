import { encoderChecks, encoderVariables } from '../config/services/encoder.ts';
import { defineService } from '../service/define.ts';

/** The encoder: builds transactions that carry actions. */
export const service = defineService({
  name: 'encoder',
  command: 'encoder',
  summary: 'builds unsigned transactions that carry actions, and broadcasts signed ones',
  variables: encoderVariables,
  checks: encoderChecks,
  place: { host: 'ENCODER_API_HOST', port: 'ENCODER_API_PORT', key: 'ENCODER_API_KEY' },
  actors: {},
  start: async (config, start) => (await import('./start.ts')).startEncoder(config, start)
});
