import { isIP } from 'node:net';
import { defaultStateDirectory } from './state-directory.ts';
import { readFirstToken, readTokens } from './tokens.ts';
import { tracingVariables } from './tracing.ts';
import { choice, integer, list, parsed, port, readBaseUrl, text, type Values, type Variable } from './variables.ts';

/** Origins of programs that are no web pages and browsers of their own kind: extensions, and wallets for phones and desktops. */
const OF_PROGRAM = /^(?!https?:|file:|data:|blob:)[a-z][a-z0-9+.-]*:\/\/[a-z0-9._-]+$/;

/** Checks an origin such as `https://console.example`: scheme, host and port as a browser sends them; `*` is any. */
export function readOrigin(entry: string): string {
  if (entry === '*' || OF_PROGRAM.test(entry)) return entry;
  const { origin, protocol } = URL.parse(entry) ?? {};
  if (origin !== entry || !/^https?:$/.test(protocol ?? ''))
    throw new Error(`must be origins such as https://console.example, not "${entry}"`);
  return entry;
}

/** Reads `10.0.0.1`, `10.0.0.0/8`, or a name of several networks. @returns addresses and subnets */
function readProxy(entry: string): readonly string[] {
  const named = NAMED_NETWORKS[entry.toLowerCase()];
  if (named) return named;
  const [address = '', prefix = '0', ...more] = entry.split('/');
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  if (more.length > 0 || !/^\d{1,3}$/.test(prefix) || Number(prefix) > bits)
    throw new Error(
      `must be addresses or subnets such as 10.0.0.0/8, or ${Object.keys(NAMED_NETWORKS).join(', ')}, not "${entry}"`
    );
  if (entry.includes('/') && Number(prefix) === 0)
    throw new Error(`${entry} trusts everybody: each caller could choose its own address`);
  return [entry];
}

function readProxies(text: string): readonly string[] {
  const entries = text.split(',').map((entry) => entry.trim());
  return entries.filter((entry) => entry !== '').flatMap(readProxy);
}

/** Checks `hub.example.com`, `*.example.com` or `*`. */
function readHost(entry: string): string {
  const name = entry.toLowerCase();
  if (!/^(?:\*|(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*)$/.test(name))
    throw new Error(`must be names such as hub.example.com, without a port, not "${entry}"`);
  return name;
}

/** Names of networks in TRUST_PROXY, as other servers use them. */
const NAMED_NETWORKS: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']
};

const MOST_SERVICES = 32;

function readServices(text: string): readonly string[] {
  const urls = text.split(',').map((url) => readBaseUrl(url.trim()));
  if (urls.length > MOST_SERVICES) throw new Error(`must be at most ${MOST_SERVICES} URLs`);
  return urls;
}

/** Variables of the frame that every service has, and of logging. */
export const frameVariables = {
  TRUST_PROXY: parsed(readProxies, {
    doc: 'proxies whose X-Forwarded-For is trusted: addresses, subnets, loopback, linklocal or uniquelocal',
    example: '10.0.0.1',
    essential: true
  }),
  PUBLIC_HOSTS: list(readHost, {
    doc: 'public names of this service, as callers send them in Host; *.example.com for all names below it, * for any; addresses and localhost always count, names without a public suffix too (in a browser only once a key is set), and a request with the key may use any name',
    example: 'hub.example.com',
    essential: true
  }),
  CORS_ORIGINS: list(readOrigin, {
    doc: 'origins whose web pages may call this service and subscribe to it, such as https://wallet.example or chrome-extension://…; `*`: any; unset: only its own pages',
    example: 'https://console.example'
  }),
  HTTP_MAX_PER_IP: integer({
    default: 256,
    min: 1,
    doc: 'most connections per address; WebSockets and proxies in TRUST_PROXY are not counted'
  }),
  MAX_CONNECTIONS: integer({
    default: 10_000,
    min: 1,
    doc: 'most connections of all addresses, including WebSockets; each needs a file descriptor'
  }),
  CONSOLE_SERVICES: parsed(readServices, {
    doc: "base URLs of the platform's other services, at most 32; the console shows them and how blocks pass through all of them",
    example: 'http://127.0.0.1:3002,http://127.0.0.1:3004'
  }),
  CONSOLE_SERVICES_KEY: parsed(readFirstToken, {
    doc: 'key sent to the services in CONSOLE_SERVICES; of several (OLD,NEW) the first is sent',
    secret: true
  }),
  SHUTDOWN_GRACE_MS: integer({ default: 10_000, min: 100, doc: 'ms for a graceful stop' }),
  ...tracingVariables,
  LOG_LEVEL: choice(['fatal', 'error', 'warn', 'info', 'debug', 'trace'], {
    default: 'info',
    doc: 'lowest level that is logged'
  })
} as const;

