import { databaseVariables } from '../database.ts';
import { hubClientVariables } from '../hub-client.ts';
import { findNodeFaults, findNodeNetwork, nodeNetworkFromHub, nodeVariables } from '../node.ts';
import { magicVariable, profileVariable } from '../profile.ts';
import { serviceVariables } from '../service.ts';
import { choice, integer, type Values } from '../variables.ts';

/** All variables of the decoder. @see the section "Shared configuration" of the specification */
export const decoderVariables = {
  ...nodeVariables,
  ...databaseVariables('DECODER', {
    of: 'of the decoder; a missing database is created',
    name: 'Platform_LTC_Regtest_Decoder',
    service: 'decoder',
    role: 'decoder'
  }),
  DB_QUERY_TIMEOUT: integer({ default: 30_000, min: 100, max: 600_000, doc: 'ms that one statement may take' }),
  ...serviceVariables('DECODER', { service: 'decoder', usualPort: 3002 }),
  DECODER_RATE_LIMIT_RPM: integer({ default: 100, min: 1, doc: 'requests per minute and address' }),
  ...hubClientVariables,
  DECODER_START_BLOCK: integer({
    doc: 'first block of an empty database; default: the one of the network',
    max: 2 ** 32 - 1
  }),
  DECODER_POLL_INTERVAL: integer({ default: 1_000, min: 10, max: 60_000, doc: 'ms between polls for a new block' }),
  DECODER_STALL_ALERT_MS: integer({
    default: 900_000,
    min: 1_000,
    doc: 'ms without progress after which /live reports stalled'
  }),
  DECODER_STALL_FETCH_ATTEMPTS: integer({
    default: 20,
    min: 1,
    doc: 'failed attempts at one height after which /live reports stalled'
  }),
  PLATFORM_PROFILE: profileVariable,
  PAYLOAD_MAGIC: magicVariable,
  SOURCE_HOP: choice(['chunks', 'always'], {
    default: 'chunks',
    doc: 'whose source is read one transaction back; chunks: payloads in chunks; always: every script hash, as history was indexed'
  })
} as const;

/** Values of `decoderVariables`. */
export type DecoderConfig = Values<typeof decoderVariables>;

/** Rules that concern several variables of the decoder. */
export const decoderChecks = {
  prefixes: ['DECODER_'],
  findFaults: findNodeFaults,
  networkOf: findNodeNetwork,
  networkFromHub: nodeNetworkFromHub('decoder')
} as const;
