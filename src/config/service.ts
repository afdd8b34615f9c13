import { isIP } from 'node:net';
import { readTokens } from './tokens.ts';
import { choice, integer, list, parsed, port, readBaseUrl, text, type Values, type Variable } from './variables.ts';

/** `https://console.example`: scheme, host and port as a browser sends them. */
export function readOrigin(entry: string): string {
  const { origin, protocol } = URL.parse(entry) ?? {};
  if (origin !== entry || !/^https?:$/.test(protocol ?? ''))
    throw new Error(`must be origins such as https://console.example, not "${entry}"`);
  return entry;
}

/** `10.0.0.1`, `10.0.0.0/8`, or a name of several networks. @returns addresses and subnets */
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
    throw new Error(`${entry} is everybody: each caller could choose his own address`);
  return [entry];
}

function readProxies(text: string): readonly string[] {
  const entries = text.split(',').map((entry) => entry.trim());
  return entries.filter((entry) => entry !== '').flatMap(readProxy);
}

/** `hub.example.com`, `*.example.com` or `*`. */
function readHost(entry: string): string {
  const name = entry.toLowerCase();
  if (!/^(?:\*|(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*)$/.test(name))
    throw new Error(`must be names such as hub.example.com, without a port, not "${entry}"`);
  return name;
}

/** As other servers name them, for TRUST_PROXY. */
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

/** What the frame of every service reads, and what the service logs. */
export const frameVariables = {
  TRUST_PROXY: parsed(readProxies, {
    doc: 'addresses, subnets, or loopback, linklocal, uniquelocal, of proxies whose X-Forwarded-For counts',
    example: '10.0.0.1'
  }),
  PUBLIC_HOSTS: list(readHost, {
    doc: 'public names by which callers reach this service, as in Host, *.example.com for all below one, * for any; addresses, localhost and names without a public suffix count anyway (of the last, in a browser, only where there is a key), and any name with a key',
    example: 'hub.example.com'
  }),
  CORS_ORIGINS: list(readOrigin, {
    doc: 'origins whose web pages may call this service and subscribe to it; unset: none but its own',
    example: 'https://console.example'
  }),
  HTTP_MAX_PER_IP: integer({
    default: 256,
    min: 1,
    doc: 'connections per address, without WebSockets; those of a proxy in TRUST_PROXY are not counted'
  }),
  MAX_CONNECTIONS: integer({
    default: 10_000,
    min: 1,
    doc: 'connections of all addresses, with WebSockets; each needs a file descriptor'
  }),
  CONSOLE_SERVICES: parsed(readServices, {
    doc: 'base URLs of the other services of the platform, at most 32; the console shows them and the way of blocks through all of them',
    example: 'http://127.0.0.1:3002,http://127.0.0.1:3004'
  }),
  CONSOLE_SERVICES_KEY: text({ doc: 'key of the services in CONSOLE_SERVICES', secret: true }),
  SHUTDOWN_GRACE_MS: integer({ default: 10_000, min: 100, doc: 'ms for a graceful stop' }),
  OTEL_EXPORTER_OTLP_ENDPOINT: parsed(readBaseUrl, {
    doc: 'base URL of an OpenTelemetry collector (OTLP by HTTP) for traces; unset: no traces',
    example: 'http://127.0.0.1:4318'
  }),
  LOG_LEVEL: choice(['fatal', 'error', 'warn', 'info', 'debug', 'trace'], {
    default: 'info',
    doc: 'lowest level that is logged'
  })
} as const;

export type FrameConfig = Values<typeof frameVariables>;

type ServiceVariables<P extends string> = { readonly [K in `${P}_API_HOST`]: Variable<string | undefined> } & {
  readonly [K in `${P}_API_PORT`]: Variable<number>;
} & { readonly [K in `${P}_API_KEY`]: Variable<readonly string[] | undefined> } & typeof frameVariables;

/** Of a service that everyone may reach, and of one that only its own machine may. */
const [EVERYWHERE, HERE] = ['0.0.0.0', '127.0.0.1'];

/**
 * Where a service listens by its configuration, and the variables that say so. Without a key and without an address that is set, it
 * listens on its own machine only.
 *
 * @param prefix `DECODER` for DECODER_API_PORT
 * @param key variable of its key where it has another prefix
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
  /** Its name in the hub's configuration: `decoder` for `<prefix>-decoder`. */
  readonly service: string;
  /** Of the specification's port map. */
  readonly usualPort: number;
  /** It only reads, for everyone: it listens everywhere also without a key. */
  readonly isPublic?: boolean;
}

/**
 * Where a service listens, its key, and what its frame reads.
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
      : text({ doc: `address to listen on; unset: ${EVERYWHERE} where a key is set, else ${HERE}`, example: HERE }),
    [`${prefix}_API_PORT`]: port({ default: usualPort, doc: 'port of its interface and its probes', hub }),
    [`${prefix}_API_KEY`]: parsed(readTokens, {
      doc: 'key for reading /metrics and /debug and for ending and restarting actors; of several (OLD,NEW) all are accepted; unset: everyone may read, nobody may end actors',
      secret: true
    }),
    ...frameVariables
  } as unknown as ServiceVariables<P>;
}
