import type { Server } from 'node:http';
import type { Socket } from 'node:net';

interface ConnectionLimits {
  /** Connections that are no WebSocket yet. */
  readonly connections: number;
  readonly handshakeMs: number;
}

/**
 * Bounds the connections of a server that have not asked for a WebSocket: who says nothing would hold a descriptor for as long as it likes.
 * One more than the limit closes the oldest.
 */
export function boundConnections(server: Server, { connections, handshakeMs }: ConnectionLimits): void {
  /** Each with the timer that ends it, the oldest first. */
  const waiting = new Map<Socket, NodeJS.Timeout>();
  const settle = (socket: Socket) => {
    clearTimeout(waiting.get(socket));
    waiting.delete(socket);
  };
  server.on('connection', (socket) => {
    const [oldest] = waiting.keys();
    if (oldest && waiting.size >= connections) {
      settle(oldest);
      oldest.destroy();
    }
    waiting.set(
      socket,
      setTimeout(() => socket.destroy(), handshakeMs)
    );
    socket.once('close', () => settle(socket));
  });
  server.on('upgrade', ({ socket }) => settle(socket));
}
