import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { atEnd } from './cleanup.ts';

/** A wire between a client and a server that can be cut, reset, held and slowed. */
export interface Link {
  readonly url: string;
  /** Breaks every connection; new ones pass. */
  cut(): void;
  /** As cut, with a reset instead of an end. */
  reset(): void;
  /** Breaks every connection, and each new one, until it is opened again. */
  block(): void;
  open(): void;
  /** Lets nothing through, and breaks nothing, for so long. */
  hold(ms: number): void;
  /** Lets nothing through of what one end sends, also on connections made meanwhile, and breaks nothing, for so long. */
  holdFrom(end: 'client' | 'server', ms: number): void;
  /** Lets so many bytes a second through on each connection that is made from now on, for so long. */
  slow(bytesPerSecond: number, ms: number): void;
}

/** Opens a wire to a server on this machine. @param url where the server listens, now or later */
export async function openLink(url: string): Promise<Link> {
  const open = new Set<Socket>();
  const ends = { client: new Set<Socket>(), server: new Set<Socket>() };
  const heldEnds = { client: 0, server: 0 };
  const port = Number(new URL(url).port);
  let rate = Number.POSITIVE_INFINITY;
  let blocked = false;
  const server = createServer((near) => {
    if (blocked) {
      near.destroy();
      return;
    }
    const far = connect(port, '127.0.0.1');
    for (const [socket, other, end] of [
      [near, far, 'client'],
      [far, near, 'server']
    ] as const) {
      open.add(socket);
      ends[end].add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        open.delete(socket);
        ends[end].delete(socket);
        other.destroy();
      });
      if (rate === Number.POSITIVE_INFINITY) socket.pipe(other);
      else socket.pipe(throttle(() => rate)).pipe(other);
      if (heldEnds[end] > 0) socket.pause();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  atEnd(async () => {
    server.close();
    cut();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    reset() {
      for (const socket of open) socket.resetAndDestroy();
    },
    block() {
      blocked = true;
      cut();
    },
    open() {
      blocked = false;
    },
    hold(ms) {
      const held = [...open];
      for (const socket of held) socket.pause();
      setTimeout(() => {
        for (const socket of held) socket.resume();
      }, ms).unref();
    },
    holdFrom(end, ms) {
      heldEnds[end] += 1;
      for (const socket of ends[end]) socket.pause();
      setTimeout(() => {
        heldEnds[end] -= 1;
        if (heldEnds[end] === 0) for (const socket of ends[end]) socket.resume();
      }, ms).unref();
    },
    slow(bytesPerSecond, ms) {
      rate = bytesPerSecond;
      setTimeout(() => {
        rate = Number.POSITIVE_INFINITY;
      }, ms).unref();
    }
  };
}

/** Passes bytes on at a rate that is asked anew for each piece. */
function throttle(rate: () => number): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      void sleep((1000 * chunk.length) / rate()).then(() => done(null, chunk));
    }
  });
}
