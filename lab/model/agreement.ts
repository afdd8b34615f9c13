import { byzantineQuorum, pbftQuorum } from '../../src/consensus/pbft-quorum.ts';

/**
 * All that hubs of a small set can do, explored state by state. It shares no code with the product but the two quorums.
 *
 * Messages that were sent once can be received at any time, or never: a hub acts on some of them or does not act. The lying hub has signed
 * everything that a key can sign, so its votes are there for every place, view and digest.
 */
export interface Model {
  readonly hubs: number;
  readonly rule: 'specified' | 'byzantine';
  /** Place of the lying hub; it leads the views that are this number modulo `hubs`. */
  readonly liar: number;
  readonly views: number;
  readonly places: number;
  /** A rule that is left out, to see that the model needs it. */
  readonly without?: 'commits in order' | 'highest view' | 'carried batches' | 'one vote a place';
}

/** Two batches at one place, and the states that were explored until they were found. */
export interface Outcome {
  readonly states: number;
  readonly disagreement: readonly string[] | null;
}

/** A hub's votes by `view/place`; a batch is named by its letter and that of the batch before. */
interface HubState {
  readonly view: number;
  /** Whether the view has begun for it. */
  readonly isIn: boolean;
  /** Batches that its view began with. */
  readonly carried: readonly string[];
  readonly proposed: Readonly<Record<string, string>>;
  readonly prepared: Readonly<Record<string, string>>;
  readonly committed: Readonly<Record<string, string>>;
  /** By view, what it said when it asked for it: for each place `view:batch`. */
  readonly wishes: Readonly<Record<number, readonly string[]>>;
}

type State = readonly HubState[];

const LETTERS = ['A', 'B'];
/** A bound, so that a model that has grown too large fails instead of running on. */
const MOST_STATES = 3_000_000;

/** Explores a model. @throws {Error} when it has more than three million states */
export function explore(model: Model): Outcome {
  const first: State = Array.from({ length: model.hubs - 1 }, () => ({
    view: 0,
    isIn: true,
    carried: [],
    proposed: {},
    prepared: {},
    committed: {},
    wishes: {}
  }));
  const seen = new Set<string>([keyOf(first, model)]);
  const open: State[] = [first];
  for (let state = open.pop(); state; state = open.pop()) {
    const disagreement = disagreementIn(state, model);
    if (disagreement) return { states: seen.size, disagreement };
    for (const next of successors(state, model)) {
      const key = keyOf(next, model);
      if (seen.has(key)) continue;
      seen.add(key);
      if (seen.size > MOST_STATES) throw new Error(`more than ${MOST_STATES} states`);
      open.push(next);
    }
  }
  return { states: seen.size, disagreement: null };
}

const namesByText = new Map<string, string>();
const namesOfHubs = new WeakMap<HubState, string>();

/** Returns a short name of a hub's state, the same for equal ones: a text of it is made once, not for each state of the set. */
function nameOf(hub: HubState): string {
  const known = namesOfHubs.get(hub);
  if (known !== undefined) return known;
  const text = JSON.stringify(hub);
  const name = namesByText.get(text) ?? namesByText.size.toString(36);
  namesByText.set(text, name);
  namesOfHubs.set(hub, name);
  return name;
}

/** One key for all states that differ by the names of hubs that lead no view. */
function keyOf(state: State, model: Model): string {
  const leaders = new Set(Array.from({ length: model.views }, (_, view) => leaderOf(model, view)));
  const texts = state.map(nameOf);
  const others = texts.filter((_, index) => !leaders.has(index)).toSorted();
  return [...texts.filter((_, index) => leaders.has(index)), ...others].join();
}

function quorumOf({ hubs, rule }: Model): number {
  return rule === 'specified' ? pbftQuorum(hubs) : byzantineQuorum(hubs);
}

/** Index among the honest hubs of the one that leads a view; null for the liar. */
function leaderOf({ hubs, liar }: Model, view: number): number | null {
  const place = view % hubs;
  if (place === liar) return null;
  return place < liar ? place : place - 1;
}

