import type { ChainNetwork } from '../coin/chains.ts';
import { findNetwork, readNetwork } from '../coin/find-network.ts';
import type { NetworkFromHub } from './load.ts';
import { type HubPlace, integer, parsed, port, text, type Values } from './variables.ts';

const at = (param: string): HubPlace => ({ service: 'node', params: [param], group: 'node' });

/** Variables of every service that uses a coin node. @see the section "Shared configuration" of the specification */
export const nodeVariables = {
  NETWORK: parsed((spelling) => readNetwork(spelling).name, {
    required: true,
    doc: 'chain and network, in any spelling: litecoin-regtest, LTC:regtest, RLTC',
    example: 'litecoin-regtest'
  }),
  NODE_URL: parsed(readNodeUrl, {
    default: 'http://127.0.0.1',
    doc: 'host or URL of the coin node, without account and path',
    example: 'http://127.0.0.1',
    essential: true,
    hub: at('host')
  }),
  NODE_PORT: port({
    doc: 'RPC port of the node; overrides a port in NODE_URL; default: the usual one of the network',
    example: '19443',
    hub: at('port')
  }),
  NODE_USER: text({ required: true, doc: "user of the node's RPC", example: 'rpc', hub: at('user') }),
  NODE_PASSWORD: text({
    required: true,
    doc: 'its password',
    example: '<RPC_PASSWORD>',
    secret: true,
    hub: at('pass')
  }),
  AUX_POW: parsed((word) => !['0', 'false', 'no', 'off'].includes(word.toLowerCase()), {
    default: false,
    doc: 'true for dogecoin, which has merge-mined blocks',
    example: 'true'
  }),
  NODE_RPC_TIMEOUT: integer({ default: 30_000, min: 100, max: 600_000, doc: 'ms that one call to the node may take' })
} as const;

/** Values of `nodeVariables`. */
export type NodeConfig = Values<typeof nodeVariables>;

/** Scheme, account, host, port, and the rest of a URL. */
const NODE_URL = /^(https?):\/\/([^/?#]*@)?(\[[0-9a-fA-F:.]+\]|[^:/?#@[\]]+)(?::(\d{1,5}))?(.*)$/;

/** Reads `node.local` or `http://node.local:80` as a URL. */
function readNodeUrl(entry: string): string {
  const url = /^https?:\/\//.test(entry) ? entry : `http://${entry}`;
  const [, scheme, account, host, port, rest = ''] = NODE_URL.exec(url) ?? [];
  if (scheme === undefined || !URL.canParse(url)) throw new Error('must be a host or URL');
  if (account !== undefined) throw new Error('must hold no account: set NODE_USER and NODE_PASSWORD');
  if (rest !== '' && rest !== '/') throw new Error('must hold no path: a coin node is asked at /');
  return `${scheme}://${host}${port === undefined ? '' : `:${port}`}`;
}

/** Finds faults that concern several variables. @returns one sentence per fault */
export function findNodeFaults({ NETWORK, AUX_POW }: NodeConfig): string[] {
  return NETWORK?.startsWith('dogecoin-') && !AUX_POW
    ? ['missing required environment variable AUX_POW: dogecoin needs it; example: AUX_POW=true']
    : [];
}

/** Returns the network that NETWORK names; undefined when it names none. */
export function findNodeNetwork(textOf: (name: string) => string | undefined): ChainNetwork | undefined {
  return findNetwork(textOf('NETWORK') ?? '');
}

/** Returns the rule that takes NETWORK from the hub: the only network with a module `<prefix>-<service>`. */
export const nodeNetworkFromHub = (service: string): NetworkFromHub => ({
  service,
  textsOf: ({ name }) => ({ NETWORK: name })
});

/** Returns the network of a checked configuration. */
export function networkOf({ NETWORK }: Pick<NodeConfig, 'NETWORK'>): ChainNetwork {
  return readNetwork(NETWORK);
}

/** Returns address, account and time limit for the coin node; `url` is `http://host:port`. */
export function nodeRpcOf(config: NodeConfig) {
  const url = new URL(config.NODE_URL);
  const [, , , , named] = NODE_URL.exec(config.NODE_URL) ?? []; // URL drops the default port of a scheme
  url.port = String(config.NODE_PORT ?? named ?? networkOf(config).rpcPort);
  return {
    url: url.origin,
    user: config.NODE_USER,
    password: config.NODE_PASSWORD,
    timeoutMs: config.NODE_RPC_TIMEOUT
  };
}
