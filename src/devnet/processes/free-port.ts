import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { PlatformError } from '../../errors.ts';

const LOWEST = 10_000;
const USUAL_EPHEMERAL_START = 32_768;
const MOST_TRIES = 200;
/** The only port of the range that browsers and `fetch` refuse to ask (WHATWG Fetch, "bad port"). */
const REFUSED_BY_BROWSERS = 10_080;
/** Ports that this process was given last: their services may not listen yet. */
const given: number[] = [];
const MOST_GIVEN = 1_000;

/**
 * Returns a free loopback port that it has not returned of late and that browsers ask, outside the range from which the kernel takes ports of outgoing
 * connections: one of that range could be taken again before its service starts.
 *
 * @throws {PlatformError} PORT_IN_USE when 200 random ports are all in use
 */
export async function freePort(): Promise<number> {
  const end = ephemeralStart();
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const port = randomInt(LOWEST, end);
    if (port === REFUSED_BY_BROWSERS || given.includes(port) || !(await canListen(port)) || given.includes(port))
      continue;
    given.push(port);
    if (given.length > MOST_GIVEN) given.shift();
    return port;
  }
  throw new PlatformError('PORT_IN_USE', {
    reason: `no port of 127.0.0.1 is free among ${MOST_TRIES} tried from ${LOWEST} to ${end - 1}`
  });
}

/** Refuses ports on which another program listens. @throws {PlatformError} PORT_IN_USE with each */
export async function refuseTaken(ports: Readonly<Record<string, number | undefined>>): Promise<void> {
  const given = Object.entries(ports).filter((entry): entry is [string, number] => entry[1] !== undefined);
  const free = await Promise.all(given.map(([, port]) => canListen(port)));
  const taken = given.filter((_, at) => !free[at]).map(([name, port]) => `${name}: 127.0.0.1:${port}`);
  if (taken.length === 0) return;
  throw new PlatformError('PORT_IN_USE', { reason: `another program listens on ${taken.join(', ')}` });
}

/** Returns the start of the kernel's range for outgoing connections; Linux's default when it is unknown or too low. */
function ephemeralStart(): number {
  try {
    const start = Number.parseInt(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'), 10);
    return start > LOWEST + MOST_TRIES ? start : USUAL_EPHEMERAL_START;
  } catch {
    return USUAL_EPHEMERAL_START; // not Linux
  }
}

function canListen(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const probe = createServer();
  probe.once('error', () => resolve(false));
  probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  return promise;
}