function disagreementIn(state: State, model: Model): readonly string[] | null {
  for (let place = 1; place <= model.places; place++) {
    const decided = new Set<string>();
    for (let view = 0; view < model.views; view++)
      for (const [batch, votes] of countOf(state, 'committed', `${view}/${place}`))
        if (votes + 1 >= quorumOf(model)) decided.add(batch);
    if (decided.size > 1) return [...decided].map((batch) => `${place}: ${batch}`);
  }
  return null;
}

function countOf(state: State, kind: 'prepared' | 'committed', at: string): Map<string, number> {
  const votes = new Map<string, number>();
  for (const hub of state) {
    const batch = hub[kind][at];
    if (batch !== undefined) votes.set(batch, (votes.get(batch) ?? 0) + 1);
  }
  return votes;
}

/** Whether a quorum has prepared a batch: the votes of honest hubs, their leader's proposal, and the liar's. */
function isPrepared(state: State, model: Model, view: number, place: number, batch: string): boolean {
  const at = `${view}/${place}`;
  const leader = leaderOf(model, view);
  const votes = new Set(state.flatMap((hub, index) => (hub.prepared[at] === batch ? [index] : [])));
  if (leader !== null) {
    if (state[leader]!.proposed[at] !== batch) return false;
    votes.add(leader);
  }
  return votes.size + 1 >= quorumOf(model);
}

function* successors(state: State, model: Model): Generator<State> {
  for (const [index, hub] of state.entries()) {
    const put = (changed: Partial<HubState>): State => state.with(index, { ...hub, ...changed });
    if (hub.isIn) {
      yield* proposals(model, index, hub, put);
      yield* prepares(state, model, index, hub, put);
      yield* commits(state, model, hub, put);
    }
    if (hub.view + 1 < model.views) yield put(wishFor(hub, hub.view + 1, model));
    if (!hub.isIn) yield* beginnings(state, model, index, hub, put);
  }
}

type Put = (changed: Partial<HubState>) => State;

/** The batches that may stand at a place of a hub's view. */
function candidates(hub: HubState, place: number, before: string | undefined, model: Model): string[] {
  const carried = hub.carried[place - 1];
  if (carried !== undefined && model.without !== 'carried batches') return [carried];
  if (place > 1 && before === undefined) return [];
  return LETTERS.map((letter) => `${before ?? ''}${letter}`);
}

function* proposals(model: Model, index: number, hub: HubState, put: Put): Generator<State> {
  if (leaderOf(model, hub.view) !== index) return;
  for (let place = 1; place <= model.places; place++) {
    const at = `${hub.view}/${place}`;
    if (hub.proposed[at] !== undefined) continue;
    const before = hub.proposed[`${hub.view}/${place - 1}`];
    // An honest leader proposes one batch; which one makes no difference.
    const [batch] = candidates(hub, place, before, model);
    if (batch !== undefined) yield put({ proposed: { ...hub.proposed, [at]: batch } });
    return;
  }
}

function* prepares(state: State, model: Model, index: number, hub: HubState, put: Put): Generator<State> {
  const leader = leaderOf(model, hub.view);
  if (leader === index) return;
  for (let place = 1; place <= model.places; place++) {
    const at = `${hub.view}/${place}`;
    const mine = hub.prepared[at];
    if (mine !== undefined && model.without !== 'one vote a place') continue;
    const fitting = candidates(hub, place, hub.prepared[`${hub.view}/${place - 1}`], model);
    const offered = leader === null ? fitting : fitting.filter((batch) => state[leader]!.proposed[at] === batch);
    for (const batch of offered) if (batch !== mine) yield put({ prepared: { ...hub.prepared, [at]: batch } });
  }
}

