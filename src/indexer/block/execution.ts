import { parseCommand } from '../../coin/action/command.ts';
import type { Limits } from '../../coin/limits.ts';
import {
  type ActionRow,
  actionsHash,
  contractHash,
  type HashPosition,
  ledgerHash
} from '../../consensus/ledger-hashes.ts';
import { medianTime } from '../../consensus/median-time.ts';
import { COINPAY, HANDLERS } from '../actions/handlers.ts';
import { paymentsOf } from '../offers/coinpay.ts';
import { dispense } from '../offers/dispense.ts';
import { dueActions } from '../offers/due.ts';
import { duePolls } from '../polls/close.ts';
import { type Rules, spellingAt } from '../profile/rules.ts';
import type { SystemAction } from '../rules/action-definition.ts';
import { hasLimits, readIndex, transferFacts } from '../rules/checks.ts';
import { type Parts, runUntil } from '../rules/parts.ts';
import { dueReleases } from '../staking/release.ts';
import type { Action } from '../state/action.ts';
import { Effects, type Left } from '../state/effects.ts';
import { FactKeys } from '../state/fact-keys.ts';
import type { FactTable } from '../state/fact-table.ts';
import { type FactKey, type Kind, type ListCount, Missing } from '../state/facts.ts';
import { memberKey, tickKey } from '../state/keys.ts';
import { addSums, MOVEMENTS, type MovedSums } from '../state/movements.ts';
import type { Refusal, RowChange, TableRow } from '../state/rows.ts';
import { Scouting } from '../state/scouting.ts';
import type { View } from '../state/view.ts';
import { ActionRunner } from './action-runner.ts';
import type { BlockHashes, ChainBlock, ChainTransaction, ExecutedBlock, TradeRest } from './block.ts';
import { rootOf } from './block-root.ts';
import { ChangedState } from './changed-state.ts';
import { keepLists } from './kept-lists.ts';
import { Progress } from './progress.ts';
import { Shares } from './shares.ts';
import { type CommandUnit, commandsOf, type Moved, NOBODY, type Outcome, type Unit } from './unit.ts';

/**
 * Most facts that are collected before they are loaded, those counted again that several units lack: thousands of
 * actions may lack those of all holders of a token.
 */
const MOST_LACKING = 50_000;

/** Facts of one unit that are many. */
const MANY_FACTS = 500;
/**
 * Most facts that a block loads ahead for units that lack many. The others load theirs when their turn comes: a block
 * may refuse most of those that read very much.
 */
const MOST_AHEAD = 500_000;

/** Most commands and following actions that are tried ahead at once. */
const MOST_PARTS = 4_000;
/** Longest stretch of tries. The thread has other work, and counts as hung when it never turns to it. */
const SCOUTING_MS = 1_000;
/** Attempts of one unit after which facts of any kind are guessed, so that no unit is begun anew for each of many. */
const PATIENT_ATTEMPTS = 4;

/** Median times of a block, in epoch seconds. */
type BlockTimes = Pick<Action['block'], 'time' | 'timeBelow'>;

/**
 * Returns the median times of a block. @param times times of it and the blocks below, oldest first, as many as two
 * medians take
 */
export function timesOf(times: readonly number[]): BlockTimes {
  return { time: medianTime(times), timeBelow: times.length > 1 ? medianTime(times.slice(0, -1)) : 0 };
}

/** Unit that runs. */
interface Begun {
  readonly effects: Effects;
  readonly work: Parts<Outcome | null>;
  /** Time that it has taken so far, in milliseconds. */
  readonly ms: number;
}

