import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { atEnd } from '../cleanup.ts';
import { openTestHub } from '../sync/sync-pair.ts';

/** One call that reached the hub. */
interface RecordedCall {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** A real hub behind a door that writes down the calls that pass, may be shut, and may be slow. */
export interface RecordingHub {
  readonly port: number;
  readonly calls: readonly RecordedCall[];
  isShut: boolean;
  delayMs: number;
  /** Asks the hub itself. */
  ask(method: string, params?: object): Promise<unknown>;
  /** The first page of one of its tables of prices. */
  page(table: string): Promise<unknown>;
}

export async function openRecordingHub(): Promise<RecordingHub> {
  const hub = await openTestHub();
  const url = `http://127.0.0.1:${hub.port}/`;
  const calls: RecordedCall[] = [];
  const post = (body: string) => fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const door = createServer(async (request, response) => {
    if (recording.isShut) {
      request.socket.destroy();
      return;
    }
    const body = (await Array.fromAsync(request)).join('');
    await sleep(recording.delayMs);
    const answer = await post(body);
    calls.push(JSON.parse(body) as RecordedCall);
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
  });
  await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve));
  atEnd(async () => {
    door.closeAllConnections();
    door.close();
  });
  const recording: RecordingHub = {
    port: (door.address() as AddressInfo).port,
    calls,
    isShut: false,
    delayMs: 0,
    ask: async (method, params = {}) => {
      const response = await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
      return ((await response.json()) as { result: unknown }).result;
    },
    page: async (table) => await (await fetch(`${url}hub-db/snapshot/${table}`)).json()
  };
  return recording;
}
