import { canonicalJson } from '../../src/consensus/canonical-json.ts';
import { findChangeFault } from '../../src/consensus/parameter-change.ts';
import { certificateOf } from '../../src/hub/federation/matters/attestations.ts';
import type { SubmittedStep } from '../../src/hub/federation/matters/decide.ts';
import { type MatterStep, matterBodyOf, readMatter } from '../../src/hub/federation/matters/operations.ts';
import {
  type ActionPlace,
  type Attestation,
  attestationId,
  type Matter,
  type Proposal,
  type Reorg,
  type Swap
} from '../../src/hub/federation/matters/records.ts';
import {
  actionStatement,
  BOUNDS,
  DAY_MS,
  KEPT_FOR_MS,
  KEPT_MATTERS,
  type MatterRules,
  reorgStatement,
  type Statement
} from '../../src/hub/federation/matters/rules.ts';
import { destinationId, dueStep, type SwapWithActions } from '../../src/hub/federation/matters/swaps.ts';
import { MatterBook } from './matter-book.ts';
import { SeededRandom } from './random.ts';
import { Violation } from './violation.ts';

/** Behaviours of hubs that lie about chains and votes. */
export const MATTER_BEHAVIOURS = [
  'says another place',
  'says that there is none',
  'is silent',
  'says two things',
  'repeats the words of others',
  'says old words again',
  'asks for inventions',
  'asks all the time',
  'reports inventions',
  'denies reorgs',
  'takes ids of others',
  'votes twice and for others',
  'proposes wild changes',
  'closes too early'
] as const;
type MatterBehaviour = (typeof MATTER_BEHAVIOURS)[number];

interface MattersOptions {
  readonly seed: number;
  readonly hubs: number;
  readonly steps: number;
  /** Behaviour of as many hubs as may lie; absent: all are honest. */
  readonly behaviour?: MatterBehaviour;
  /** Called with each step of the log, and its time. */
  readonly watch?: (submitted: SubmittedStep, time: number) => void;
}

/** Results of a run. */
interface MattersResult {
  readonly attested: number;
  readonly confirmed: number;
  readonly passed: number;
  readonly failed: number;
  readonly executed: number;
  readonly settled: number;
  /** Steps that the log refused, and why. */
  readonly refused: readonly string[];
  readonly lies: number;
}

const CHAINS = ['BTC', 'LTC', 'DOGE'] as const;
const PARAMETERS = ['SLASH_MISSED_ROUNDS_THRESHOLD', 'FEE', 'NAME'];
/** Actions that each chain has; those above are inventions. */
const ACTIONS = 40;
const START = 1_767_225_600_000;
const STEP_MS = 7_000;
/** Times that hubs look for what is open. */
const MOST_PASSES = 3;
const HEX = '0123456789abcdef';

/**
 * Plays what hubs attest, report, propose and vote by one log, in the order that a leader likes, against what is true of the chains. What
 * is decided must be true, and what honest hubs ask for must be decided, whatever as many hubs as may lie do.
 */
export class MattersSimulation {
  readonly #options: MattersOptions;
  readonly #random: SeededRandom;
  readonly #keys: readonly string[];
  readonly #liars: ReadonlySet<string>;
  readonly #rules: MatterRules;
  readonly #books: readonly MatterBook[];
  #time = START;
  /** By chain, the blocks that it had at a height, the present one last. */
  readonly #blocks = new Map<string, string[]>();
  readonly #refused: string[] = [];
  readonly #old: { readonly hub: string; readonly step: MatterStep }[] = [];
  /** Votes of honest hubs, by hub and proposal. */
  readonly #cast = new Map<string, boolean>();
  #lies = 0;
  #counts = { attested: 0, confirmed: 0, passed: 0, failed: 0, executed: 0, settled: 0 };

