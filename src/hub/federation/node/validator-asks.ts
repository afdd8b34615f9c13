import type { HubPhase, Split } from '../consensus/phase.ts';
import type { HubSet } from '../gossip/signatures.ts';
import type { Submission } from '../rounds/statements.ts';
import type { CapabilityCheck, ToldTest } from './capabilities.ts';
import type { Publication, PublishingDuty } from './price-publishing.ts';
import type { LastPrices } from './price-rounds.ts';
import type { Answer, Question } from './witness.ts';

/** Start data of the actor of a hub in validator mode, without its database. */
export interface ValidatorSettings {
  readonly set: HubSet;
  /** Seed of its key, 64 hex digits. */
  readonly seed: string;
  readonly host: string;
  readonly port: number;
  /** Address that others use, `ws://host:port`. */
  readonly addr: string;
  /** Addresses that it dials from the start. */
  readonly seeds: readonly string[];
  /** By address, the member that is to answer there. */
  readonly owners: ReadonlyMap<string, string>;
  /** Members that it does not talk to. */
  readonly denied: readonly string[];
  readonly version: string;
  readonly reconnectBaseMs: number;
  readonly reconnectMaxMs: number;
  readonly writeTimeoutMs: number;
  /** Capabilities that it does not serve. */
  readonly disabled: readonly string[];
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
  /** Last reason in a minute for which a socket was refused that a setting or a clock is to blame for; null: there was none. */
  readonly refused: string | null;
  /** Outcomes of the hubs' last self-tests, as they told them. */
  readonly tests: readonly ToldTest[];
  /** Pairs of messages for one place that a hub of the set signed, since this one started. */
  readonly accused: number;
  /** Null: there was no round. */
  readonly round: LastPrices | null;
  /** Operations that wait for a decision. */
  readonly waiting: number;
  /** Last place of its log that was set aside, where no hub that is heard has had more than this one for seconds; null: it has, or none was. */
  readonly lost: number | null;
  /** Different states that hubs have signed after one batch, which no quorum has signed; null: they agree. */
  readonly split: Split | null;
}

/** Requests to the actor. */
export type ValidatorAsks = {
  /** Writes entries of the configuration by the log. */
  submit: { request: { readonly body: string }; reply: { readonly seq: number } };
  /** Takes the prices that this hub found; false: it is starting. @property at  epoch milliseconds */
  find: { request: { readonly at: number; readonly prices: Submission['prices'] }; reply: boolean };
  /** Takes what was found about a chain; false: it is starting. */
  answer: { request: Answer; reply: boolean };
  /** Keeps the transactions that publish a round. Null: its turn is over, or it is starting; else what is to be sent. */
  keep: { request: { readonly round: number; readonly made: Publication }; reply: Publication | null };
  /** Tells the set that those of a round were sent; false: it is starting. */
  announce: { request: { readonly round: number }; reply: boolean };
  /** Takes checks of its capabilities; false: it is starting. @property height  block of Bitcoin at which its stake was counted */
  check: { request: { readonly checks: readonly CapabilityCheck[]; readonly height: number | null }; reply: boolean };
};

/**
 * Notices of the actor: each change of its state, of its questions about chains and of the rounds that it has to publish, looked for
 * twice a second, and the time of each round of prices that is decided.
 */
export type ValidatorNotices = {
  validator: ValidatorState;
  questions: readonly Question[];
  duties: readonly PublishingDuty[];
  priced: number;
};
