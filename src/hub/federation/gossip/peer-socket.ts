import type { WebSocket } from 'ws';
import { type Envelope, isGenuine, readEnvelope } from './envelope.ts';
import { Handshake, type HandshakeFault } from './handshake.ts';
import type { GossipFault, GossipIntake, Link } from './intake.ts';
import type { MeshOptions } from './options.ts';

/** Events that a socket reports to its mesh. */
export interface SocketOwner {
  readonly intake: GossipIntake;
  /** Returns whether a member may answer where this side has dialled. */
  isExpected(socket: PeerSocket, key: string): boolean;
  /** Returns the text of a signed HEARTBEAT. */
  heartbeat(fields: { readonly challenge?: string; readonly answer?: string }): string;
  /** Takes a socket whose other side has sent a genuine HEARTBEAT of a member. */
  greeted(socket: PeerSocket, greeting: Envelope): void;
  /** Takes a socket whose other side proved its key. @param addr  where others reach it, as it says  @param proof  its HEARTBEAT */
  proved(socket: PeerSocket, addr: string, proof: Envelope): void;
  /** Takes a genuine message of a member that was not seen before. */
  heard(envelope: Envelope, socket: PeerSocket, text: string): void;
  fault(fault: GossipFault | HandshakeFault, socket: PeerSocket): void;
  /** @param reason  of the other side, where it closed the socket */
  closed(socket: PeerSocket, reason: string): void;
}

/** Messages that a side may send before it has proved its key; the handshake takes two. */
const MOST_OF_STRANGER = 4;
/** Bytes that wait for a peer which does not read; with more it is cut off. The longest message has 34 megabytes, in parts. */
const MOST_UNSENT_BYTES = 48 * 1_048_576;
/** Bytes that wait for a peer, above which it is sent nothing of others: who sends much would have honest hubs with a slow link cut off. */
const MOST_UNSENT_OF_OTHERS = 1_048_576;
/** Codes of WebSocket closes. @see RFC 6455, section 7.4.1 */
const [NORMAL, REFUSED] = [1000, 1008];

/** One WebSocket to another hub: first the handshake, then the messages of a member. */
export class PeerSocket implements Link {
  /** Whether this side dialled. */
  readonly isDialled: boolean;
  readonly #socket: WebSocket;
  readonly #owner: SocketOwner;
  readonly #options: MeshOptions;
  readonly #handshake: Handshake;
  #peer: string | null = null;
  #messages = 0;
  #heardAt: number;

  constructor(socket: WebSocket, isDialled: boolean, owner: SocketOwner, options: MeshOptions) {
    this.isDialled = isDialled;
    this.#socket = socket;
    this.#owner = owner;
    this.#options = options;
    this.#handshake = new Handshake(options.key, options.set);
    this.#heardAt = options.now();
    socket.on('message', (data, isBinary) => {
      if (isBinary) this.close('wrong shape');
      else this.#take(String(data));
    });
    socket.on('error', () => socket.terminate());
    socket.on('close', (_, reason) => owner.closed(this, String(reason)));
    if (isDialled) this.send(owner.heartbeat({ challenge: this.#handshake.challenge }));
  }

  /** Key that the other side has proved; null before. */
  get peer(): string | null {
    return this.#peer;
  }

  /** Time of its last HEARTBEAT, epoch milliseconds. */
  get heardAt(): number {
    return this.#heardAt;
  }

  /** Sends a text; cuts the socket off where the other side does not read. */
  send(text: string): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#socket.bufferedAmount > MOST_UNSENT_BYTES) this.#socket.terminate();
    else this.#socket.send(text);
  }

  /** Hands a message of another hub on, unless much waits here: its author sends it to all by itself, and again where nothing moves. */
  handOn(text: string): void {
    if (this.#socket.bufferedAmount <= MOST_UNSENT_OF_OTHERS) this.send(text);
  }

  /** Closes the socket with a reason for the other side. */
  close(reason: string, code = REFUSED): void {
    this.#socket.close(code, reason);
    // Who does not answer the close is not waited for.
    setTimeout(() => this.#socket.terminate(), 1_000).unref();
  }

  #take(text: string): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#peer === null) this.#greet(text);
    else this.#hear(text);
  }

  /** Takes a message of the handshake. Anything else ends the socket: a stranger is owed no work. */
  #greet(text: string): void {
    this.#messages += 1;
    const envelope = this.#messages > MOST_OF_STRANGER ? 'too many' : readEnvelope(text);
    const fault = typeof envelope === 'string' ? envelope : this.#faultOf(envelope);
    const taken = fault ?? this.#handshake.take(envelope as Envelope);
    if (typeof taken === 'string') {
      this.#owner.fault(taken, this);
      this.close(taken, taken === 'own message' ? NORMAL : REFUSED);
      return;
    }
    this.#owner.greeted(this, envelope as Envelope);
    const { isProved, answer, addr } = taken;
    if (answer !== null) this.send(this.#owner.heartbeat({ challenge: this.#handshake.challenge, answer }));
    if (!isProved) return;
    this.#peer = (envelope as Envelope).sender;
    this.#owner.proved(this, addr, envelope as Envelope);
  }

  /** Returns why an envelope cannot be one of a handshake; null when it may be. The signature is checked last. */
  #faultOf(envelope: Envelope): GossipFault | HandshakeFault | null {
    const { key, members, denied, now } = this.#options;
    const { sender, timestamp } = envelope;
    const { intake } = this.#owner;
    if (sender === key.pubkey) return 'own message';
    if (Math.abs(now() - timestamp) > intake.limits.skewMs) return 'another time';
    if (!members().has(sender)) return 'no member';
    // Who is dialled may pass all on to a third hub, to stand between the two.
    if (this.isDialled && !this.#owner.isExpected(this, sender)) return 'another key';
    if (denied.has(sender) || intake.isDenied(sender, now())) return 'denied';
    return isGenuine(envelope) ? null : 'wrong signature';
  }

  /** Takes a message that a member brings, its own or another's. */
  #hear(text: string): void {
    const { intake } = this.#owner;
    const now = this.#options.now();
    const admitted = intake.admit(text, this, now);
    const isEnvelope = typeof admitted !== 'string';
    const fault = isEnvelope ? intake.judge(admitted, this, isGenuine(admitted), now) : admitted;
    if (fault !== null) {
      this.#owner.fault(fault, this);
      if (intake.isDenied(this.#peer!, now)) this.close('denied');
      return;
    }
    const envelope = admitted as Envelope;
    if (envelope.type === 'HEARTBEAT' && envelope.sender === this.#peer) this.#heardAt = now;
    this.#owner.heard(envelope, this, text);
  }
}