  constructor(options: MattersOptions) {
    const { seed, hubs, behaviour } = options;
    this.#options = options;
    this.#random = new SeededRandom(seed);
    this.#keys = Array.from({ length: hubs }, (_, at) => HEX[at]!.repeat(64));
    const faulty = Math.floor((hubs - 1) / 3);
    this.#liars = new Set(behaviour ? this.#keys.slice(-faulty) : []);
    this.#rules = {
      keys: this.#keys,
      faulty,
      votingPeriodMs: 7 * DAY_MS,
      settings: new Map([['SLASH_MISSED_ROUNDS_THRESHOLD', '10']]),
      isSigned: (statement, pubkey, sig) => sig === this.#sign(pubkey, statement)
    };
    this.#books = [0, 1].map(() => new MatterBook(this.#rules, this.#keys));
  }

  run(): MattersResult {
    for (let step = 0; step < this.#options.steps; step++) {
      this.#time += this.#random.between(1, 2 * STEP_MS);
      if (this.#random.chance(0.02)) this.#time += this.#random.between(1, DAY_MS);
      if (this.#random.chance(0.05)) this.#reorganise();
      this.#actHonestly();
      this.#lie();
      if (this.#random.chance(0.5)) this.#answerAll();
      this.#driveSwaps();
    }
    this.#answerAll();
    return { ...this.#counts, refused: this.#refused, lies: this.#lies };
  }

  get #book(): MatterBook {
    return this.#books[0]!;
  }

  /** Matters of the log, as all hubs have them. */
  get matters(): readonly Matter[] {
    return this.#book.matters;
  }

  get rules(): MatterRules {
    return this.#rules;
  }

  /** A signature that only the holder of a key can make; nothing here hands out those of others for other statements. */
  #sign(pubkey: string, statement: Statement): string {
    return Buffer.from(`${pubkey} ${canonicalJson(statement)}`)
      .toString('hex')
      .padEnd(128, '0')
      .slice(-128);
  }

  /** Returns where an action truly is; null for inventions. */
  #truth({ chain, index }: Pick<Attestation, 'chain' | 'index'>): ActionPlace | null {
    if (index > ACTIONS) return null;
    return { action: 'SEND', height: index, hash: this.#blocksAt(chain, index).at(-1)! };
  }

  #blocksAt(chain: string, height: number): string[] {
    const place = `${chain} ${height}`;
    const known = this.#blocks.get(place);
    if (known) return known;
    const made = [this.#hash()];
    this.#blocks.set(place, made);
    return made;
  }

  #hash(): string {
    return Array.from({ length: 64 }, () => this.#random.pick([...HEX])).join('');
  }

  /** A chain gets another block; some honest hub reports it. */
  #reorganise(): void {
    const [chain, height] = [this.#random.pick(CHAINS), this.#random.between(1, ACTIONS)];
    const of = this.#blocksAt(chain, height);
    const oldHash = of.at(-1)!;
    of.push(this.#hash());
    // Blocks above it are others as well.
    for (let above = height + 1; above <= ACTIONS; above++) {
      const blocks = this.#blocks.get(`${chain} ${above}`);
      blocks?.push(this.#hash());
    }
    const report = { type: 'reorg', chain, height, timestamp: Math.floor(this.#time / 1_000), oldHash } as const;
    if (this.#isLying('takes ids of others'))
      this.#lieStep({ ...report, newHash: this.#hash() }, this.#random.pick([...this.#liars]));
    // Each honest hub sees it: one that reported lately is refused, the next one is not.
    for (const hub of this.#honest) {
      const refusal = this.#submit(hub, { ...report, newHash: of.at(-1)! });
      if (refusal === null) return;
      if (!/less than 60 s/.test(refusal)) throw new Violation(`a true report is refused: ${refusal}`);
      this.#time += STEP_MS;
    }
  }

  get #honest(): readonly string[] {
    return this.#keys.filter((key) => !this.#liars.has(key));
  }

  #actHonestly(): void {
    const hub = this.#random.pick(this.#honest);
    const [chain, destination] = this.#random.pick([
      ['BTC', 'LTC'],
      ['LTC', 'DOGE'],
      ['DOGE', 'BTC']
    ] as const);
    const action = { chain, index: this.#random.between(1, ACTIONS), destination };
    const act = this.#random.between(1, 12);
    if (act <= 5) {
      const refusal = this.#submit(hub, { type: 'attest', ...action });
      if (refusal !== null) throw new Violation(`an honest request is refused: ${refusal}`);
    } else if (act <= 7) {
      const destinationIndex = this.#random.chance(0.3) ? null : this.#random.between(1, ACTIONS + 5);
      this.#submit(hub, { type: 'swap', ...action, destinationIndex });
    } else if (act === 8) {
      const parameter = this.#random.pick(PARAMETERS);
      const proposedValue = parameter === 'NAME' ? `name ${act}` : String(this.#random.between(5, 20));
      this.#submit(hub, { type: 'propose', parameter, currentValue: null, proposedValue, rationale: null });
    } else for (const matter of this.#open('proposal')) this.#vote(hub, matter);
  }

  #vote(hub: string, { id, votes, number }: Proposal): void {
    if (votes.some((vote) => vote.hub === hub)) return;
    const approves = number % 3 !== 0;
    this.#cast.set(`${hub} ${id}`, approves);
    const refusal = this.#submit(hub, { type: 'vote', id, approves });
    if (refusal !== null && !/there is nothing to vote on/.test(refusal))
      throw new Violation(`an honest vote is refused: ${refusal}`);
  }

  /** Honest hubs do what is due for the swaps that they began. */
  #driveSwaps(): void {
    for (const matter of this.#book.matters) {
      if (matter.kind !== 'swap' || this.#liars.has(matter.submitter)) continue;
      const step = dueStep(this.#actionsOf(matter), this.#time);
      const refusal = step && this.#submit(matter.submitter, step);
      if (refusal !== null) throw new Violation(`a step of a swap is refused: ${refusal}`);
    }
  }

  #actionsOf(swap: Swap): SwapWithActions {
    const { chain, index, destination } = swap;
    const id = destinationId(swap);
    return {
      swap,
      source: this.#book.find('attestation', attestationId(chain, index, destination)),
      destination: id === null ? undefined : this.#book.find('attestation', id)
    };
  }

  #checkSwap(swap: Swap): void {
    if (swap.status !== 'executed' && swap.status !== 'settled') return;
    this.#counts[swap.status] += 1;
    const { source, destination } = this.#actionsOf(swap);
    if (source?.status !== 'attested' || destination?.status !== 'attested')
      throw new Violation(`${swap.id} is ${swap.status}, and one of its actions is not attested`);
  }

  /** Each honest hub says what it knows of all that is open; what is true is decided then. */
  #answerAll(): void {
    // A confirmed reorg opens attestations again.
    for (let pass = 0; pass < MOST_PASSES; pass++)
      for (const hub of this.#shuffled())
        for (const matter of [...this.#open('attestation'), ...this.#open('reorg')])
          if (this.#liars.has(hub)) this.#lieAbout(hub, matter);
          else this.#answer(hub, matter);
    for (const matter of this.#open('attestation'))
      throw new Violation(`${matter.id} is open although all honest hubs have said what they know`);
    for (const matter of this.#open('reorg')) throw new Violation(`the report ${matter.id} is open`);
  }

  #answer(hub: string, matter: Attestation | Reorg): void {
    const present = this.#book.find(matter.kind, matter.id);
    if (!present || present.endsAt === null || present.words.some((word) => word.hub === hub)) return;
    const refusal = this.#submit(hub, this.#wordOf(hub, present));
    if (refusal !== null && !/ is expired$/.test(refusal)) throw new Violation(`an honest word is refused: ${refusal}`);
  }

  #shuffled(): readonly string[] {
    const from = this.#random.between(0, this.#keys.length - 1);
    return [...this.#keys.slice(from), ...this.#keys.slice(0, from)];
  }

  #wordOf(hub: string, matter: Attestation | Reorg): MatterStep {
    if (matter.kind === 'reorg') {
      const isSeen = this.#isTrue(matter);
      return {
        type: 'reorg-word',
        id: matter.id,
        isSeen,
        sig: isSeen ? this.#sign(hub, reorgStatement(matter)) : null
      };
    }
    const place = this.#truth(matter);
    const sig = place && this.#sign(hub, actionStatement(matter, place));
    return { type: 'action-word', id: matter.id, turn: matter.turn, place, sig };
  }

  #isTrue({ chain, height, oldHash, newHash }: Pick<Reorg, 'chain' | 'height' | 'oldHash' | 'newHash'>): boolean {
    const of = this.#blocks.get(`${chain} ${height}`) ?? [];
    return of.at(-1) === newHash && of.slice(0, -1).includes(oldHash);
  }

  #open<K extends Matter['kind']>(kind: K): readonly Extract<Matter, { kind: K }>[] {
    return this.#book.matters.filter(
      (matter): matter is Extract<Matter, { kind: K }> => matter.kind === kind && matter.endsAt !== null
    );
  }

  /** Hands a step to all hubs by the log, and checks what it changes. @returns why it changes nothing; null: it is done */
  #submit(submitter: string, step: MatterStep): string | null {
    this.#time += this.#random.between(1, 20);
    // What the hubs read is what was written.
    const read = readMatter(matterBodyOf(step));
    if (!read) return 'it has no form that hubs take';
    this.#old.push({ hub: submitter, step });
    const submitted = { submitter, sig: '', step: read };
    this.#options.watch?.(submitted, this.#time);
    const before = this.#book.matters;
    const [first, second] = this.#books.map((book) => book.take(submitted, this.#time));
    if (first !== second) throw new Violation(`two hubs decide differently: ${first}, ${second}`);
    const known = new Map(before.map((matter) => [`${matter.kind} ${matter.id}`, matter]));
    for (const matter of this.#book.matters) {
      const earlier = known.get(`${matter.kind} ${matter.id}`);
      if (earlier !== matter) this.#check(matter, earlier);
    }
    this.#checkBounds();
    if (first != null) this.#refused.push(first);
    return first ?? null;
  }

  #check(matter: Matter, earlier: Matter | undefined): void {
    if (matter.status === earlier?.status) return;
    switch (matter.kind) {
      case 'attestation': {
        if (matter.status !== 'attested') return;
        this.#counts.attested += 1;
        const certificate = certificateOf(matter);
        const [first] = certificate;
        const hubs = new Set(certificate.map(({ hub }) => hub));
        if (hubs.size <= this.#rules.faulty) throw new Violation(`${matter.id}: ${hubs.size} hubs attest it`);
        if (canonicalJson(first!.place) !== canonicalJson(this.#truth(matter)))
          throw new Violation(`${matter.id} is attested at a place where it is not`);
        return;
      }
      case 'reorg':
        if (matter.status !== 'confirmed') return;
        this.#counts.confirmed += 1;
        if (!this.#isTrue(matter)) throw new Violation(`the report ${matter.id} is confirmed and not true`);
        return;
      case 'proposal':
        this.#checkProposal(matter);
        return;
      case 'swap':
        this.#checkSwap(matter);
        return;
    }
  }

  #checkProposal({ id, status, votes, electorate, currentValue, proposedValue, parameter }: Proposal): void {
    for (const { hub, approves } of votes)
      if (!this.#liars.has(hub) && this.#cast.get(`${hub} ${id}`) !== approves)
        throw new Violation(`${id} has a vote of ${hub} that it did not cast`);
    if (new Set(votes.map(({ hub }) => hub)).size < votes.length) throw new Violation(`${id} counts a hub twice`);
    if (status === 'failed') this.#counts.failed += 1;
    if (status !== 'passed') return;
    this.#counts.passed += 1;
    if (3 * votes.filter(({ approves }) => approves).length < 2 * electorate.length)
      throw new Violation(`${id} passes with less than two thirds`);
    if (currentValue !== null && findChangeFault(parameter, currentValue, proposedValue) !== null)
      throw new Violation(`${id} passes beyond its bounds`);
  }

  #checkBounds(): void {
    for (const [kind, { open }] of Object.entries(BOUNDS))
      for (const hub of this.#keys) {
        const own = this.#book.matters.filter((one) => one.kind === kind && one.submitter === hub);
        // A confirmed reorg opens attestations again that were decided.
        const again = own.filter((one) => one.kind === 'attestation' && one.reorg !== null).length;
        if (own.filter(({ endsAt }) => endsAt !== null).length > open + again)
          throw new Violation(`${hub} has too many open ${kind}s`);
        const passed = own.filter((one) => one.kind === 'proposal' && one.status === 'passed').length;
        const newest = own.at(-1)?.begunAt ?? 0;
        const old = own.filter(({ begunAt }) => begunAt <= newest - KEPT_FOR_MS).length;
        if (old > open + again + passed && own.length > open + again + passed + KEPT_MATTERS)
          throw new Violation(`${hub} keeps too many ${kind}s`);
      }
  }

  #isLying(behaviour: MatterBehaviour): boolean {
    return this.#options.behaviour === behaviour;
  }

  #lieStep(step: MatterStep, hub: string): void {
    this.#lies += 1;
    this.#submit(hub, step);
  }

  /** Says something else than what is so, where the behaviour does that. */
  #lieAbout(hub: string, { kind, id }: Attestation | Reorg): void {
    const matter = this.#book.find(kind, id);
    if (!matter || matter.endsAt === null) return;
    const word = this.#wordOf(hub, matter);
    const other: ActionPlace = { action: 'SEND', height: this.#random.between(1, 10 ** 6), hash: 'f'.repeat(64) };
    const mine = (place: ActionPlace | null): MatterStep =>
      matter.kind === 'attestation'
        ? {
            type: 'action-word',
            id,
            turn: matter.turn,
            place,
            sig: place && this.#sign(hub, actionStatement(matter, place))
          }
        : { type: 'reorg-word', id, isSeen: true, sig: this.#sign(hub, reorgStatement(matter)) };
    switch (this.#options.behaviour) {
      case 'is silent':
        this.#lies += 1;
        return;
      case 'says another place':
      case 'asks for inventions':
      case 'reports inventions':
        this.#lieStep(mine(other), hub);
        return;
      case 'says that there is none':
        this.#lieStep(mine(null), hub);
        return;
      case 'denies reorgs':
        this.#lieStep(matter.kind === 'reorg' ? { type: 'reorg-word', id, isSeen: false, sig: null } : mine(null), hub);
        return;
      case 'says two things':
        this.#lieStep(mine(other), hub);
        this.#lieStep(word, hub);
        return;
      case 'repeats the words of others': {
        const [first] = matter.words;
        if (!first) return;
        const stolen = { ...word, sig: first.sig } as MatterStep;
        this.#lieStep(stolen, hub);
        return;
      }
      case 'says old words again': {
        const words = this.#old.filter((one) => one.hub === hub && one.step.type === 'action-word').slice(-40);
        const old = words[0] && this.#random.pick(words);
        if (old) this.#lieStep({ ...old.step, ...('turn' in word && { turn: word.turn, id }) } as MatterStep, hub);
        this.#submit(hub, word);
        return;
      }
      default:
        this.#submit(hub, word);
    }
  }

  /** Does, at times, what no honest hub would. */
  #lie(): void {
    const [hub] = [...this.#liars];
    if (hub === undefined) return;
    const [chain, destination] = ['BTC', 'DOGE'] as const;
    switch (this.#options.behaviour) {
      case 'asks for inventions':
        this.#lieStep({ type: 'attest', chain, index: this.#random.between(ACTIONS + 1, 1_000), destination }, hub);
        return;
      case 'asks all the time':
        for (let count = 0; count < 12; count++)
          this.#lieStep({ type: 'attest', chain, index: this.#random.between(1, 1_000), destination }, hub);
        return;
      case 'reports inventions': {
        const height = this.#random.between(1, ACTIONS);
        const newHash = this.#blocksAt('LTC', height).at(-1)!;
        const report = { type: 'reorg', chain: 'LTC', height, timestamp: 1, oldHash: this.#hash(), newHash } as const;
        this.#lieStep(report, hub);
        this.#lieStep({ ...report, oldHash: newHash, newHash: this.#hash() }, hub);
        return;
      }
      case 'votes twice and for others':
        for (const { id, votes } of this.#open('proposal')) {
          for (const approves of [true, false, true]) this.#lieStep({ type: 'vote', id, approves }, hub);
          if (votes.length > 0) this.#lieStep({ type: 'vote', id: `${id} `, approves: true }, hub);
        }
        return;
      case 'proposes wild changes':
        for (const proposedValue of ['1000000', '0', '1e3', 'many'])
          this.#lieStep(
            { type: 'propose', parameter: PARAMETERS[0]!, currentValue: null, proposedValue, rationale: null },
            hub
          );
        return;
      case 'closes too early':
        for (const { endsAt } of this.#open('proposal')) this.#lieStep({ type: 'close', endsAt: endsAt! }, hub);
        return;
      default:
    }
  }
}
