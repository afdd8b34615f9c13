import type { SigningKey } from '../../../consensus/auth-signature.ts';
import type { Envelope } from './envelope.ts';
import type { HandshakeFault } from './handshake.ts';
import { GOSSIP_LIMITS, type GossipFault, type GossipLimits } from './intake.ts';

/** Times and counts of a mesh. */
export interface MeshLimits extends GossipLimits {
  /** Pause between two HEARTBEATs; a peer that misses three is cut off. */
  readonly heartbeatMs: number;
  readonly handshakeMs: number;
  /** First and longest pause between two dials of an address. */
  readonly reconnectBaseMs: number;
  readonly reconnectMaxMs: number;
  /** Sockets from one address whose keys are not proved. */
  readonly strangersPerAddress: number;
  /** Sockets whose keys are not proved, from all addresses. */
  readonly strangers: number;
  /** Connections that have not asked for a WebSocket. */
  readonly connections: number;
  /** Bytes that a socket may bring before its key is proved. */
  readonly strangerBytes: number;
  /** Members up to which each hub dials every other one. */
  readonly fullMesh: number;
  /** Members that a hub dials in a larger set. */
  readonly outbound: number;
}

export const MESH_LIMITS: MeshLimits = {
  ...GOSSIP_LIMITS,
  heartbeatMs: 15_000,
  handshakeMs: 10_000,
  reconnectBaseMs: 2_000,
  reconnectMaxMs: 60_000,
  strangersPerAddress: 3,
  strangers: 64,
  connections: 1_024,
  strangerBytes: 65_536,
  fullMesh: 32,
  outbound: 16
};

/** Options of a mesh. */
export interface MeshOptions {
  readonly key: SigningKey;
  /** Id of the set, 64 hex digits. */
  readonly set: string;
  /** Keys of the set. */
  readonly members: () => ReadonlySet<string>;
  /** Members that are not talked to. */
  readonly denied: ReadonlySet<string>;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Address that others use; null: the one that is listened on. */
  readonly addr: string | null;
  /** Addresses that are dialled from the start. */
  readonly seeds: readonly string[];
  /** By address, the member that is to answer there, as the file of the set has it. */
  readonly owners: ReadonlyMap<string, string>;
  readonly version: string;
  /** Returns this hub's view and the last place that it applied. */
  readonly standing: () => { readonly view: number; readonly seq: number };
  readonly limits: MeshLimits;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Takes each message of a member once. @param via  key of the peer that brought it */
  readonly onMessage: (envelope: Envelope, via: string) => void;
  /** Takes what was refused. @param peer  key that the other side has proved; null before */
  readonly onFault: (fault: GossipFault | HandshakeFault, peer: string | null) => void;
}
