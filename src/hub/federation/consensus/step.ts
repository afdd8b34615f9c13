import { applyNext, walkSlots } from './deciding.ts';
import type { ConsensusEvent, Effect } from './events.ts';
import { takeCheckpoint, takeProposal, takeVote } from './intake.ts';
import type { Checkpoint, Message, NewView, Operation, PrePrepare, Signed, ViewChange, Vote } from './messages.ts';
import { propose } from './proposing.ts';
import { lengthOf, MOST_BATCH_LENGTH, MOST_PENDING, type Rules, STANDSTILL_MS } from './rules.ts';
import { hear, noteApplied, takeLog, takeState } from './standing.ts';
import type { ConsensusState } from './state.ts';
import { isKept, operationKey } from './state.ts';
import type { Turn } from './turn.ts';
import { beginView, checkTime, joinView, takeChange, takeNewView } from './views.ts';

/** Characters of them, but for a hub's own ones. */
const MOST_PENDING_LENGTH = 64 * MOST_BATCH_LENGTH;

/**
 * Returns what a hub of a set is and does after an event: PBFT with a leader for each view, batches that name the one before, and votes
 * that are stored before they are sent.
 *
 * It depends on its arguments alone. Effects are carried out in order, and their outcomes come back as events.
 *
 * @see Castro and Liskov, "Practical Byzantine Fault Tolerance", 1999
 */
export function step(
  state: ConsensusState,
  event: ConsensusEvent,
  rules: Rules
): { readonly state: ConsensusState; readonly effects: readonly Effect[] } {
  if (state.isHalted) return { state, effects: [] };
  const turn: Turn = { state: { ...state }, rules, effects: [] };
  takeEvent(turn, event);
  goOn(turn);
  return { state: turn.state, effects: turn.effects };
}

function takeEvent(turn: Turn, event: ConsensusEvent): void {
  switch (event.type) {
    case 'operation.submitted':
      if (!isKept(turn.state, event.operation) && !hasEnough(turn, event.operation))
        keepOperation(turn, event.operation);
      return;
    case 'message.received':
    case 'vote.stored':
      takeMessage(turn, event.signed);
      return;
    case 'batch.applied':
      noteApplied(turn, event.seq, event.state);
      return;
    case 'peer.heard':
      hear(turn, event.from, event.view, event.seq);
      return;
    case 'log.fetched':
      takeLog(turn, event.entries);
      return;
    case 'state.replaced':
      takeState(turn, event.stable, event.applied);
      return;
    case 'clock.ticked':
      // Who stood still has not read what came meanwhile: a leader has its time anew.
      if (event.now > turn.state.now + STANDSTILL_MS) turn.state.viewSince = event.now;
      turn.state.now = event.now;
      checkTime(turn);
      return;
  }
}

/** Does what the state allows now. */
function goOn(turn: Turn): void {
  if (turn.state.isHalted) return;
  joinView(turn);
  beginView(turn);
  propose(turn);
  walkSlots(turn);
  applyNext(turn);
}

/** Keeps an operation until it is applied, a bounded number for each submitter. */
function keepOperation(turn: Turn, operation: Operation): void {
  const { submitter, number } = operation;
  const next = turn.state.applied.next.get(submitter) ?? 0;
  const key = operationKey(operation);
  if (number < next || number >= next + MOST_PENDING || turn.state.pending.has(key)) return;
  if (!turn.rules.keys.includes(submitter) || !turn.rules.isSubmitted(operation)) return;
  turn.state.pending = new Map(turn.state.pending).set(key, { operation, since: turn.state.now });
}

/** Returns whether so much of another submitter waits that an operation is not kept: it is sent again where nothing moves. */
function hasEnough({ state, rules }: Turn, { submitter, number, body }: Operation): boolean {
  if (submitter === rules.self || number === (state.applied.next.get(submitter) ?? 0)) return false;
  const waiting = [...state.pending.values()].map(({ operation }) => operation);
  const length = lengthOf(waiting.filter((operation) => operation.submitter === submitter));
  return length + body.length > MOST_PENDING_LENGTH;
}

/** Hands a message of a hub of the set to what it is about. */
function takeMessage(turn: Turn, signed: Signed<Message>): void {
  if (!turn.rules.keys.includes(signed.sender)) return;
  switch (signed.message.kind) {
    case 'prePrepare':
      takeProposal(turn, signed as Signed<PrePrepare>);
      return;
    case 'prepare':
    case 'commit':
      takeVote(turn, signed as Signed<Vote>);
      return;
    case 'checkpoint':
      takeCheckpoint(turn, signed as Signed<Checkpoint>);
      return;
    case 'viewChange':
      takeChange(turn, signed as Signed<ViewChange>);
      return;
    case 'newView':
      takeNewView(turn, signed as Signed<NewView>);
      return;
  }
}