function* commits(state: State, model: Model, hub: HubState, put: Put): Generator<State> {
  for (let place = 1; place <= model.places; place++) {
    const at = `${hub.view}/${place}`;
    if (hub.committed[at] !== undefined) continue;
    const isInOrder = place === 1 || hub.committed[`${hub.view}/${place - 1}`] !== undefined;
    if (!isInOrder && model.without !== 'commits in order') continue;
    const batch = hub.prepared[at] ?? hub.proposed[at];
    if (batch !== undefined && isPrepared(state, model, hub.view, place, batch))
      yield put({ committed: { ...hub.committed, [at]: batch } });
  }
}

/** Returns a hub's statement of its commits, of each place in the highest view, as far as there is no gap. */
function wishFor(hub: HubState, view: number, model: Model): Partial<HubState> {
  const stated: string[] = [];
  for (let place = 1; place <= model.places; place++) {
    const newest = [...Array(view).keys()].reverse().find((one) => hub.committed[`${one}/${place}`] !== undefined);
    if (newest === undefined) break;
    const batch = hub.committed[`${newest}/${place}`]!;
    if (place > 1 && !batch.startsWith(stated[place - 2]!.split(':')[1]!)) break;
    stated.push(`${newest}:${batch}`);
  }
  return { view, isIn: false, carried: [], wishes: { ...hub.wishes, [view]: stated } };
}

/** All that a view may begin with for a hub. An honest leader says one thing to all; the liar may say another to each. */
function* beginnings(state: State, model: Model, index: number, hub: HubState, put: Put): Generator<State> {
  const leader = leaderOf(model, hub.view);
  if (leader !== null && leader !== index) {
    const other = state[leader]!;
    if (other.view === hub.view && other.isIn) yield put({ isIn: true, carried: other.carried });
    return;
  }
  const stated = state.flatMap(({ wishes }) => (wishes[hub.view] ? [wishes[hub.view]!] : []));
  const found = new Set<string>();
  for (const quorum of subsets(stated, quorumOf(model) - 1))
    for (const lie of liesOf(state, model, hub.view)) found.add(JSON.stringify(chosen([...quorum, lie], model)));
  for (const quorum of subsets(stated, quorumOf(model))) found.add(JSON.stringify(chosen(quorum, model)));
  for (const carried of found) yield put({ isIn: true, carried: JSON.parse(carried) as string[] });
}

/** Returns the claims that the liar can prove: none, or any chain of prepared batches. */
function liesOf(state: State, model: Model, view: number): string[][] {
  let chains: string[][] = [[]];
  const all: string[][] = [[]];
  for (let place = 1; place <= model.places; place++) {
    const longer: string[][] = [];
    for (const chain of chains)
      for (let own = 0; own < view; own++)
        for (const [batch] of batchesAt(state, own, place))
          if (isPrepared(state, model, own, place, batch) && batch.startsWith(chain.at(-1)?.split(':')[1] ?? ''))
            longer.push([...chain, `${own}:${batch}`]);
    chains = longer;
    all.push(...longer);
  }
  return all;
}

function batchesAt(state: State, view: number, place: number): Map<string, number> {
  return countOf(state, 'prepared', `${view}/${place}`);
}

function chosen(wishes: readonly (readonly string[])[], model: Model): string[] {
  const carried: string[] = [];
  for (let place = 0; place < model.places; place++) {
    const claims = wishes.flatMap((wish) =>
      wish[place] === undefined ? [] : [wish[place]!.split(':') as [string, string]]
    );
    if (claims.length === 0) break;
    const sorted = claims.toSorted(([a], [b]) => Number(b) - Number(a));
    const batch = (model.without === 'highest view' ? sorted.at(-1)! : sorted[0]!)[1];
    if (place > 0 && !batch.startsWith(carried[place - 1]!)) break;
    carried.push(batch);
  }
  return carried;
}

function* subsets<T>(from: readonly T[], size: number): Generator<T[]> {
  if (size === 0) yield [];
  for (const [place, first] of from.entries())
    if (size > 0) for (const rest of subsets(from.slice(place + 1), size - 1)) yield [first, ...rest];
}