/** Executes one block, action by action, on a view that it changes. */
export class BlockExecution {
  readonly #view: View;
  readonly #rules: Rules;
  readonly #limits: Limits;
  readonly #block: ChainBlock;
  readonly #progress: Progress;
  readonly #shares: Shares;
  /** Units that are still to be done, the next one last. */
  readonly #pending: Unit[];
  readonly #runner: ActionRunner;
  /** Median time by which rules count, in epoch seconds. */
  readonly #time: number;
  readonly #rows: TableRow[] = [];
  readonly #rowChanges: RowChange[] = [];
  readonly #refusals: Refusal[] = [];
  readonly #actions: ActionRow[] = [];
  readonly #moved: Moved = { debits: [], credits: [], escrows: [] };
  readonly #newAddresses = new Set<string>();
  readonly #changed = new ChangedState();
  readonly #sums: MovedSums = new Map();
  readonly #changingEdits: (readonly [edit: number, root: number])[] = [];
  /** Newest action of each list that the block made or edited, by the root of the list. */
  readonly #countedLists = new Map<number, number>();
  readonly #rests = new Map<string, TradeRest>();
  /** Polls of the block's ballots. */
  readonly #voted = new Set<number>();
  /** Newest edit of each list that the block edited, by the root of the list. */
  readonly #editedLists = new Map<number, number>();
  /**
   * Units that need no further scouting: they lacked nothing, the facts that they lacked were all that they read, or
   * these were too many.
   */
  readonly #scouted = new Set<Unit>();
  /** Facts that units with many have lacked before their turns. */
  #ahead = 0;
  /** Number of times that the next unit lacked facts. */
  #attempts = 0;
  /** Unit whose time was over between two legs. It goes on where it stopped. */
  #begun: Begun | undefined;

