import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { WebSocket, WebSocketServer } from 'ws';
import { PlatformError } from '../../../src/errors.ts';
import type { HubDatabase } from '../../../src/hub/store/database.ts';
import { PriceStream } from '../../../src/hub/stream/price-stream.ts';
import { untilTaken } from '../../../src/hub/stream/until-taken.ts';
import type { Cost } from '../../../src/service/ingress/work-budget.ts';

const MARKS = { removals: 0, price_snapshots: 0, oracle_prices: 10 };

test('a resumption is paid for page by page: the next one is read when nothing is owed for those before', async (t) => {
  const asked: string[] = [];
  const answers: Readonly<Record<string, (at: typeof MARKS, most: number) => unknown>> = {
    highestMarks: () => MARKS,
    lacksRemovals: () => false,
    hasMoreAfter: () => false,
    changesAfter: ({ oracle_prices: last }, most) => ({
      removals: [],
      rows: { price_snapshots: [], oracle_prices: Array.from({ length: most }, (_, at) => ({ id: last + at + 1 })) }
    })
  };
  let isInTurn = false;
  const read = async (name: string, at: typeof MARKS, most: number) => {
    asked.push(name);
    if (name !== 'highestMarks') assert.ok(isInTurn, `${name} is read when it is the turn of its address`);
    return answers[name]!(at, most);
  };
  const database = { read } as unknown as HubDatabase;
  const stream = new PriceStream(database, pino({ level: 'silent' }), { sends: 100, bytes: 1e6 });
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  t.after(() => {
    stream.close();
    server.close();
  });
  const paid: Cost[] = [];
  const owed = Promise.withResolvers<void>();
  server.once('connection', (socket) =>
    stream.subscribe(socket, {
      address: 'a',
      resume: { oracle_prices: 0 },
      sendBuffer: () => ({ waitingBytes: 0, takenBytes: 0 }),
      inTurn: async (work) => {
        isInTurn = true;
        const reading = work();
        isInTurn = false;
        return await reading;
      },
      pay: (cost) => {
        paid.push(cost);
        return owed.promise;
      }
    })
  );
  const rows: number[] = [];
  const socket = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  socket.on('message', (data) => {
    const { type, row } = JSON.parse(String(data)) as { type: string; row?: { id: number } };
    if (type === 'row:inserted') rows.push(row!.id);
  });
  await once(socket, 'open');
  const readings = () => asked.filter((name) => name === 'changesAfter').length;
  for (const until = Date.now() + 5_000; readings() === 0; await sleep(5)) assert.ok(Date.now() < until);
  await sleep(100);
  assert.deepEqual([readings(), paid.length, paid[0]?.rows, rows.length], [1, 1, 2, 0]);
  assert.ok(Number(paid[0]?.bytes) > 100);
  owed.resolve();
  for (const until = Date.now() + 5_000; rows.length < 10; await sleep(5)) assert.ok(Date.now() < until, String(rows));
  assert.deepEqual(rows, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  socket.terminate();
});

test('a crowd that subscribes at once begins with one read, and whose turn does not come is told to come later', async (t) => {
  let reads = 0;
  const read = async () => {
    reads++;
    await sleep(20);
    return MARKS;
  };
  const stream = new PriceStream({ read } as unknown as HubDatabase, pino({ level: 'silent' }), {
    sends: 9,
    bytes: 1e6
  });
  t.after(() => stream.close());
  const events: unknown[][] = [];
  const subscribe = (resume: object) => {
    const socket = Object.assign(new EventEmitter(), {
      readyState: 1,
      OPEN: 1,
      send: (text: string) => events.push([JSON.parse(text).type]),
      close: (...reason: unknown[]) => events.push(reason)
    });
    stream.subscribe(socket as unknown as WebSocket, {
      address: 'a',
      resume,
      sendBuffer: () => ({ waitingBytes: 0, takenBytes: 0 }),
      pay: async () => undefined,
      inTurn: () => Promise.reject(new PlatformError('ANSWERS_WAITING', { reason: 'no turn' }))
    });
  };
  for (let n = 0; n < 50; n++) subscribe({});
  subscribe({ removals: 0 });
  for (const until = Date.now() + 5_000; events.length < 52; await sleep(5)) assert.ok(Date.now() < until);
  assert.ok(reads <= 2, `${reads} reads`);
  assert.deepEqual(events.at(-1), [1013, 'too many others read; reconnect later']);
});

test('a reader that takes nothing is looked at less and less; one that takes something, at once', async () => {
  let [looks, takenBytes] = [0, 0];
  const read = () => {
    looks++;
    return { waitingBytes: 1, takenBytes };
  };
  const waiting = untilTaken(read, { isOpen: () => true, stallMs: 600 });
  setTimeout(() => (takenBytes = 1), 300);
  assert.equal(await waiting, false);
  assert.ok(looks < 25, `${looks} looks in a second`);
});
