import type { SigningKey } from '../../../consensus/auth-signature.ts';
import type { Batch } from '../consensus/messages.ts';
import { signFact } from '../gossip/signatures.ts';
import { type MatterStep, matterBodyOf, readMatter } from '../matters/operations.ts';
import type { ActionPlace, Matter } from '../matters/records.ts';
import { actionStatement, reorgStatement } from '../matters/rules.ts';
import { dueStep, type SwapWithActions } from '../matters/swaps.ts';

/** A question that this hub has not answered yet: it asks its own indexer or coin node. */
export type Question =
  | {
      readonly kind: 'attestation';
      readonly id: string;
      readonly turn: number;
      /** Epoch milliseconds, by the clock of the log. */
      readonly begunAt: number;
      readonly chain: string;
      readonly index: number;
    }
  | {
      readonly kind: 'reorg';
      readonly id: string;
      readonly begunAt: number;
      readonly chain: string;
      readonly height: number;
      readonly oldHash: string;
      readonly newHash: string;
    };

/** Finding of this hub. */
export type Answer =
  /** @property place  null: there is no such action */
  | { readonly kind: 'attestation'; readonly id: string; readonly turn: number; readonly place: ActionPlace | null }
  | { readonly kind: 'reorg'; readonly id: string; readonly isSeen: boolean };

interface WitnessOptions {
  readonly key: SigningKey;
  /** Id of the set, 64 hex digits. */
  readonly set: string;
  /** Keys of the set, in ascending order. */
  readonly keys: readonly string[];
  /** Reads open matters from the database, oldest first. */
  readonly readOpen: () => Promise<readonly Matter[]>;
  /** Reads the swaps that this hub began and that are not over. */
  readonly readSwaps: () => Promise<readonly SwapWithActions[]>;
  /** Bodies of this hub's operations that wait for the set. */
  readonly waiting: () => readonly string[];
  /** Has an operation decided. */
  readonly submit: (body: string) => Promise<unknown>;
}

/** Questions that are handed out at once. */
const MOST_QUESTIONS = 200;
/** Time that each hub has to close what is over before the next one does. */
const TURN_MS = 2_000;
/** Time after which a hub tries again to close what is over. */
const AGAIN_MS = 30_000;
/** Steps of swaps within that time. */
const MOST_MOVED = 50;

/**
 * A hub's part in what its set attests: it says once what it found, and closes what is over. Its words are operations, which are stored
 * before they are sent; so a hub that was killed says nothing twice.
 */
export class Witness {
  readonly #options: WitnessOptions;
  #open: readonly Matter[] = [];
  #swaps: readonly SwapWithActions[] = [];
  /** Steps of swaps that were submitted, each with its last time in epoch milliseconds. */
  readonly #moved = new Map<string, number>();
  /** Matters, with their turns, whose word is on its way into the log. */
  readonly #sent = new Set<string>();
  #closedAt = Number.NEGATIVE_INFINITY;

  constructor(options: WitnessOptions) {
    this.#options = options;
  }

  /** Reads where the log is. */
  async load(): Promise<void> {
    this.#open = await this.#options.readOpen();
    this.#swaps = await this.#options.readSwaps();
  }

  /** Returns whether a batch may have changed what is open. */
  concerns({ operations, time }: Batch): boolean {
    return this.#open.some(({ endsAt }) => endsAt! <= time) || operations.some(({ body }) => readMatter(body) !== null);
  }

