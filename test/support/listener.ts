import assert from 'node:assert/strict';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { FrontDoor } from './sync/front-door.ts';

export interface Message {
  readonly type: string;
  readonly block_height?: number;
  readonly resumed?: true;
  readonly sync_mode?: string;
  readonly block_index?: number;
}

/** A subscriber that keeps all it hears. */
export interface Listener {
  readonly socket: WebSocket;
  readonly heard: Message[];
  readonly closed: Promise<{ code: number; reason: string }>;
}

/** Opens the front door. @returns host and port */
export async function listen(frontDoor: FrontDoor): Promise<string> {
  await frontDoor.app.listen({ host: '127.0.0.1', port: 0 });
  return `127.0.0.1:${(frontDoor.app.server.address() as { port: number }).port}`;
}

export async function subscribe(
  place: string,
  path = '/subscribe/indexer/bitcoin/regtest',
  protocols: string[] = []
): Promise<Listener> {
  const socket = new WebSocket(`ws://${place}${path}`, protocols, { perMessageDeflate: true });
  const heard: Message[] = [];
  socket.on('message', (data) => heard.push(JSON.parse(String(data)) as Message));
  const { promise: closed, resolve } = Promise.withResolvers<{ code: number; reason: string }>();
  socket.on('close', (code, reason) => resolve({ code, reason: String(reason) }));
  await once(socket, 'open');
  return { socket, heard, closed };
}

/** Waits for a condition, at most ten seconds. */
export async function until(condition: () => boolean, what: string): Promise<void> {
  for (let waited = 0; !condition(); waited += 5) {
    assert.ok(waited < 10_000, `in time: ${what}`);
    await sleep(5);
  }
}
