import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { PlatformError } from '../../errors.ts';

/** Names that no public name server may answer for. Neighbours in a network may give such names to themselves. */
const PRIVATE_NAME =
  /^[^.]+$|\.(?:localhost|local|localdomain|internal|intranet|lan|home|corp|private|test|svc|home\.arpa)$/;

/** A resolver answers for these by itself. */
const OWN = /^(?:.*\.)?localhost$/;
const OWN_NAME = hostname().toLowerCase();

/** Returns whether a browser asks: it says whose page a write or a WebSocket is of, and cannot leave that out. */
const isOfPage = (headers: IncomingMessage['headers']): boolean =>
  headers.origin !== undefined ||
  headers['sec-fetch-site'] !== undefined ||
  /^Mozilla\b/.test(headers['user-agent'] ?? '');

/** Returns the host of `hub.example.com:443` and `[::1]:80` without the port, in lower case. */
function hostNameIn(authority: string): string {
  const [, bracketed, plain = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(authority.trim().toLowerCase()) ?? [];
  return (bracketed ?? plain).replace(/\.$/, '');
}

/** Names under which callers may address a service, and origins whose pages may open a WebSocket. */
export class Hosts {
  readonly #names: ReadonlySet<string>;
  readonly #below: readonly string[];
  readonly #origins: ReadonlySet<string>;
  readonly #takesAny: boolean;

  /**
   * @param names PUBLIC_HOSTS: names, `*.example.com` for all below one, `*` for any
   * @param origins CORS_ORIGINS
   */
  constructor(names: readonly string[] = [], origins: readonly string[] = []) {
    this.#takesAny = names.includes('*');
    this.#names = new Set(names.filter((name) => !name.startsWith('*')));
    this.#below = names.filter((name) => name.startsWith('*.')).map((name) => name.slice(1));
    this.#origins = new Set(origins);
  }

  /**
   * Sees that a request names this service by an address, by a name that is no public one, or by one that is listed. Any other name may
   * be a stranger's that points here, by which a page of the stranger's would be of this service's origin. A page may be a neighbour's
   * too: where nothing asks it for a key it has to name an address, `localhost`, this machine or a name that is listed.
   *
   * @param hasKey whether this service has a key
   * @throws {PlatformError} HOST_UNKNOWN
   */
  checkName({ headers }: IncomingMessage, hasKey: boolean): void {
    const name = hostNameIn(headers.host ?? 'localhost');
    if (this.#takesAny || isIP(name) > 0 || OWN.test(name) || name === OWN_NAME || this.#names.has(name)) return;
    if (PRIVATE_NAME.test(name) && (hasKey || !isOfPage(headers))) return;
    if (this.#below.some((end) => name.endsWith(end))) return;
    const reason = `this service is not known by the name "${name.slice(0, 80)}": its operator lists names in PUBLIC_HOSTS`;
    throw new PlatformError('HOST_UNKNOWN', { reason });
  }

  /** Sees that a page that opens a WebSocket is of this service or of a listed origin. @throws {PlatformError} ORIGIN_REFUSED */
  checkOrigin({ headers }: IncomingMessage): void {
    const { origin, host } = headers;
    if (origin === undefined || this.#origins.has(origin) || this.#origins.has('*')) return;
    const page = URL.parse(origin);
    if (page && URL.parse(`${page.protocol}//${host}`)?.host === page.host) return;
    const reason = `pages of ${origin.slice(0, 80)} may not subscribe here: the operator lists origins in CORS_ORIGINS`;
    throw new PlatformError('ORIGIN_REFUSED', { reason });
  }
}
