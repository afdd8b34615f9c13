import type { Documentation } from '../service/schema/openapi.ts';
import {
  AmendmentMessageSchema,
  BlockMessageSchema,
  ReorgMessageSchema,
  SettledMessageSchema,
  StatusMessageSchema
} from '../wire/data/messages.ts';
import { AuthMessageSchema, HeartbeatMessageSchema } from '../wire/validator.ts';

/** The text of sync's `/openapi.json` besides its routes. */
export const SYNC_DOCUMENTATION: Documentation = {
  title: 'platform-node sync',
  description: `Snapshots, a live block stream and a Merkle transparency log of per-chain databases.

Every error has the body of \`Error\`. Checks come in this order: 401, 400 for \`dbType\`, 403, 404 for the combination, 400 for parameters or body, 429, 503.
Answers under a limit carry \`RateLimit\` and \`RateLimit-Policy\`; 429 and 503 carry \`Retry-After\`.`,
  tags: ['State', 'Snapshots', 'Live stream', 'Validators', 'Transparency', 'Comparison', 'Operator', 'Documentation'],
  keys: 'SYNC_API_KEY, when it is set, or SYNC_OPERATOR_KEY',
  schemas: {
    StatusMessage: StatusMessageSchema,
    BlockMessage: BlockMessageSchema,
    ReorgMessage: ReorgMessageSchema,
    AmendmentMessage: AmendmentMessageSchema,
    SettledMessage: SettledMessageSchema,
    HeartbeatMessage: HeartbeatMessageSchema,
    AuthMessage: AuthMessageSchema
  },
  statusesOf: ({ mode }) => (mode ? [403] : [])
};
