import { connect } from 'node:net';

/** A stranger's treatment of answers: it takes them, takes them slowly, or takes nothing. */
type Taking = 'at once' | 'slowly' | 'never';

/** A stranger's request on each connection, and its treatment of the answers. */
export interface Crowd {
  readonly connections: number;
  /** Addresses that they come from, one after the other; default 1. */
  readonly addresses?: number;
  /** Said first, one after the other by whichever connection is next; as latin1. */
  readonly says: readonly string[];
  /** Said again each second while a connection lasts. */
  readonly again?: string;
  readonly taking: Taking;
}

export type AnswerCrowdAsk =
  | { readonly type: 'begin'; readonly port: number; readonly crowd: Crowd }
  | { readonly type: 'end' };

const STRANGER = 2;
const SLOW_BYTES = 16_384;
const SLOW_MS = 50;
const AGAIN_MS = 1_000;
const BACK_MS = 100;
let isOver = false;
let answered = 0;

/** Asks again and again; a slow reader takes 300 kB a second. */
function ask(port: number, crowd: Crowd): void {
  if (isOver) return;
  const { says, again, taking, addresses = 1 } = crowd;
  const localAddress = `127.0.0.${STRANGER + (answered % addresses)}`;
  const socket = connect({ host: '127.0.0.1', port, localAddress });
  const timers: NodeJS.Timeout[] = [];
  socket.on('error', () => undefined);
  socket.on('close', () => {
    for (const timer of timers) clearInterval(timer);
    setTimeout(() => ask(port, crowd), BACK_MS);
  });
  socket.write(Buffer.from(says[answered++ % says.length]!, 'latin1'));
  if (again !== undefined) timers.push(setInterval(() => socket.write(Buffer.from(again, 'latin1')), AGAIN_MS));
  if (taking === 'at once') socket.resume();
  else if (taking === 'slowly') timers.push(setInterval(() => void socket.read(SLOW_BYTES), SLOW_MS));
}

process.on('message', (asked: AnswerCrowdAsk) => {
  if (asked.type === 'begin') for (let n = 0; n < asked.crowd.connections; n++) ask(asked.port, asked.crowd);
  else isOver = true;
  process.send?.(null);
});
