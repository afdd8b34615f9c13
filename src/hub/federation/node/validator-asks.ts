import type { HubPhase } from '../consensus/phase.ts';
import type { HubSet } from '../gossip/signatures.ts';

/** All that the actor of a hub in validator mode is told at its start, but its database. */
export interface ValidatorSettings {
  readonly set: HubSet;
  /** Seed of its key, 64 hex digits. */
  readonly seed: string;
  readonly host: string;
  readonly port: number;
  /** Address that others are told, `ws://host:port`. */
  readonly addr: string;
  /** Addresses that it dials from the start. */
  readonly seeds: readonly string[];
  /** Members that it does not talk to. */
  readonly denied: readonly string[];
  readonly version: string;
  readonly reconnectBaseMs: number;
  readonly reconnectMaxMs: number;
  readonly writeTimeoutMs: number;
  /** Batches below a stable checkpoint that stay in the log. */
  readonly logKeep: number;
}

/** State of a hub in its set. */
export interface ValidatorState {
  readonly phase: HubPhase | 'starting';
  readonly view: number;
  /** Last place of the log that it has applied. */
  readonly seq: number;
  /** Keys of the hubs that are connected. */
  readonly peers: readonly string[];
}

/** Requests to the actor. */
export type ValidatorAsks = {
  /** Writes entries of the configuration by the log. */
  submit: { request: { readonly body: string }; reply: { readonly seq: number } };
};

/** Notices of the actor: each change of its state, looked for twice a second. */
export type ValidatorNotices = { validator: ValidatorState };
