import { findText, type Sources } from './load.ts';
import { readFirstToken } from './tokens.ts';
import { parsed, port, type Variable } from './variables.ts';

type PlaceVariables<P extends string> = { readonly [K in `${P}_URL`]: Variable<string | undefined> } & {
  readonly [K in `${P}_API_PORT`]: Variable<number | undefined>;
} & { readonly [K in `${P}_API_KEY`]: Variable<string | undefined> };

/**
 * Declares the variables that say where another service is: `INDEXER_URL`, and `INDEXER_API_PORT` for a URL without a
 * port. Unset, they are those of the service's module of the hub's configuration. `INDEXER_API_KEY` is the key for it.
 *
 * @param prefix `INDEXER` for INDEXER_URL
 * @param of words that follow "host or URL of"
 * @param service the name of its module
 * @param usualPort the port of the example
 */
export function placeVariables<P extends string>(
  prefix: P,
  { of, service, usualPort }: { readonly of: string; readonly service: string; readonly usualPort: number }
): PlaceVariables<P> {
  const at = (param: string) => ({ service, params: [param], beside: 'db_host' });
  const variables: Record<string, Variable<unknown>> = {
    [`${prefix}_URL`]: parsed(readServiceUrl, {
      doc: `host or URL of ${of}`,
      example: `http://127.0.0.1:${usualPort}`,
      essential: true,
      hub: at('host')
    }),
    [`${prefix}_API_PORT`]: port({
      doc: `its port, where ${prefix}_URL names none; without ${prefix}_URL it is at 127.0.0.1`,
      example: String(usualPort),
      hub: at('service_port')
    }),
    [`${prefix}_API_KEY`]: parsed(readFirstToken, {
      doc: `key sent to it as x-api-key; of several (OLD,NEW) the first is sent; used with a place that ${prefix}_URL or ${prefix}_API_PORT sets here, never with one from the hub`,
      secret: true
    })
  };
  return variables as unknown as PlaceVariables<P>;
}

/**
 * Reads where another service is: `tracker.local` or `https://tracker.local/path`.
 *
 * @returns a URL without a slash at its end
 * @throws {Error} naming the fault
 */
function readServiceUrl(entry: string): string {
  const text = entry.includes('://') ? entry : `http://${entry}`;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new Error('must be a host, or an http or https URL');
  if (url.username !== '' || url.password !== '')
    throw new Error('must have no user and no password: the service asks for none');
  if (url.search !== '' || url.hash !== '') throw new Error('must end with its path: no ? and no #');
  return withoutSlash(url);
}

/**
 * Returns where a service is, without a slash at its end; undefined where neither is set.
 *
 * @param place its URL; default 127.0.0.1
 * @param port counts where the URL names none
 */
export function serviceUrlOf(place: string | undefined, port: number | undefined): string | undefined {
  if (place === undefined && port === undefined) return undefined;
  const url = new URL(place ?? 'http://127.0.0.1');
  if (url.port === '' && port !== undefined) url.port = String(port);
  return withoutSlash(url);
}

const isPlaced = (prefix: string, isSet: (name: string) => boolean) =>
  [`${prefix}_URL`, `${prefix}_API_PORT`].some(isSet);

/** Returns the key to send to a service. One that is set here goes to no place that the hub names. */
export function sentKeyOf(prefix: string, key: string | undefined, local: Sources): string | undefined {
  return isPlaced(prefix, (name) => findText(name, local).text !== undefined) ? key : undefined;
}

/** Returns a sentence on a key that is set and sent nowhere. @param isSet whether a name is set here, and not by the hub */
export function findUnsentKey(prefix: string, isSet: (name: string) => boolean): readonly string[] {
  if (!isSet(`${prefix}_API_KEY`) || isPlaced(prefix, isSet)) return [];
  return [`${prefix}_API_KEY is set and not used: set ${prefix}_URL to the service that it is for, or unset it`];
}

const withoutSlash = ({ href }: URL) => href.replace(/\/+$/, '');

/** Returns an address by which this machine reaches a service that listens on `host`. */
export function reachableHost(host: string): string {
  return { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
}

/** Returns the base URL by which this machine reaches a service that listens on `host`. */
export function reachableUrl(host: string, port: number): string {
  const at = reachableHost(host);
  return `http://${at.includes(':') ? `[${at}]` : at}:${port}`;
}