/** Values of `frameVariables`. */
export type FrameConfig = Values<typeof frameVariables>;

/** Variable of every service but sync, which has SYNC_STATE_DIR. */
export const stateVariables = {
  STATE_DIR: text({
    default: defaultStateDirectory(),
    doc: 'private directory; below it each service has one of its own, by name and port, for pauses and the audit log'
  })
} as const;

/** Values of `stateVariables`. */
export type StateConfig = Values<typeof stateVariables>;

type ServiceVariables<P extends string> = { readonly [K in `${P}_API_HOST`]: Variable<string | undefined> } & {
  readonly [K in `${P}_API_PORT`]: Variable<number>;
} & { readonly [K in `${P}_API_KEY`]: Variable<readonly string[] | undefined> } & typeof stateVariables &
  typeof frameVariables;

/** Listening addresses of a public service, and of one that only its own machine may reach. */
const [EVERYWHERE, HERE] = ['0.0.0.0', '127.0.0.1'];

/**
 * Returns the place where a service listens, with the variables that set it. Without a key and without a set address,
 * it is the service's own machine.
 *
 * @param prefix `DECODER` for DECODER_API_PORT
 * @param key variable of the key when it has another prefix
 */
export function placeOf<P extends string, K extends string = `${P}_API_KEY`>(
  config: Readonly<
    Record<`${P}_API_HOST`, string | undefined> & Record<`${P}_API_PORT`, number> & Partial<Record<K, unknown>>
  >,
  prefix: P,
  key = `${prefix}_API_KEY` as K
) {
  const variables = { host: `${prefix}_API_HOST`, port: `${prefix}_API_PORT`, key } as const;
  const values: Readonly<Record<string, unknown>> = config;
  const [host, port] = [values[variables.host] as string | undefined, values[variables.port] as number];
  const hasKey = values[key] !== undefined;
  const isHidden = host === undefined && !hasKey;
  return { host: host ?? (hasKey ? EVERYWHERE : HERE), port, variables, hasKey, isHidden };
}

interface ServiceListing {
  /** Name in the hub's configuration: `decoder` for `<prefix>-decoder`. */
  readonly service: string;
  /** Port in the specification's port map. */
  readonly usualPort: number;
  /** Whether everybody may read from it: it then listens everywhere, even without a key. */
  readonly isPublic?: boolean;
}

/**
 * Declares the variables of a service: address, port, key, and those of the frame.
 *
 * @param prefix `DECODER` for DECODER_API_PORT
 */
export function serviceVariables<P extends string>(
  prefix: P,
  { service, usualPort, isPublic = false }: ServiceListing
): ServiceVariables<P> {
  const hub = { service, params: ['service_port'] };
  return {
    [`${prefix}_API_HOST`]: isPublic
      ? text({ default: EVERYWHERE, doc: 'address to listen on', example: HERE })
      : text({ doc: `address to listen on; unset: ${EVERYWHERE} when a key is set, else ${HERE}`, example: HERE }),
    [`${prefix}_API_PORT`]: port({ default: usualPort, doc: 'port of its interface and its probes', hub }),
    [`${prefix}_API_KEY`]: parsed(readTokens, {
      doc: 'key for reading /metrics and /debug and for ending and restarting actors; of several (OLD,NEW) all are accepted; unset: everyone may read, nobody may end actors',
      secret: true,
      essential: true
    }),
    ...stateVariables,
    ...frameVariables
  } as unknown as ServiceVariables<P>;
}
