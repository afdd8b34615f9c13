import { randomUUID } from 'node:crypto';
import type { WebSocket } from 'ws';
import { leaderOf } from '../consensus/rules.ts';
import { Dialler } from './dialler.ts';
import { type Envelope, signEnvelope } from './envelope.ts';
import { type HandshakeFault, readHeartbeat } from './handshake.ts';
import { type GossipFault, GossipIntake } from './intake.ts';
import { Listener } from './listener.ts';
import type { MeshOptions } from './options.ts';
import { outboundOf } from './outbound.ts';
import { PeerSocket, type SocketOwner } from './peer-socket.ts';

/** HEARTBEATs that a peer may miss. */
const MOST_MISSED = 3;
/** Hubs over which a message goes to one that is not connected. */
const MOST_RELAYS = 4;
/** Code of a close that is no refusal. @see RFC 6455, section 7.4.1 */
const NORMAL = 1000;
/** Reason of a close where the same key has a better socket. */
const SECOND_SOCKET = 'second socket';

/**
 * Connections of a hub to the others of its set. A message of any member reaches all of them, also where two are not connected: each hub
 * passes on what it sees for the first time.
 */
export class Mesh implements SocketOwner {
  readonly intake: GossipIntake;
  readonly #options: MeshOptions;
  readonly #listener: Listener;
  /** By key, the one socket of each peer. */
  readonly #peers = new Map<string, PeerSocket>();
  readonly #diallers = new Map<string, Dialler>();
  readonly #dialled = new Map<PeerSocket, Dialler>();
  /** By key, the address that a member has told, and when another one was told last. */
  readonly #logged = new Map<string, string>();
  readonly #movedAt = new Map<string, number>();
  #addr = '';
  #beat: NodeJS.Timeout | null = null;
  #isStopped = false;

  constructor(options: MeshOptions) {
    this.#options = options;
    const { key, members, limits, standing } = options;
    const leader = () => leaderOf({ keys: [...members()].sort() }, standing().view);
    this.intake = new GossipIntake(key.pubkey, members, limits, leader);
    this.#listener = new Listener(options, (socket) => new PeerSocket(socket, false, this, options));
  }