  constructor(view: View, rules: Rules, block: ChainBlock, times: BlockTimes, progress = new Progress()) {
    this.#view = view;
    this.#progress = progress;
    this.#rules = rules;
    this.#limits = rules.limitsAt(block.height);
    this.#block = block;
    this.#shares = new Shares(this.#limits, block.transactions);
    this.#time = times.time;
    this.#runner = new ActionRunner(rules, {
      height: block.height,
      ...times,
      ...(block.prices ? { rounds: block.prices.rounds } : {}),
      newAddresses: this.#newAddresses
    });
    this.#pending = [{ kind: 'lists' }, { kind: 'end' }];
    for (const [place, transaction] of block.transactions.entries().toArray().reverse())
      this.#pending.push({ kind: 'transaction', transaction, place });
  }

  /**
   * Goes on until the block is done, a fact is not in the view, or the time is over. That may be within an action, after
   * one of its legs.
   *
   * @param until a time of performance.now()
   * @returns the facts to load before it can go on, none when the time was over; null when the block is done
   */
  advance(until = Number.POSITIVE_INFINITY): FactKeys | null {
    let begun = performance.now();
    this.#view.respell(spellingAt(this.#rules, this.#block.height));
    for (let unit = this.#pending.at(-1); unit; unit = this.#pending.at(-1)) {
      if (begun >= until) return new FactKeys();
      this.#progress.begin(this.#block.height, unit);
      const { effects, work, ms } = this.#begun ?? this.#begin(unit);
      this.#begun = undefined;
      try {
        const done = runUntil(work, until);
        if (done === undefined) {
          this.#begun = { effects, work, ms: ms + performance.now() - begun };
          return new FactKeys();
        }
        const outcome = done.result;
        const isDone = outcome !== null && !outcome.isEmpty;
        if (isDone) this.#commit(effects, outcome);
        this.#shares.use(isDone && outcome.actions ? effects.used : isDone ? 0 : effects.looked, effects.looks);
        this.#pending.pop();
        this.#attempts = 0;
        append(this.#pending, outcome?.next.toReversed() ?? []);
        const ended = performance.now();
        this.#progress.end(ms + ended - begun);
        begun = ended;
      } catch (caught) {
        if (!(caught instanceof Missing)) throw caught;
        return this.#lackedBy(unit, caught);
      }
    }
    return null;
  }

  #begin(unit: Unit): Begun {
    if (unit.kind === 'transaction') this.#shares.begin(unit.place, unit.transaction);
    if (unit.kind === 'end') this.#shares.end();
    const effects = new Effects(this.#view, this.#shares.left);
    return { effects, work: this.#carryOut(unit, effects), ms: 0 };
  }

  /**
   * Returns the facts that a unit lacks: those that stopped it, and others. One load then brings thousands, instead of
   * one attempt each.
   */
  #lackedBy(unit: Unit, { keys }: Missing): FactKeys {
    const scouting = new Scouting(this.#view, this.#shares.left, ++this.#attempts > PATIENT_ATTEMPTS);
    const until = performance.now() + SCOUTING_MS;
    scouting.try((effects) => runUntil(this.#carryOut(unit, effects), until));
    scouting.lacking.addAll(keys);
    return scouting.lacking;
  }

  #commit(effects: Effects, { actions = [], moved }: Outcome): void {
    this.#noteDecisions(effects, actions[0]?.action_index);
    this.#view.commit(effects.changes);
    for (const [edit, root] of effects.changes.of('listRoot')) this.#noteList(Number(edit), root);
    for (const [, poll] of effects.changes.of('poll'))
      if (poll?.lastBallot === this.#block.height) this.#voted.add(poll.index);
    this.#changed.add(effects.changes);
    for (const address of effects.newAddresses) this.#newAddresses.add(address);
    append(this.#rows, effects.rows);
    append(this.#rowChanges, effects.rowChanges);
    append(this.#refusals, effects.refusals);
    append(this.#actions, actions);
    addSums(this.#sums, effects.sums);
    if (moved) for (const movement of MOVEMENTS) append(this.#moved[movement], moved[movement]);
  }

  /** Notes what an action decides about lists and trades. Call it before the view has its changes. */
  #noteDecisions({ changes }: Effects, action: number | undefined): void {
    for (const [edit, root] of changes.of('listRoot')) {
      if (root === null) continue;
      this.#countedLists.set(root, Number(edit));
      const [former, edited] = [this.#view, changes].map((each) => countIn(each, root));
      // Below the height of LIMITS an edit keeps all members, and counts no changes: these tell of it. Where none is
      // left, it keeps nothing that does.
      const isEmptied = edited?.size === 0 && former?.size !== 0;
      const isChanging = isEmptied || (edited?.changes !== former?.changes && edited?.changes !== 0);
      if (Number(edit) !== root && isChanging) this.#changingEdits.push([Number(edit), root]);
    }
    for (const [key, offer] of changes.of('offer')) {
      if ((offer?.kind !== 'order' && offer?.kind !== 'swap') || action === undefined) continue;
      const { index, give, get, giveLeft, getLeft } = offer;
      const found = this.#view.find('offer', key);
      const former = found && 'giveLeft' in found ? found : { giveLeft: give.amount, getLeft: get.amount };
      if (giveLeft === former.giveLeft && getLeft === former.getLeft) continue;
      this.#rests.set(key, { trade: index, action, giveLeft, getLeft });
    }
  }

  #noteList(edit: number, root: number | null): void {
    if (root === null || root === edit || !hasLimits({ limits: this.#limits })) return;
    this.#editedLists.delete(root);
    this.#editedLists.set(root, edit);
  }

  /**
   * Adds the facts that the block's next units lack, each tried by itself on the present view. Once they are loaded,
   * some may lack further facts that they did not reach. What is not tried in time is left to its own attempts.
   */
  scout(lacking: FactKeys): void {
    lacking.addAll(this.#view.missing([{ kind: 'cooling', key: String(this.#block.height) }]));
    let [used, parts, found] = [0, 0, 0];
    const until = performance.now() + SCOUTING_MS;
    const isOver = (count: number) => count >= MOST_LACKING || performance.now() >= until;
    for (let at = this.#pending.length - 1; at >= 0 && !isOver(found); at--) {
      const unit = this.#pending[at]!;
      if (unit.kind !== 'transaction' && ++parts > MOST_PARTS) break;
      if (this.#scouted.has(unit)) continue;
      const commands =
        unit.kind === 'transaction' ? commandsOf(unit.transaction) : unit.kind === 'command' ? [unit] : [];
      const missing = new FactKeys();
      for (const command of commands) {
        if (isOver(found + missing.size)) break;
        used += this.#addMissing(command, used, missing, until);
      }
      if (unit.kind === 'system') used += this.#tryAt(used, missing, (effects) => this.#runner.system(unit, effects));
      const areMany = missing.size > MANY_FACTS;
      if (areMany) this.#ahead += missing.size;
      if (areMany && this.#ahead > MOST_AHEAD) {
        this.#scouted.add(unit);
        continue;
      }
      found += missing.size;
      // Facts of members are guessed once the token is known.
      const isGuess = commands.length > 0 && commands.every(isGuessed) && !missing.hasKind('token');
      const isWhole = missing.size === 0 || isGuess;
      if (isWhole && !isOver(found)) this.#scouted.add(unit);
      lacking.addAll(missing);
    }
  }

  /**
   * Returns the result of the block. @param previous hashes of the block below; undefined for the first block of a
   * ledger
   */
  finish(previous: BlockHashes | undefined): ExecutedBlock {
    const position = (previousHash: string | undefined): HashPosition => {
      return { blockIndex: this.#block.height, previousHash };
    };
    return {
      block: this.#block,
      root: rootOf(this.#rules.hashes, this.#moved, this.#actions),
      rows: this.#rows,
      rowChanges: this.#rowChanges,
      refusals: this.#refusals,
      sums: this.#sums,
      editedLists: this.#changingEdits,
      rests: [...this.#rests.values()],
      listCounts: [...this.#countedLists].map(([root, action]) => ({ root, action, ...countIn(this.#view, root)! })),
      balances: this.#changed.balances(this.#view),
      hashes: {
        ledger: ledgerHash(this.#moved, position(previous?.ledger), this.#rules.roles),
        actions: actionsHash(this.#actions, position(previous?.actions)),
        contract: contractHash({}, position(previous?.contract)),
        state: previous?.state === null ? null : this.#changed.hash(this.#view, position(previous?.state), this.#rules)
      }
    };
  }

  /**
   * Adds the facts that a command lacks. @returns the units that it would use, so that commands beyond the block's room
   * are not tried
   */
  #addMissing(unit: CommandUnit, used: number, missing: FactKeys, until: number): number {
    const { source } = unit.transaction;
    const { fields } = this.#runner.actionOf(unit.command, 0, 0, source);
    const tick = fields.get('TICK') || fields.get('GIVE_TICK');
    const destination = fields.get('DESTINATION');
    const guessed = this.#view.missing([
      { kind: 'addressId', key: source },
      ...(destination === '' ? [] : [{ kind: 'addressId', key: destination } as const]),
      ...(tick === '' ? [] : transferFacts(tick, source, destination)),
      ...memberFacts(this.#view, tick, [source, destination])
    ]);
    missing.addAll(guessed);
    if (isGuessed(unit)) return 1;
    return this.#tryAt(used, missing, (effects) => runUntil(this.#carryOut(unit, effects), until));
  }

  /** Adds the facts that some work lacks after other work. @returns the units that it would use */
  #tryAt(used: number, missing: FactKeys, run: (effects: Effects) => unknown): number {
    const left: Left = { ...this.#shares.left, units: this.#shares.units - used, isLast: true };
    const scouting = new Scouting(this.#view, left);
    scouting.try(run);
    missing.addAll(scouting.lacking);
    return scouting.used;
  }

  /** Runs one unit. Its result is null when nothing happened. */
  *#carryOut(unit: Unit, effects: Effects): Parts<Outcome | null> {
    switch (unit.kind) {
      case 'transaction':
        return { next: this.#open(unit.transaction, effects) };
      case 'command': {
        const payments = this.#paymentsOf(unit, effects);
        return payments ? { next: payments } : yield* this.#runner.command(unit, effects);
      }
      case 'system':
        return this.#runner.system(unit, effects);
      case 'lists':
        keepLists(this.#editedLists, effects, this.#limits, { units: this.#shares.units, bytes: this.#bytes });
        return { next: [] };
      default:
        return { next: this.#due(effects).map((act) => ({ kind: 'system', act, txIndex: null })) };
    }
  }

  /** Characters of the block's actions. */
  get #bytes(): number {
    return this.#block.transactions.reduce((sum, { data }) => sum + data.length, 0);
  }

  /**
   * Returns the actions that end things with this block: offers and payments by their times, then polls and cooldowns
   * by its height.
   */
  #due(effects: Effects): SystemAction[] {
    const { height } = this.#block;
    const units = { all: this.#limits.blockUnits, left: this.#shares.units };
    return [
      ...dueActions(effects, this.#time, units),
      ...duePolls(effects, height, this.#voted),
      ...dueReleases(effects, height)
    ];
  }

  #open(transaction: ChainTransaction, effects: Effects): Unit[] {
    const txIndex = effects.nextNumber('transaction');
    const { hash, source, fee, data, outputs = [] } = transaction;
    effects.record('transactions', {
      tx_index: txIndex,
      block_index: this.#block.height,
      tx_hash_id: hash,
      source_id: source === NOBODY ? null : source,
      fee,
      data
    });
    if (source === NOBODY) return [];
    if (data !== '') return [{ kind: 'command', transaction, command: parseCommand(data), txIndex }];
    if (!this.#rules.isActive('DISPENSER', this.#block.height)) return [];
    return outputs.map(({ address, amount }) => {
      const payment = { payer: source, payee: address, tick: null, amount };
      return { kind: 'system', act: dispense(payment), txIndex };
    });
  }

  /** Returns the payments of a COINPAY; null for any other command. */
  #paymentsOf(
    { command: { name, format, fields }, transaction, txIndex }: CommandUnit,
    ledger: Effects
  ): Unit[] | null {
    if (name !== COINPAY || format !== 0 || !this.#rules.isActive(name, this.#block.height)) return null;
    const { source, hash: txid, outputs = [] } = transaction;
    const paid = { source, txid, outputs, time: this.#time };
    const payments = paymentsOf(readIndex(fields[0] ?? ''), paid, { ledger, limits: this.#limits });
    return payments.map((act) => ({ kind: 'system', act, txIndex }));
  }
}

/** Returns the numbers of a list that is in memory or was changed. */
function countIn(state: Pick<View, 'find'> | FactTable, root: number): ListCount | undefined {
  const find = <K extends Kind>(kind: K) =>
    'find' in state ? state.find(kind, String(root)) : state.get(kind, String(root));
  const list = find('list');
  return list ? { size: list.members.size, changes: list.changes } : (find('listCount') ?? undefined);
}

/** Returns the facts that tell whether lists of a token, which is in memory, have addresses. */
function memberFacts(view: View, tick: string, addresses: readonly string[]): FactKey[] {
  const token = view.find('token', tickKey(tick));
  return [token?.allowList, token?.blockList].flatMap((root) => {
    if (root == null || view.find('list', String(root)) !== undefined) return [];
    return [
      { kind: 'listRoot', key: String(root) } as const,
      ...addresses.map((address) => ({ kind: 'member', key: memberKey(root, address) }) as const)
    ];
  });
}

/** Returns whether the facts that a command reads are guessed, without a trial. */
function isGuessed({ command: { name, format } }: CommandUnit): boolean {
  return HANDLERS.get(name)?.plainFormats.includes(format ?? -1) ?? false;
}

/** Appends items to a list. There may be too many for the arguments of one call. */
function append<T>(list: T[], more: readonly T[]): void {
  for (const item of more) list.push(item);
}
