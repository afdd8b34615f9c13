import { connect } from 'node:net';

/** What a stranger does with the answers of a hub. */
export type Greed = 'batches' | 'slow readers';

export type AnswerCrowdAsk =
  | { readonly type: 'begin'; readonly what: Greed; readonly port: number; readonly connections: number }
  | { readonly type: 'end' };

const STRANGER = '127.0.0.2';
const CALLS = 40;
const ROWS = 1_500;
const SLOW_BYTES = 16_384;
const SLOW_MS = 50;

const call = (id: number) => ({ jsonrpc: '2.0', id, method: 'getpricesnapshots', params: { limit: ROWS } });
const BODIES: Readonly<Record<Greed, string>> = {
  batches: JSON.stringify(Array.from({ length: CALLS }, (_, id) => call(id))),
  'slow readers': JSON.stringify(call(1))
};
let isOver = false;

/** Asks again and again; a slow reader takes 300 kB a second. */
function ask(what: Greed, port: number): void {
  if (isOver) return;
  const body = BODIES[what];
  const socket = connect({ host: '127.0.0.1', port, localAddress: STRANGER });
  socket.on('error', () => undefined);
  socket.on('close', () => setTimeout(() => ask(what, port), 100));
  socket.write(
    `POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  );
  if (what === 'batches') socket.resume();
  else {
    const taking = setInterval(() => void socket.read(SLOW_BYTES), SLOW_MS);
    socket.on('close', () => clearInterval(taking));
  }
}

process.on('message', (asked: AnswerCrowdAsk) => {
  if (asked.type === 'begin') for (let n = 0; n < asked.connections; n++) ask(asked.what, asked.port);
  else isOver = true;
  process.send?.(null);
});