  /** Keys of the hubs that are connected. */
  get peers(): readonly string[] {
    return [...this.#peers.keys()].sort();
  }

  /** Address that others use. */
  get addr(): string {
    return this.#addr;
  }

  /** Listens and dials. @throws the error of the system when the port is taken */
  async start(): Promise<void> {
    const { host, addr, seeds, limits } = this.#options;
    const port = await this.#listener.start();
    this.#addr = addr ?? `ws://${host}:${port}`;
    for (const seed of seeds) this.#dial(seed);
    this.#beat = setInterval(() => this.#beatOnce(), limits.heartbeatMs);
  }

  /** Closes all sockets and dials no more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#beat) clearInterval(this.#beat);
    for (const dialler of this.#diallers.values()) dialler.stop();
    for (const socket of this.#peers.values()) socket.close('stopping', NORMAL);
    await this.#listener.stop();
  }

  /** Sends a message to all hubs of the set. @throws {PlatformError} SOURCE_INVALID when the data has no canonical form */
  publish(type: string, data: Readonly<Record<string, unknown>>): void {
    const text = this.#sign(type, data);
    for (const socket of this.#peers.values()) socket.send(text);
  }

  /** Sends a message to one hub, by its own socket or over a few others: who has no socket may ask for answers all the time. */
  sendTo(to: string, type: string, data: Readonly<Record<string, unknown>>): void {
    const text = this.#sign(type, { ...data, to });
    const direct = this.#peers.get(to);
    for (const socket of direct ? [direct] : this.#someOthers()) socket.send(text);
  }

  /** Returns sockets by which a message may reach a hub that has none here: others at each time, since not all of them may lead there. */
  #someOthers(): readonly PeerSocket[] {
    const others = [...this.#peers.values()];
    const first = Math.floor(Math.random() * others.length);
    return [...others.slice(first), ...others.slice(0, first)].slice(0, MOST_RELAYS);
  }

  heartbeat(fields: { readonly challenge?: string; readonly answer?: string }): string {
    const { version, set, standing } = this.#options;
    const { view, seq } = standing();
    return this.#sign('HEARTBEAT', { version, set, view, seq, addr: this.#addr, ...fields });
  }

  isExpected(socket: PeerSocket, key: string): boolean {
    const address = this.#dialled.get(socket)?.address;
    const owner = address === undefined ? undefined : this.#options.owners.get(address);
    const owners = [...this.#logged].flatMap(([member, logged]) => (logged === address ? [member] : []));
    return (owner === undefined && owners.length === 0) || owner === key || owners.includes(key);
  }

  greeted(socket: PeerSocket, greeting: Envelope): void {
    this.#listener.greet(socket, greeting);
  }

  /** Keeps one socket for each peer: the one that the smaller key dialled; of two such the newer one, since the older may be dead. */
  proved(socket: PeerSocket, addr: string, proof: Envelope): void {
    const peer = socket.peer!;
    this.#listener.settle(socket);
    this.#dialled.get(socket)?.prove(peer);
    this.#learn(peer, addr);
    const before = this.#peers.get(peer);
    const isOfSmaller = ({ isDialled }: PeerSocket) => isDialled === this.#options.key.pubkey < peer;
    if (before && isOfSmaller(before) && !isOfSmaller(socket)) {
      socket.close(SECOND_SOCKET, NORMAL);
      return;
    }
    this.#peers.set(peer, socket);
    before?.close(SECOND_SOCKET, NORMAL);
    this.#options.onMessage(proof, peer); // it says how far the other one is: who is behind need not wait for the next
  }

  heard(envelope: Envelope, socket: PeerSocket, text: string): void {
    const { sender, data } = envelope;
    const heartbeat = readHeartbeat(envelope);
    if (heartbeat) this.#learn(sender, heartbeat.addr);
    const to = data['to'];
    if (to === undefined || to === this.#options.key.pubkey) this.#options.onMessage(envelope, socket.peer!);
    for (const [peer, other] of this.#peers) {
      const isAsked = to === undefined ? peer !== sender && other !== socket : peer === to && sender === socket.peer;
      if (isAsked) other.handOn(text);
    }
  }

  fault(fault: GossipFault | HandshakeFault, { peer }: PeerSocket): void {
    this.#options.onFault(fault, peer);
  }

  closed(socket: PeerSocket, reason: string): void {
    const { peer } = socket;
    this.#listener.settle(socket);
    const dialler = this.#dialled.get(socket);
    this.#dialled.delete(socket);
    if (peer === null) {
      dialler?.lose();
      return;
    }
    if (this.#peers.get(peer) === socket) this.#peers.delete(peer);
    if (this.#peers.has(peer)) return;
    if (reason === SECOND_SOCKET) this.fault('own key', socket);
    const isDenied = this.intake.isDenied(peer, this.#options.now());
    for (const each of this.#diallers.values())
      if (each.peer === peer) {
        if (isDenied) each.deny();
        else each.lose();
      }
  }

  #dial(address: string): void {
    if (this.#isStopped || this.#diallers.has(address) || address === this.#addr) return;
    const { limits } = this.#options;
    const opened = (socket: WebSocket, dialler: Dialler) =>
      this.#dialled.set(new PeerSocket(socket, true, this, this.#options), dialler);
    this.#diallers.set(address, new Dialler(address, limits, opened));
  }

  /** Takes note of a member's address, one for each; dials it where this hub is to. */
  #learn(member: string, address: string): void {
    const { key, members, seeds, limits } = this.#options;
    const before = this.#logged.get(member);
    if (before === address) return;
    // One that tells others all the time would have all hubs dial whatever it names.
    const now = performance.now();
    if (now < (this.#movedAt.get(member) ?? Number.NEGATIVE_INFINITY) + limits.reconnectMaxMs) return;
    if (before !== undefined) this.#movedAt.set(member, now);
    this.#logged.set(member, address);
    if (before !== undefined && !seeds.includes(before) && ![...this.#logged.values()].includes(before)) {
      this.#diallers.get(before)?.stop();
      this.#diallers.delete(before);
    }
    if (outboundOf(key.pubkey, members(), limits).has(member)) this.#dial(address);
  }

  #beatOnce(): void {
    const { now, limits } = this.#options;
    const text = this.heartbeat({});
    for (const socket of this.#peers.values()) {
      if (now() - socket.heardAt > MOST_MISSED * limits.heartbeatMs) socket.close('silent', NORMAL);
      else socket.send(text);
    }
  }

  #sign(type: string, data: Readonly<Record<string, unknown>>): string {
    const { key, now } = this.#options;
    return JSON.stringify(signEnvelope({ type, id: randomUUID(), timestamp: now(), data }, key));
  }
}
