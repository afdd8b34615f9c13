import { pbftQuorum } from '../../src/consensus/pbft-quorum.ts';

/**
 * All that can become of one attestation, explored state by state, while its chain is reorganised once. It shares no code with the product
 * but the quorum.
 *
 * Answers that were sent once may be ordered at any time later, or never. Hubs that lie send any answer, in any turn, as often as they
 * like. An honest hub sends what is so when it is asked, once in each turn.
 */
export interface AnswersModel {
  readonly hubs: number;
  /** Hubs that qualify; the liars are the last of them. */
  readonly qualified: number;
  readonly liars: number;
  /** A rule that is left out, to see that the model needs it. */
  readonly without?: 'more than may lie' | 'one answer each' | 'the same block' | 'turns';
}

/** A wrong attestation, and the states that were explored until it was found. */
interface AnswersOutcome {
  readonly states: number;
  readonly fault: string | null;
  /** Whether some order attests each of the two blocks. */
  readonly attested: ReadonlySet<string>;
}

/** Blocks that the chain has: before the reorg, and after it. X is none. */
const [BEFORE, AFTER, INVENTED, NONE] = ['A', 'B', 'X', 'none'];
const ANSWERS = [BEFORE, AFTER, INVENTED, NONE];
/** Answers that a liar has counted of it, where it may give several. */
const MOST_OF_ONE = 3;

interface State {
  readonly block: string;
  /** 2 after the log has confirmed the reorg. */
  readonly turn: number;
  readonly status: 'pending' | 'attested' | 'rejected';
  /** Answers that honest hubs have sent, `hub turn block`. */
  readonly sent: readonly string[];
  /** Answers that count in this turn, `hub block`. */
  readonly counted: readonly string[];
}

/** Explores a model. */
export function exploreAnswers(model: AnswersModel): AnswersOutcome {
  const first: State = { block: BEFORE!, turn: 1, status: 'pending', sent: [], counted: [] };
  const attested = new Set<string>();
  if (!mayBegin(model)) return { states: 0, fault: null, attested };
  const seen = new Set([JSON.stringify(first)]);
  const open: State[] = [first];
  for (let state = open.pop(); state; state = open.pop()) {
    const fault = faultOf(model, state);
    if (fault !== null) return { states: seen.size, fault, attested };
    if (state.status === 'attested') attested.add(leading(state.counted));
    for (const next of successors(model, state)) {
      const key = JSON.stringify(next);
      if (seen.has(key)) continue;
      seen.add(key);
      open.push(next);
    }
  }
  return { states: seen.size, fault: null, attested };
}

function mayBegin({ hubs, qualified, without }: AnswersModel): boolean {
  return pbftQuorum(qualified) > Math.floor((hubs - 1) / 3) || without === 'more than may lie';
}

function faultOf(model: AnswersModel, { status, counted, turn }: State): string | null {
  if (status !== 'attested') return null;
  const block = leading(counted);
  if (block === INVENTED) return 'a block is attested that the chain never had';
  if (block === BEFORE && turn === 2) return 'a block is attested that a confirmed reorg took away';
  const signers = new Set(counted.filter((answer) => answer.endsWith(` ${block}`)).map((answer) => answer[0]));
  return signers.size < pbftQuorum(model.qualified) ? 'a block is attested by less than a quorum' : null;
}

function* successors(model: AnswersModel, state: State): Generator<State> {
  const { block, turn, status, sent } = state;
  const honest = model.qualified - model.liars;
  if (block === BEFORE) yield { ...state, block: AFTER! };
  if (block === AFTER && turn === 1) yield { ...state, turn: 2, status: 'pending', counted: [] };
  if (status !== 'pending') return;
  for (let hub = 0; hub < honest; hub++)
    if (!sent.some((answer) => answer.startsWith(`${hub} ${turn} `)))
      yield { ...state, sent: [...sent, `${hub} ${turn} ${block}`].toSorted() };
  for (const answer of sent) {
    const [hub = '', asked, answered = ''] = answer.split(' ');
    if (Number(asked) === turn || model.without === 'turns') yield* ordered(model, state, hub, answered);
  }
  for (let hub = honest; hub < model.qualified; hub++)
    for (const answered of ANSWERS) yield* ordered(model, state, String(hub), answered);
}

/** Has the log order an answer. */
function* ordered(model: AnswersModel, state: State, hub: string, answered: string): Generator<State> {
  const of = state.counted.filter((answer) => answer.startsWith(`${hub} `)).length;
  const isLiar = Number(hub) >= model.qualified - model.liars;
  if (of >= (isLiar && model.without === 'one answer each' ? MOST_OF_ONE : 1)) return;
  const counted = [...state.counted, `${hub} ${answered}`].toSorted();
  const quorum = pbftQuorum(model.qualified);
  const found = counted.filter((answer) => !answer.endsWith(` ${NONE}`));
  const same = found.filter((answer) => answer.endsWith(` ${leading(counted)}`)).length;
  const votes = model.without === 'the same block' ? found.length : same;
  const isOver = model.qualified - (counted.length - votes) < quorum;
  yield { ...state, counted, status: votes >= quorum ? 'attested' : isOver ? 'rejected' : 'pending' };
}

/** Returns the block that most answers name. */
function leading(counted: readonly string[]): string {
  const blocks = ANSWERS.filter((answer) => answer !== NONE);
  const countOf = (block: string) => counted.filter((answer) => answer.endsWith(` ${block}`)).length;
  return blocks.toSorted((a, b) => countOf(b!) - countOf(a!))[0]!;
}
