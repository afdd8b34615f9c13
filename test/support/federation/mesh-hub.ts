import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import WebSocket from 'ws';
import { type SigningKey, signingKey } from '../../../src/consensus/auth-signature.ts';
import { type Envelope, signEnvelope } from '../../../src/hub/federation/gossip/envelope.ts';
import { Handshake } from '../../../src/hub/federation/gossip/handshake.ts';
import { Mesh } from '../../../src/hub/federation/gossip/mesh.ts';
import { MESH_LIMITS, type MeshOptions } from '../../../src/hub/federation/gossip/options.ts';
import { PATIENCE_MS } from '../patience.ts';

export const SET = '5e'.repeat(32);
/** Keys of a set, in ascending order. */
export const KEYS: readonly SigningKey[] = Array.from({ length: 5 }, (_, place) =>
  signingKey(`0${place + 1}`.repeat(32))
).toSorted((a, b) => (a.pubkey < b.pubkey ? -1 : 1));
export const STRANGER = signingKey('0f'.repeat(32));
/** Deadline of all that these tests wait for. */

/** A mesh with what it heard and refused. */
export interface MeshHub {
  readonly mesh: Mesh;
  readonly key: SigningKey;
  /** Messages that are no HEARTBEAT. */
  readonly heard: Envelope[];
  readonly faults: { readonly fault: string; readonly peer: string | null }[];
}

/** Starts a hub of the set on a free port; dials again within a tenth of a second. */
export async function startHub(
  key: SigningKey,
  options: Partial<Omit<MeshOptions, 'limits'>> & { limits?: Partial<MeshOptions['limits']> } = {}
): Promise<MeshHub> {
  const heard: Envelope[] = [];
  const faults: MeshHub['faults'] = [];
  const mesh = new Mesh({
    key,
    set: SET,
    denied: new Set(),
    host: '127.0.0.1',
    port: 0,
    addr: null,
    seeds: [],
    owners: new Map(),
    version: '1',
    members: () => new Set(KEYS.map(({ pubkey }) => pubkey)),
    standing: () => ({ view: 0, seq: 0 }),
    now: Date.now,
    onMessage: (envelope) => {
      if (envelope.type !== 'HEARTBEAT') heard.push(envelope);
    },
    onFault: (fault, peer) => faults.push({ fault, peer }),
    ...options,
    limits: { ...MESH_LIMITS, reconnectBaseMs: 100, reconnectMaxMs: 400, heartbeatMs: 200, ...options.limits }
  });
  await mesh.start();
  return { mesh, key, heard, faults };
}

/** Waits until something is so. @throws {Error} naming it after PATIENCE_MS */
export async function until(what: string, isSo: () => boolean): Promise<void> {
  for (const since = Date.now(); !isSo(); await sleep(20))
    if (Date.now() - since > PATIENCE_MS) throw new Error(`not after ${PATIENCE_MS} ms: ${what}`);
}

/** A socket of somebody who keeps no rule. */
export class Intruder {
  readonly socket: WebSocket;
  readonly received: Envelope[] = [];
  #ended: { readonly code: number; readonly reason: string } | null = null;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data) => this.received.push(JSON.parse(String(data)) as Envelope));
    socket.on('error', () => undefined);
    socket.on('close', (code, reason) => {
      this.#ended = { code, reason: String(reason) };
    });
  }

  static async dial(address: string): Promise<Intruder> {
    const intruder = new Intruder(new WebSocket(address));
    await once(intruder.socket, 'open');
    return intruder;
  }

  send(type: string, data: Record<string, unknown>, key: SigningKey, changed: Partial<Envelope> = {}): Envelope {
    const id = String(Math.random());
    const envelope = { ...signEnvelope({ type, id, timestamp: Date.now(), data }, key), ...changed };
    this.socket.send(JSON.stringify(envelope));
    return envelope;
  }

  /** Begins a handshake. */
  greet(key: SigningKey, changed: Record<string, unknown> = {}, of: Partial<Envelope> = {}): Envelope {
    return this.send('HEARTBEAT', { ...standingOf(), challenge: 'c0'.repeat(32), ...changed }, key, of);
  }

  /** Does the whole handshake with a member's key. */
  async join(key: SigningKey, set = SET): Promise<void> {
    const handshake = new Handshake(key, set);
    this.send('HEARTBEAT', { ...standingOf(), set, challenge: handshake.challenge }, key);
    await until('the hub speaks', () => this.received.length > 0);
    const taken = handshake.take(this.received[0]!);
    if (typeof taken === 'string') throw new Error(taken);
    this.send('HEARTBEAT', { ...standingOf(), set, challenge: handshake.challenge, answer: taken.answer }, key);
  }

  /** Waits for the end. @returns code and reason of the close */
  async end(): Promise<string> {
    await until('the socket is closed', () => this.#ended !== null);
    return `${this.#ended!.code} ${this.#ended!.reason}`.trim();
  }
}

/** Statement of an intruder about itself: its address leads nowhere. */
export function standingOf() {
  return { version: '1', set: SET, view: 0, seq: 0, addr: 'ws://127.0.0.1:9' };
}
