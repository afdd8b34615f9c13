import { randomBytes, randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import WebSocket from 'ws';
import { signingKey } from '../../../../src/consensus/auth-signature.ts';
import { signEnvelope } from '../../../../src/hub/federation/gossip/envelope.ts';

/** Attacks at the socket of a hub. */
export const GOSSIP_ATTACKS = ['forged', 'ids', 'large', 'deep', 'slow', 'sockets'] as const;
type GossipAttack = (typeof GOSSIP_ATTACKS)[number];

/** Begins an attack, which lasts until `stop`. */
export type GossipAttackAsk =
  | {
      readonly type: 'begin';
      readonly attack: GossipAttack;
      readonly port: number;
      /** A key of the set, whose messages are forged. */
      readonly member: string;
      readonly set: string;
    }
  | { readonly type: 'stop' };

/** Messages for each tick; a hundred ticks a second. */
const [TICK_MS, PER_TICK, SOCKETS, CROWD] = [10, 100, 10, 1_000];
const LARGE_BYTES = 1_048_000;
const STRANGER = signingKey(randomBytes(32).toString('hex'));

let isOver = false;
let sent = 0;
const open = new Set<WebSocket | Socket>();

/** Another address of the loopback for each connection: a hub bounds what one may have. */
function addressOf(number: number): string {
  return `127.1.${(number >> 8) & 255}.${number & 255}`;
}

function dial(port: number, number: number, onOpen: (socket: WebSocket) => void): void {
  if (isOver) return;
  const socket = new WebSocket(`ws://127.0.0.1:${port}/`, {
    localAddress: addressOf(number),
    perMessageDeflate: false
  });
  open.add(socket);
  socket.on('open', () => onOpen(socket));
  socket.on('error', () => undefined);
  socket.on('close', () => {
    open.delete(socket);
    setTimeout(() => dial(port, number, onOpen), 100);
  });
}

function envelope(sender: string, data: object): string {
  const head = { type: 'HEARTBEAT', id: randomUUID(), sender, timestamp: Date.now(), data };
  return JSON.stringify({ ...head, sig: randomBytes(64).toString('hex') });
}

function messageOf(attack: GossipAttack, member: string, set: string): string {
  switch (attack) {
    case 'ids': {
      const unsigned = { type: 'HEARTBEAT', id: randomUUID(), timestamp: Date.now(), data: { set } };
      return JSON.stringify(signEnvelope(unsigned, STRANGER));
    }
    case 'large':
      return envelope(member, { set, text: 'x'.repeat(LARGE_BYTES) });
    case 'deep':
      return `{"type":"HEARTBEAT","data":${'['.repeat(50_000)}`;
    default:
      return envelope(member, { set });
  }
}

/** Sends messages over some sockets as fast as they are taken, ten thousand a second at most. */
function flood(attack: GossipAttack, port: number, member: string, set: string): void {
  const sockets = new Set<WebSocket>();
  for (let number = 0; number < SOCKETS; number++)
    dial(port, number, (socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    });
  const perTick = attack === 'large' || attack === 'deep' ? 1 : PER_TICK;
  const ticking = setInterval(() => {
    if (isOver) clearInterval(ticking);
    const all = [...sockets].filter((socket) => socket.readyState === WebSocket.OPEN && socket.bufferedAmount < 4e6);
    for (let number = 0; number < perTick && all.length > 0; number++) {
      all[number % all.length]!.send(messageOf(attack, member, set));
      sent += 1;
    }
  }, TICK_MS);
}

/** Opens connections that ask for a WebSocket letter by letter. */
function dawdle(port: number): void {
  const text = 'GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nX-Long: ';
  for (let number = 0; number < CROWD; number++) {
    const socket = connect({ port, host: '127.0.0.1', localAddress: addressOf(number) });
    open.add(socket);
    let at = 0;
    const writing = setInterval(() => socket.write(text[at++] ?? 'x'), 1_000);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearInterval(writing);
      open.delete(socket);
    });
  }
}

process.on('message', (ask: GossipAttackAsk) => {
  if (ask.type === 'stop') {
    isOver = true;
    for (const socket of open) socket instanceof WebSocket ? socket.terminate() : socket.destroy();
    process.send?.(sent);
    return;
  }
  const { attack, port, member, set } = ask;
  if (attack === 'slow') dawdle(port);
  else if (attack === 'sockets') for (let number = 0; number < CROWD; number++) dial(port, number, () => undefined);
  else flood(attack, port, member, set);
  process.send?.(null);
});
