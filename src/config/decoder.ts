import type { ChainNetwork } from '../coin/chains.ts';
import { readNetwork } from '../coin/find-network.ts';
import { profileVariable } from './profile.ts';
import { choice, flag, integer, parsed, port, readDatabaseName, text, type Values } from './variables.ts';

/** Every variable of the decoder. @see the section "Shared configuration" of the specification */
export const decoderVariables = {
  NETWORK: parsed((spelling) => readNetwork(spelling).name, {
    required: true,
    doc: 'chain and network, in any spelling: litecoin-regtest, LTC:regtest, RLTC',
    example: 'litecoin-regtest'
  }),
  NODE_URL: text({ default: 'http://127.0.0.1', doc: 'host of the coin node', example: 'http://127.0.0.1' }),
  NODE_PORT: port({ doc: "the node's RPC port; default: the usual one of the network", example: '19443' }),
  NODE_USER: text({ required: true, doc: "user of the node's RPC", example: 'rpc' }),
  NODE_PASSWORD: text({ required: true, doc: 'its password', example: '<RPC_PASSWORD>', secret: true }),
  AUX_POW: flag({
    default: false,
    doc: 'true for dogecoin, whose blocks are mined together with those of other chains'
  }),
  NODE_RPC_TIMEOUT: integer({ default: 30_000, min: 100, max: 600_000, doc: 'ms that one call of the node may take' }),
  DECODER_DB_HOST: text({ required: true, doc: 'MariaDB of the decoder', example: '127.0.0.1' }),
  DECODER_DB_PORT: port({ default: 3306, doc: 'its port' }),
  DECODER_DB_NAME: parsed(readDatabaseName, {
    required: true,
    doc: 'its database, made when it is missing',
    example: 'Platform_LTC_Regtest_Decoder'
  }),
  DECODER_DB_USER: text({ required: true, doc: 'its user', example: 'decoder' }),
  DECODER_DB_PASS: text({ required: true, doc: 'its password', secret: true }),
  DB_QUERY_TIMEOUT: integer({ default: 30_000, min: 100, max: 600_000, doc: 'ms that one statement may take' }),
  DECODER_API_HOST: text({ default: '0.0.0.0', doc: 'address to listen on', example: '127.0.0.1' }),
  DECODER_API_PORT: port({ default: 3002, doc: 'port of the JSON-RPC interface and the probes' }),
  DECODER_START_BLOCK: integer({
    doc: 'first block of an empty database; default: the one of the network',
    max: 2 ** 32 - 1
  }),
  DECODER_POLL_INTERVAL: integer({ default: 1_000, min: 10, max: 60_000, doc: 'ms between looks for a new block' }),
  DECODER_STALL_ALERT_MS: integer({
    default: 900_000,
    min: 1_000,
    doc: 'ms without progress that /live calls stalled'
  }),
  DECODER_STALL_FETCH_ATTEMPTS: integer({ default: 20, min: 1, doc: 'failed attempts at one height that do so too' }),
  PLATFORM_PROFILE: profileVariable,
  PAYLOAD_MAGIC: text({ doc: '4 ASCII characters that mark payloads; default: those of the profile' }),
  LOG_LEVEL: choice(['fatal', 'error', 'warn', 'info', 'debug', 'trace'], {
    default: 'info',
    doc: 'least level that is logged'
  })
} as const;

export type DecoderConfig = Values<typeof decoderVariables>;

/** What one variable alone cannot tell. @returns one sentence a fault */
function findDecoderFaults(config: DecoderConfig): string[] {
  const faults: string[] = [];
  if (config.PAYLOAD_MAGIC && !/^[\x21-\x7e]{4}$/.test(config.PAYLOAD_MAGIC)) {
    faults.push(
      `PAYLOAD_MAGIC=${JSON.stringify(config.PAYLOAD_MAGIC)} must be 4 ASCII characters; example: PAYLOAD_MAGIC=PNOD`
    );
  }
  if (config.NODE_URL && !URL.canParse(withScheme(config.NODE_URL))) {
    faults.push(
      `NODE_URL=${JSON.stringify(config.NODE_URL)} must be a host or URL; example: NODE_URL=http://127.0.0.1`
    );
  }
  if (config.NETWORK?.startsWith('dogecoin-') && !config.AUX_POW) {
    faults.push('missing required environment variable AUX_POW: dogecoin needs it; example: AUX_POW=true');
  }
  return faults;
}

export const decoderChecks = { prefixes: ['DECODER_'], findFaults: findDecoderFaults } as const;

/** The network that NETWORK names. */
export function networkOf({ NETWORK }: Pick<DecoderConfig, 'NETWORK'>): ChainNetwork {
  return readNetwork(NETWORK);
}

/** `http://host:port` of the coin node. */
export function nodeUrlOf(config: Pick<DecoderConfig, 'NETWORK' | 'NODE_URL' | 'NODE_PORT'>): string {
  const url = new URL(withScheme(config.NODE_URL));
  url.port = String(config.NODE_PORT ?? (url.port || networkOf(config).rpcPort));
  return url.origin;
}

function withScheme(url: string): string {
  return /^https?:\/\//.test(url) ? url : `http://${url}`;
}