  /**
   * Questions about chains that this hub may answer and has not: the oldest one of each hub that asks, then the second ones, and so on. A
   * hub that asks for inventions, which nobody answers for a while, holds up no other.
   */
  get questions(): readonly Question[] {
    const waiting = new Set(this.#options.waiting().map((body) => placeOf(readMatter(body))));
    const byHub = [...Map.groupBy(this.#open, ({ submitter }) => submitter).values()];
    const longest = byHub.reduce((most, { length }) => Math.max(most, length), 0);
    return Array.from({ length: longest }, (_, place) => byHub.flatMap((of) => of[place] ?? []))
      .flat()
      .flatMap((matter) => this.#questionOf(matter) ?? [])
      .filter((question) => !waiting.has(placeOf(question)) && !this.#sent.has(placeOf(question)))
      .slice(0, MOST_QUESTIONS);
  }

  /** Says what this hub found out, unless it has said something, or the question is none any more. */
  answer(answer: Answer): void {
    const { key, set, submit } = this.#options;
    const place = placeOf(answer);
    if (!this.questions.some((question) => placeOf(question) === place)) return;
    const matter = this.#open.find(({ kind, id }) => kind === answer.kind && id === answer.id)!;
    let step: MatterStep;
    if (answer.kind === 'attestation' && matter.kind === 'attestation') {
      const { id, turn, place: found } = answer;
      const sig = found && signFact(set, actionStatement(matter, found), key);
      step = { type: 'action-word', id, turn, place: found, sig };
    } else if (answer.kind === 'reorg' && matter.kind === 'reorg') {
      const { id, isSeen } = answer;
      step = { type: 'reorg-word', id, isSeen, sig: isSeen ? signFact(set, reorgStatement(matter), key) : null };
    } else return;
    this.#sent.add(place);
    const isOver = () => this.#sent.delete(place);
    submit(matterBodyOf(step)).then(isOver, isOver);
  }

  /** Does what is due. @param now  epoch milliseconds */
  tick(now: number): void {
    this.#close(now);
    this.#driveSwaps(now);
  }

  /**
   * Moves the swaps on that this hub began; those of others are theirs, and cost this one nothing. A swap that can be moved on comes before
   * questions, and of these those that were asked longest ago: the set takes few in an hour, and refuses the others.
   */
  #driveSwaps(now: number): void {
    const due = new Map(
      this.#swaps.flatMap((swap): [body: string, isQuestion: boolean][] => {
        const step = dueStep(swap, now);
        return step ? [[matterBodyOf(step), step.type !== 'swap']] : [];
      })
    );
    const triedAt = (body: string) => this.#moved.get(body) ?? 0;
    const isTried = (body: string) => now < triedAt(body) + AGAIN_MS;
    for (const body of this.#moved.keys()) if (!due.has(body) && !isTried(body)) this.#moved.delete(body);
    const left = MOST_MOVED - [...this.#moved.keys()].filter(isTried).length;
    const next = [...due]
      .filter(([body]) => !isTried(body))
      .toSorted(([a, asks], [b, other]) => Number(asks) - Number(other) || triedAt(a) - triedAt(b));
    for (const [body] of next.slice(0, left)) {
      this.#moved.set(body, now);
      this.#options.submit(body).catch(() => undefined); // it is tried again
    }
  }

  /** Closes what is over: the hubs take turns, so that mostly one does. */
  #close(now: number): void {
    const { keys, key, submit } = this.#options;
    const first = this.#open.toSorted((a, b) => a.endsAt! - b.endsAt!)[0];
    if (!first || now < this.#closedAt + AGAIN_MS) return;
    const turn = (keys.indexOf(key.pubkey) + first.number) % keys.length;
    if (now < first.endsAt! + turn * TURN_MS) return;
    this.#closedAt = now;
    submit(matterBodyOf({ type: 'close', endsAt: first.endsAt! })).catch(() => undefined); // another hub may be faster
  }

  #questionOf(matter: Matter): Question | null {
    const { key } = this.#options;
    if (matter.kind !== 'attestation' && matter.kind !== 'reorg') return null;
    const { kind, validators, words, id, begunAt, chain } = matter;
    if (!validators.includes(key.pubkey) || words.some(({ hub }) => hub === key.pubkey)) return null;
    if (kind === 'attestation') return { kind, id, turn: matter.turn, begunAt, chain, index: matter.index };
    const { height, oldHash, newHash } = matter;
    return { kind, id, begunAt, chain, height, oldHash, newHash };
  }
}

/** Returns what a word is about, so that there is one of each. */
function placeOf(word: Question | Answer | MatterStep | null): string {
  if (word === null || !('id' in word)) return '';
  const kind = 'kind' in word ? word.kind : word.type === 'action-word' ? 'attestation' : 'reorg';
  return [kind, word.id, ...('turn' in word ? [word.turn] : [])].join(' ');
}
