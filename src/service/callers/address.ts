import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, type Socket, SocketAddress } from 'node:net';
import { PlatformError } from '../../errors.ts';

/** Says under which address a caller is counted. */
export type AddressReader = (request: IncomingMessage) => string;

/** Says under which address a connection is counted; undefined: under none, for it is a listed proxy's. */
type PeerReader = (socket: Pick<Socket, 'remoteAddress'>) => string | undefined;

/**
 * Returns a reader of callers' addresses. The socket's address decides; X-Forwarded-For is the caller's to forge and
 * counts only behind a proxy that is listed.
 *
 * @param trusted addresses or `address/prefix` subnets (TRUST_PROXY)
 * @returns IPv4 as it is (IPv4-mapped too), IPv6 by its first 64 bits, pages of other sites in a browser of this machine under a name of
 * their own; of a request the address that it had when it was asked first, since a request loses its socket when its body is refused
 * @throws {PlatformError} CONFIG_INVALID
 */
export function createAddressReader(trusted: readonly string[] = []): AddressReader {
  const isProxy = readProxies(trusted);
  const known = new WeakMap<IncomingMessage, string>();
  return (request) => {
    const before = known.get(request);
    if (before !== undefined) return before;
    let address = plain(request.socket.remoteAddress ?? '');
    const forwarded = String(request.headers['x-forwarded-for'] ?? '').split(',');
    // From the nearest hop backwards: each entry was written by the one after it.
    while (isProxy(address)) {
      const previous = plain(withoutPort(forwarded.pop()?.trim() ?? ''));
      if (!isIP(previous)) break;
      address = previous;
    }
    const name = `${counted(address)}${isOfOtherSite(request) ? OF_OTHER_SITES : ''}`;
    known.set(request, name);
    return name;
  };
}

/** End of the name under which pages of other sites are counted, in the browser of somebody on this machine. */
const OF_OTHER_SITES = '#other-sites';
/** Words of browsers for pages that are not of this service: those of another port of this host, too. */
const OTHER_SITES: ReadonlySet<string> = new Set(['cross-site', 'same-site']);

/**
 * Returns whether a page of another site asks, by a browser of this machine. It can read nothing, and would else use up
 * the requests of this machine's programs.
 */
function isOfOtherSite(request: IncomingMessage): boolean {
  return OTHER_SITES.has(String(request.headers['sec-fetch-site'])) && isNear(request, 'loopback');
}

/** Removes the port from `8.8.8.8:1234`, `[2001:db8::1]:80` and `[2001:db8::1]`, as gateways write them. */
function withoutPort(entry: string): string {
  return /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(entry)?.[1] ?? /^\[(.*)\](?::\d+)?$/.exec(entry)?.[1] ?? entry;
}

/** Addresses that only this machine, or its own networks, can have. */
const OF_MACHINE = ['127.0.0.0/8', '::1/128'];
const OF_NETWORK = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16', 'fe80::/10', 'fc00::/7'];
const LOOPBACK = readProxies(OF_MACHINE);
const NEAR = readProxies([...OF_MACHINE, ...OF_NETWORK]);

/**
 * Returns whether a caller is on this machine, or in a network of its own. One that a proxy brings, which is not
 * listed, may be anywhere.
 *
 * @param within `loopback`: on this machine
 */
export function isNear(request: IncomingMessage, within: 'loopback' | 'network'): boolean {
  if (wasPassedOn(request)) return false;
  return within === 'loopback' ? isOfMachine(request.socket) : NEAR(plain(request.socket.remoteAddress ?? ''));
}

/** Returns whether the other end of a connection is on this machine; it may be a proxy. */
export const isOfMachine = ({ remoteAddress }: Pick<Socket, 'remoteAddress'>): boolean =>
  LOOPBACK(plain(remoteAddress ?? ''));

/** Beginnings of the names of header fields by which proxies name their callers. */
const OF_PROXIES =
  /^(?:forwarded$|via$|x-forwarded|x-real-ip|x-client-ip|x-cluster-client|x-original|x-envoy|x-amzn|x-azure|cf-|true-client-ip|fastly-|fly-)/;

/** Returns whether a proxy brings a request: it says so, or asks by HTTP 1.0 as nginx does where nobody tells it more. */
function wasPassedOn({ headers, httpVersion }: Pick<IncomingMessage, 'headers' | 'httpVersion'>): boolean {
  return httpVersion === '1.0' || Object.keys(headers).some((name) => OF_PROXIES.test(name));
}

/** Returns the same reader for a connection before it has asked anything. @throws {PlatformError} CONFIG_INVALID */
export function createPeerReader(trusted: readonly string[] = []): PeerReader {
  const isProxy = readProxies(trusted);
  return ({ remoteAddress }) => {
    const address = plain(remoteAddress ?? '');
    return isProxy(address) ? undefined : counted(address);
  };
}

function readProxies(entries: readonly string[]): (address: string) => boolean {
  if (entries.length === 0) return () => false; // an empty list still makes an object of each address that it is asked for
  const list = new BlockList();
  for (const entry of entries) {
    const [address = '', prefix] = entry.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    try {
      if (prefix === undefined) list.addAddress(address, family);
      else list.addSubnet(address, Number(prefix), family);
    } catch (cause) {
      const reason = `TRUST_PROXY must list addresses, subnets such as 10.0.0.0/8, or loopback, not "${entry}"`;
      throw new PlatformError('CONFIG_INVALID', { reason }, { cause });
    }
  }
  return (address) => isIP(address) > 0 && list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

function counted(address: string): string {
  return isIP(address) === 6 ? firstHalf(address) : address;
}

/** Returns `::ffff:10.0.0.1` as the IPv4 address that it is on a dual-stack socket. */
function plain(address: string): string {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
}

function firstHalf(address: string): string {
  const { address: canonical } = new SocketAddress({ address: address.replace(/%.*$/, ''), family: 'ipv6' });
  const [head = '', tail] = canonical.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const groups = [...left, ...Array.from({ length: 8 - left.length - right.length }, () => '0'), ...right];
  return `${groups.slice(0, 4).join(':')}::/64`;
}
