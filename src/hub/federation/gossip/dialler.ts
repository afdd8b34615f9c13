import WebSocket from 'ws';
import { type Actor, createActor } from 'xstate';
import { peerMachine } from '../../../../machines/hub/peer.ts';
import { MOST_ENVELOPE_BYTES } from './envelope.ts';
import type { MeshLimits } from './options.ts';

/** Dials one address again and again, as the machine `peer` says. */
export class Dialler {
  readonly address: string;
  /** Key that was proved at the address; null before. */
  peer: string | null = null;
  readonly #actor: Actor<typeof peerMachine>;
  readonly #opened: (socket: WebSocket, dialler: Dialler) => void;
  #socket: WebSocket | null = null;

  /** @param opened  takes each socket that is open */
  constructor(address: string, limits: MeshLimits, opened: (socket: WebSocket, dialler: Dialler) => void) {
    this.address = address;
    this.#opened = opened;
    const machine = peerMachine.provide({ actions: { dial: () => this.#dial(), hangUp: () => this.#hangUp() } });
    const { reconnectBaseMs: baseMs, reconnectMaxMs: longestMs, denyMs, handshakeMs } = limits;
    this.#actor = createActor(machine, { input: { baseMs, longestMs, denyMs, handshakeMs, draw: Math.random } });
    this.#actor.start();
  }

  /** State of the machine. */
  get state(): string {
    return this.#actor.getSnapshot().value;
  }

  /** Takes note of the key that the other side has proved. */
  prove(peer: string): void {
    this.peer = peer;
    this.#actor.send({ type: 'key.proved' });
  }

  /** Takes note that no socket of the peer is left. */
  lose(): void {
    this.#actor.send({ type: 'socket.closed' });
  }

  deny(): void {
    this.#actor.send({ type: 'peer.denied' });
  }

  stop(): void {
    this.#actor.send({ type: 'stop.requested' });
  }

  #dial(): void {
    const socket = new WebSocket(this.address, {
      perMessageDeflate: false,
      maxPayload: MOST_ENVELOPE_BYTES,
      followRedirects: false
    });
    this.#socket = socket;
    let isOpen = false;
    socket.on('error', () => socket.terminate());
    socket.on('open', () => {
      isOpen = true;
      this.#actor.send({ type: 'socket.opened' });
      this.#opened(socket, this);
    });
    socket.on('close', () => {
      if (!isOpen) this.lose();
    });
  }

  #hangUp(): void {
    this.#socket?.terminate();
  }
}
