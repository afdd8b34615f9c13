import { frameVariables, stateVariables } from '../service.ts';
import { readFirstToken, readTokens } from '../tokens.ts';
import { parsed, port, readBaseUrl, text, type Values } from '../variables.ts';
import { syncVariables } from './sync.ts';

const {
  SNAPSHOT_CACHE_DIR,
  SNAPSHOT_CACHE_MAX_BYTES,
  SYNC_NATS_URL,
  SYNC_NATS_CREDS,
  SYNC_NATS_TOKEN,
  SNAPSHOT_RATE_FULL,
  SNAPSHOT_RATE_INCR,
  WS_MAX_PER_IP,
  WS_MAX_MESSAGE_BYTES,
  WS_BACKPRESSURE_MAX_BYTES,
  WS_BACKPRESSURE_STALL_MS,
  WS_STATUS_INTERVAL,
  WS_PING_INTERVAL,
  VALIDATOR_HEARTBEAT_TTL,
  VALIDATOR_PUBKEYS,
  SYNC_PUBLIC_HOSTS,
  READY_MAX_LAG
} = syncVariables;

/** All variables of an edge: those of a sync server's front door, and where its messages and snapshots come from. */
export const edgeVariables = {
  EDGE_API_PORT: port({ default: 3012, doc: 'port of REST and WebSocket' }),
  EDGE_API_HOST: text({
    doc: 'address to listen on; unset: with EDGE_API_KEY 0.0.0.0, else 127.0.0.1',
    example: '127.0.0.1'
  }),
  EDGE_API_KEY: parsed(readTokens, {
    doc: 'Bearer token that callers must send; of several (OLD,NEW) all are accepted',
    secret: true,
    essential: true
  }),
  EDGE_OPERATOR_KEY: parsed(readTokens, {
    doc: 'Bearer token for what changes the service; unset: EDGE_API_KEY',
    secret: true
  }),
  SYNC_ORIGIN_URL: parsed(readBaseUrl, {
    doc: 'base URL of the sync server that answers what needs a database, such as snapshots; unset: that is 503',
    example: 'http://sync1:3006',
    essential: true
  }),
  SYNC_ORIGIN_KEY: parsed(readFirstToken, { doc: 'Bearer token that is sent to it', secret: true }),
  SYNC_NATS_URL: { ...SYNC_NATS_URL, doc: 'NATS servers of one cluster, whose streams are passed on', required: true },
  SYNC_NATS_CREDS,
  SYNC_NATS_TOKEN,
  SNAPSHOT_CACHE_DIR: {
    ...SNAPSHOT_CACHE_DIR,
    doc: "directory of snapshots from NATS; default: below the system's directory of temporary files"
  },
  SNAPSHOT_CACHE_MAX_BYTES: {
    ...SNAPSHOT_CACHE_MAX_BYTES,
    doc: 'bytes of these snapshots, with those being read; one without room is asked at SYNC_ORIGIN_URL'
  },
  SNAPSHOT_RATE_FULL,
  SNAPSHOT_RATE_INCR,
  WS_MAX_PER_IP,
  WS_MAX_MESSAGE_BYTES,
  WS_BACKPRESSURE_MAX_BYTES,
  WS_BACKPRESSURE_STALL_MS,
  WS_STATUS_INTERVAL,
  WS_PING_INTERVAL,
  VALIDATOR_HEARTBEAT_TTL,
  VALIDATOR_PUBKEYS,
  SYNC_PUBLIC_HOSTS,
  READY_MAX_LAG,
  ...stateVariables,
  ...frameVariables
} as const;

/** Values of `edgeVariables`. */
export type EdgeConfig = Values<typeof edgeVariables>;

/** Finds faults that concern several variables. @returns one sentence per fault */
export function findEdgeFaults({ EDGE_API_KEY = [], EDGE_OPERATOR_KEY = [], ...nats }: EdgeConfig): string[] {
  const faults: string[] = [];
  if (EDGE_OPERATOR_KEY.some((key) => EDGE_API_KEY.includes(key)))
    faults.push('EDGE_OPERATOR_KEY=[secret] must differ from EDGE_API_KEY: otherwise every reader could operate');
  if (nats.SYNC_NATS_CREDS !== undefined && nats.SYNC_NATS_TOKEN !== undefined)
    faults.push('SYNC_NATS_CREDS and SYNC_NATS_TOKEN=[secret] are both set: NATS takes one of them');
  return faults;
}
