import type { Stable } from '../consensus/messages.ts';
import { hashOf, type Manifest } from './manifest.ts';

/** State of a checkpoint, to be had from other hubs. Its certificate is checked, and its text is what that signs. */
export interface Offer {
  readonly stable: Stable;
  readonly manifest: Manifest;
  /** The manifest as it was signed. */
  readonly text: string;
}

/** State that a hub fetches, part after part. Values are replaced, never changed. */
export interface Transfer {
  readonly offer: Offer;
  /** Hub that offered it. */
  readonly offeredBy: string;
  /** Hashes of the parts that it lacks, in order. */
  readonly missing: readonly string[];
  /** Hub that was asked for the first of these; null: the next tick asks one. */
  readonly from: string | null;
  /** Time of it, epoch milliseconds. */
  readonly since: number;
  /** Hubs that did not give it. */
  readonly failed: ReadonlySet<string>;
  /** Hubs that took long for a part: they are asked where all others failed. */
  readonly slow: ReadonlySet<string>;
}

export type TransferEvent =
  /** A hub has a state that is further than this hub. @property missing  hashes of parts that are not in the database */
  | {
      readonly type: 'state.offered';
      readonly from: string;
      readonly offer: Offer;
      readonly missing: readonly string[];
    }
  /** @property text  null: that hub has the part no more */
  | { readonly type: 'chunk.received'; readonly from: string; readonly hash: string; readonly text: string | null }
  /** @property applied  last place that this hub has applied  @property peers  keys of the hubs that are connected */
  | {
      readonly type: 'clock.ticked';
      readonly now: number;
      readonly applied: number;
      readonly peers: readonly string[];
    };

export type TransferEffect =
  | { readonly type: 'askChunk'; readonly to: string; readonly hash: string }
  | { readonly type: 'keepChunk'; readonly hash: string; readonly text: string }
  /** All parts are in the database: the tables can be replaced. */
  | { readonly type: 'replace'; readonly offer: Offer };

/** State of a transfer, and the clock by which hubs are slow. */
export interface TransferState {
  readonly now: number;
  readonly transfer: Transfer | null;
  /** By hub whose offer nobody could hand out, or that took long, until when it is offered in vain: epoch milliseconds. */
  readonly doubted: ReadonlyMap<string, number>;
}

export const NOTHING_FETCHED: TransferState = { now: 0, transfer: null, doubted: new Map() };

/** Time that a hub has for one part. */
export const CHUNK_TIMEOUT_MS = 5_000;
/** Time after which another hub is asked for the next part: a liar that is just in time each time would make it last for hours. */
export const SLOW_CHUNK_MS = 1_000;
/** Time for which offers of others come first when nobody could hand one out, or too slowly: each hub is heard of twice meanwhile. */
export const DOUBT_MS = 30_000;

/** Places that a state must be ahead to be fetched in place of another one: who has that is offered a further one at once. */
const FAR_AHEAD = 1_000;

/**
 * Returns whether an offer is fetched, in place of what is fetched now where that is old, or where its hub takes long. One that lies offers
 * old states all the time, none of which anybody can hand out, or hands parts out slowly and puts the next state in the place of its last.
 *
 * @param seq  place of the state that is offered
 */
export function mayBegin(state: TransferState, from: string, seq: number): boolean {
  const { transfer, doubted, now } = state;
  if (now < (doubted.get(from) ?? Number.NEGATIVE_INFINITY)) return false;
  if (!transfer) return true;
  const { offer, offeredBy } = transfer;
  const isOutdated = seq > offer.stable.seq + FAR_AHEAD;
  return from !== offeredBy && (isOutdated || (isSlow(transfer) && seq !== offer.stable.seq));
}

/** Returns whether the hub that offered a state takes long to hand it out. */
function isSlow({ slow, offeredBy }: Transfer): boolean {
  return slow.has(offeredBy);
}

/**
 * Returns what a hub fetches and does after an event: one part at a time, from one hub after the other where one is slow or wrong.
 *
 * A transfer that no hub can finish is given up; the next offer goes on with the parts that are there already.
 */
export function stepTransfer(
  state: TransferState,
  event: TransferEvent
): { readonly state: TransferState; readonly effects: readonly TransferEffect[] } {
  const { transfer } = state;
  switch (event.type) {
    case 'state.offered': {
      const { offer, missing, from } = event;
      if (!mayBegin(state, from, offer.stable.seq)) return { state, effects: [] };
      const slow = transfer?.slow ?? new Set();
      const left = transfer && isSlow(transfer) ? doubting(state, transfer) : state;
      return askNext(left, { offer, offeredBy: from, missing, from, since: state.now, failed: new Set(), slow });
    }
    case 'chunk.received': {
      const { from, hash, text } = event;
      if (!transfer || hash !== transfer.missing[0] || from !== transfer.from) return { state, effects: [] };
      // Who sends another text, or none, is asked no more: a tick finds the next hub.
      if (text === null || hashOf(text) !== hash)
        return { state: { ...state, transfer: { ...transfer, since: Number.NEGATIVE_INFINITY } }, effects: [] };
      const missing = transfer.missing.filter((other) => other !== hash);
      const isSlow = state.now >= transfer.since + SLOW_CHUNK_MS;
      const kept = { ...transfer, missing, since: state.now, failed: new Set<string>() };
      if (isSlow && missing.length > 0) {
        const slow = new Set(transfer.slow).add(from);
        const waiting = { ...kept, from: null, since: Number.NEGATIVE_INFINITY, slow };
        return { state: { ...state, transfer: waiting }, effects: [{ type: 'keepChunk', hash, text }] };
      }
      const next = askNext(state, { ...kept, from });
      return { state: next.state, effects: [{ type: 'keepChunk', hash, text }, ...next.effects] };
    }
    case 'clock.ticked':
      return passTime({ ...state, now: event.now }, event.applied, event.peers);
  }
}

/** Asks another hub where one is slow, and gives up where none is left. */
function passTime(
  state: TransferState,
  applied: number,
  peers: readonly string[]
): { readonly state: TransferState; readonly effects: readonly TransferEffect[] } {
  const { transfer, now } = state;
  if (!transfer) return { state, effects: [] };
  const isPassed = applied >= transfer.offer.stable.seq;
  if (!isPassed && now < transfer.since + CHUNK_TIMEOUT_MS) return { state, effects: [] };
  const failed = new Set(transfer.failed);
  if (transfer.from !== null) failed.add(transfer.from);
  const willing = peers.filter((peer) => !failed.has(peer));
  const from = willing.find((peer) => !transfer.slow.has(peer)) ?? willing[0];
  if (isPassed) return { state: { ...state, transfer: null }, effects: [] };
  if (from === undefined) return { state: { ...doubting(state, transfer), transfer: null }, effects: [] };
  return askNext(state, { ...transfer, from, failed, since: now });
}

/** Notes that the offers of a hub come after those of others for a while. */
function doubting(state: TransferState, { offeredBy }: Transfer): TransferState {
  return { ...state, doubted: new Map(state.doubted).set(offeredBy, state.now + DOUBT_MS) };
}

function askNext(
  state: TransferState,
  transfer: Transfer & { readonly from: string }
): { readonly state: TransferState; readonly effects: readonly TransferEffect[] } {
  const [hash] = transfer.missing;
  if (hash === undefined)
    return { state: { ...state, transfer: null }, effects: [{ type: 'replace', offer: transfer.offer }] };
  return { state: { ...state, transfer }, effects: [{ type: 'askChunk', to: transfer.from, hash }] };
}
