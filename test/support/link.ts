import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { atEnd } from './cleanup.ts';

/** A wire between a client and a server that can be cut and held. */
export interface Link {
  readonly url: string;
  /** Breaks every connection; new ones pass. */
  cut(): void;
  /** Lets nothing through, and breaks nothing, for so long. */
  hold(ms: number): void;
}

/** Opens a wire to a server on this machine. @param url where the server listens, now or later */
export async function openLink(url: string): Promise<Link> {
  const open = new Set<Socket>();
  const port = Number(new URL(url).port);
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    for (const [socket, other] of [
      [near, far],
      [far, near]
    ] as const) {
      open.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        open.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
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
    hold(ms) {
      const held = [...open];
      for (const socket of held) socket.pause();
      setTimeout(() => {
        for (const socket of held) socket.resume();
      }, ms).unref();
    }
  };
}
