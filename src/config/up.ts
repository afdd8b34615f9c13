import { resolve } from 'node:path';
import { readAuthorities } from './authorities.ts';
import { nodeVariables } from './node.ts';
import { profileVariable } from './profile.ts';
import { defaultStateDirectory } from './state-directory.ts';
import { list, parsed, port, text, type Values } from './variables.ts';

/** Services that `up` can run, in the order of its output; `replica` is a sync client on the same MariaDB. */
export const UP_SERVICES = [
  ...(['hub', 'decoder', 'indexer', 'utxo', 'encoder', 'explorer', 'sync'] as const),
  ...(['miner', 'replica'] as const)
] as const;
type UpService = (typeof UP_SERVICES)[number];

/** Account of a server, out of a URL. */
interface UrlAccount {
  readonly url: URL;
  readonly user: string;
  readonly password: string;
}

function readAccount(entry: string, schemes: readonly string[]): UrlAccount {
  const url = URL.canParse(entry) ? new URL(entry) : null;
  if (!url || !schemes.includes(url.protocol) || url.username === '' || url.hostname === '')
    throw new Error(`must be a URL such as ${schemes[0]}//user:password@host:port`);
  const [user, password] = [url.username, url.password].map(decodeURIComponent) as [string, string];
  return { url, user, password };
}

/**
 * Reads `mysql://root:secret@127.0.0.1:3306`; with `?socket=/path` the account of a socket, with `?ca=/path` one over TLS: the
 * name is then that of the certificate.
 */
function readMariaDb(entry: string) {
  const { url, user, password } = readAccount(entry, ['mysql:', 'mariadb:']);
  const socketPath = url.searchParams.get('socket');
  const path = url.searchParams.get('ca');
  const caFile = path ? resolve(path) : undefined;
  const isAlias = url.hostname === 'localhost' && caFile === undefined;
  const host = isAlias ? '127.0.0.1' : url.hostname.replace(/^\[|\]$/g, '');
  const tls = caFile && { caFile, tls: { ca: readAuthorities(caFile) } };
  return { host, port: Number(url.port || 3306), user, pass: password, ...(socketPath && { socketPath }), ...tls };
}

/** Reads `http://user:password@host:port`. */
function readNode(entry: string) {
  const { url, user, password } = readAccount(entry, ['http:', 'https:']);
  return { host: `${url.protocol}//${url.hostname}`, port: url.port === '' ? null : Number(url.port), user, password };
}

function readService(entry: string): UpService {
  const found = UP_SERVICES.find((name) => name === entry);
  if (!found) throw new Error(`must be of ${UP_SERVICES.join(', ')}, not "${entry}"`);
  return found;
}

/** Variables of `platform-node up`. Ports are those of the services; any other variable of a service is passed on to it. */
export const upVariables = {
  UP_MARIADB_URL: parsed(readMariaDb, {
    required: true,
    secret: true,
    doc: 'account of MariaDB that may make users; a socket is named by ?socket=/path, and by ?ca=/path the authorities of its certificate, with which all services connect by TLS. It makes the accounts, and no service gets it',
    example: 'mysql://root:secret@127.0.0.1:3306'
  }),
  UP_NODE_URL: parsed(readNode, {
    required: true,
    secret: true,
    doc: "RPC of the coin node with its account; without a port the network's usual one",
    example: 'http://rpc:secret@127.0.0.1:19443'
  }),
  NETWORK: nodeVariables.NETWORK,
  UP_STATE_DIR: text({
    default: defaultStateDirectory(),
    doc: 'private directory for passwords, keys, state and logs; the next start continues with them',
    essential: true
  }),
  UP_HOST: text({ default: '127.0.0.1', doc: 'address on which all services listen', example: '127.0.0.1' }),
  UP_SERVICES: list(readService, {
    doc: 'services to run; unset: hub, decoder, indexer, utxo, encoder, explorer and sync, on regtest also miner and replica',
    example: 'hub,decoder,indexer,explorer'
  }),
  HUB_PORT: port({ default: 10_000, doc: 'port of the hub' }),
  DECODER_API_PORT: port({ default: 3002, doc: 'port of the decoder' }),
  INDEXER_API_PORT: port({ default: 3004, doc: 'port of the indexer' }),
  UTXO_TRACKER_API_PORT: port({ default: 3001, doc: 'port of the tracker' }),
  ENCODER_API_PORT: port({ default: 3003, doc: 'port of the encoder' }),
  EXPLORER_API_PORT: port({ default: 8080, doc: 'port of the explorer' }),
  SYNC_API_PORT: port({ default: 3006, doc: 'port of the sync server' }),
  UP_REPLICA_PORT: port({ default: 3007, doc: 'port of the sync client' }),
  REGTEST_MINER_API_PORT: port({ default: 3005, doc: 'port of the miner' }),
  PLATFORM_PROFILE: profileVariable
} as const;

/** Values of `upVariables`. */
export type UpConfig = Values<typeof upVariables>;
