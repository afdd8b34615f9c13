import { ACTIONS } from '../../coin/actions.ts';
import { blockRoot } from '../../consensus/block-root.ts';
import { type CommitmentHashes, toHex } from '../../consensus/commitment-hashes.ts';
import {
  type ActionRow,
  actionsHash,
  contractHash,
  type HashPosition,
  type LedgerRow,
  ledgerHash
} from '../../consensus/ledger-hashes.ts';
import { type Output, payMatch } from '../offers/coinpay.ts';
import { dispense } from '../offers/dispense.ts';
import { dueActions } from '../offers/due.ts';
import { recordedName, type SystemAction, statusText } from '../rules/action-definition.ts';
import { readIndex } from '../rules/checks.ts';
import { type Command, nameFields, parseCommand } from '../rules/grammar.ts';
import { COINPAY, HANDLERS, isBuilt } from '../rules/handlers.ts';
import type { Rules } from '../rules/rules.ts';
import { dueReleases } from '../staking/release.ts';
import { type Action, Effects, MOVEMENTS, type Movement, type RowChange, type TableRow } from '../state/effects.ts';
import { type FactKey, Missing, type View } from '../state/state.ts';

/** A transaction with an action, as a decoder stored it. */
export interface ChainTransaction {
  readonly hash: string;
  /** Address that pays and acts. */
  readonly source: string;
  readonly fee: number | null;
  /** Its action text; empty for a payment alone. */
  readonly data: string;
  /** Outputs that an action may be about, or that pay dispensers. */
  readonly outputs?: readonly Output[];
}

export interface ChainBlock {
  readonly height: number;
  /** Epoch seconds. */
  readonly time: number;
  readonly hash: string;
  readonly transactions: readonly ChainTransaction[];
}

/** The hash chains of a ledger at one block. */
export interface BlockHashes {
  readonly ledger: string;
  readonly actions: string;
  readonly contract: string;
}

/** The root over a block's movements and actions, as hex. @see src/consensus/block-root.ts */
function rootOf(hashes: CommitmentHashes, moved: Moved, actions: readonly ActionRow[]): string {
  const leavesOf = (rows: readonly LedgerRow[]) =>
    rows.map(({ action_index, ...named }) => ({ actionIndex: String(action_index), ...named }));
  const root = blockRoot(hashes, {
    credits: leavesOf(moved.credits),
    debits: leavesOf(moved.debits),
    escrows: leavesOf(moved.escrows),
    actions: actions.map(({ action_index, tx_index, action }) => {
      return { actionIndex: String(action_index), txIndex: tx_index === null ? null : String(tx_index), action };
    })
  });
  return toHex(root);
}

/** A block after its actions. */
export interface ExecutedBlock {
  readonly block: ChainBlock;
  readonly hashes: BlockHashes;
  /** Root over its movements and actions. */
  readonly root: string;
  /** In the order in which they came to be; the row of `blocks` is not among them. */
  readonly rows: readonly TableRow[];
  /** Of rows of this block and of earlier ones, to be made after the rows are written. */
  readonly rowChanges: readonly RowChange[];
  /** Tickers whose sums moved. */
  readonly movedTicks: ReadonlySet<string>;
}

interface CommandUnit {
  readonly kind: 'command';
  readonly transaction: ChainTransaction;
  readonly text: string;
  readonly txIndex: number;
}
interface SystemUnit {
  readonly kind: 'system';
  readonly act: SystemAction;
  readonly txIndex: number | null;
}

/** A transaction that begins, one command of it, what follows from one, or what is due when all are done. */
type Unit =
  | { readonly kind: 'transaction'; readonly transaction: ChainTransaction }
  | CommandUnit
  | SystemUnit
  | { readonly kind: 'end' };
type Moved = Record<Movement, LedgerRow[]>;

/** What a unit came to. */
interface Outcome {
  /** What it leaves to be done next, in order. */
  readonly next: readonly Unit[];
  /** What the hashes of the block cover. */
  readonly actions?: readonly ActionRow[];
  readonly moved?: Moved;
}

/** Carries one block out, action by action, on a view that it changes. */
export class BlockExecution {
  readonly #view: View;
  readonly #rules: Rules;
  readonly #block: ChainBlock;
  readonly #pending: Unit[];
  /** Epoch seconds that rules count by. */
  readonly #time: number;
  readonly #rows: TableRow[] = [];
  readonly #rowChanges: RowChange[] = [];
  readonly #actions: ActionRow[] = [];
  readonly #moved: Moved = { debits: [], credits: [], escrows: [] };
  /** Commands that lacked a fact when they were last scouted; null before the first time. */
  #unscouted: readonly CommandUnit[] | null = null;

  /** @param medianTime  of the block and up to ten below it */
  constructor(view: View, rules: Rules, block: ChainBlock, medianTime: number) {
    this.#view = view;
    this.#rules = rules;
    this.#block = block;
    this.#time = medianTime;
    this.#pending = [
      ...block.transactions.map((transaction) => ({ kind: 'transaction', transaction }) as const),
      { kind: 'end' }
    ];
  }

  /** Goes on until the block is done or a fact is not in the view. @returns what to load before it can go on */
  advance(): readonly FactKey[] | null {
    for (let unit = this.#pending[0]; unit; unit = this.#pending[0]) {
      const effects = new Effects(this.#view);
      try {
        const outcome = this.#carryOut(unit, effects);
        if (outcome !== null) this.#commit(effects, outcome);
        this.#pending.splice(0, 1, ...(outcome?.next ?? []));
      } catch (caught) {
        if (!(caught instanceof Missing)) throw caught;
        return caught.keys;
      }
    }
    return null;
  }

  #commit(effects: Effects, { actions = [], moved }: Outcome): void {
    this.#view.commit(effects.changes);
    append(this.#rows, effects.rows);
    append(this.#rowChanges, effects.rowChanges);
    append(this.#actions, actions);
    if (moved) for (const movement of MOVEMENTS) append(this.#moved[movement], moved[movement]);
  }

  /** The facts that the block's actions lack, each judged by itself on the view as it is. One that lacks none is not asked again. */
  scout(): FactKey[] {
    this.#unscouted ??= this.#pending.flatMap((unit) => commandsOf(unit));
    const lacking = this.#unscouted.map((unit) => ({ unit, missing: this.#missingOf(unit) }));
    this.#unscouted = lacking.flatMap(({ unit, missing }) => (missing.length > 0 ? [unit] : []));
    const ends = this.#view.missing([{ kind: 'cooling', key: String(this.#block.height) }]);
    return [...ends, ...lacking.flatMap(({ missing }) => missing)];
  }

  /** @param previous hashes of the block below; undefined for the first block of a ledger */
  finish(previous: BlockHashes | undefined): ExecutedBlock {
    const position = (previousHash: string | undefined): HashPosition => {
      return { blockIndex: this.#block.height, previousHash };
    };
    return {
      block: this.#block,
      root: rootOf(this.#rules.hashes, this.#moved, this.#actions),
      rows: this.#rows,
      rowChanges: this.#rowChanges,
      movedTicks: new Set(Object.values(this.#moved).flatMap((moved) => moved.map(({ tick }) => tick))),
      hashes: {
        ledger: ledgerHash(this.#moved, position(previous?.ledger), this.#rules.roles),
        actions: actionsHash(this.#actions, position(previous?.actions)),
        contract: contractHash({}, position(previous?.contract))
      }
    };
  }

  #missingOf(unit: CommandUnit): readonly FactKey[] {
    const effects = new Effects(this.#view);
    try {
      effects.addressId(unit.transaction.source);
      if (this.#paymentsOf(unit) === null) this.#perform(unit, effects);
      return [];
    } catch (caught) {
      if (!(caught instanceof Missing)) throw caught;
      return caught.keys;
    }
  }

  /** @returns null when it came to nothing */
  #carryOut(unit: Unit, effects: Effects): Outcome | null {
    switch (unit.kind) {
      case 'transaction':
        return { next: this.#begin(unit.transaction, effects) };
      case 'command': {
        const payments = this.#paymentsOf(unit);
        return payments ? { next: payments } : this.#perform(unit, effects);
      }
      case 'system':
        return this.#performSystem(unit, effects);
      default:
        return { next: this.#due(effects).map((act) => ({ kind: 'system', act, txIndex: null })) };
    }
  }

  /** What ends with the block: offers and payments by their times, then cooldowns by its height. */
  #due(effects: Effects): SystemAction[] {
    return [...dueActions(effects, this.#time), ...dueReleases(effects, this.#block.height)];
  }

  #begin(transaction: ChainTransaction, effects: Effects): Unit[] {
    const txIndex = effects.deal('transaction');
    const { hash, source, fee, data, outputs = [] } = transaction;
    effects.record('transactions', {
      tx_index: txIndex,
      block_index: this.#block.height,
      tx_hash_id: hash,
      source_id: source,
      fee,
      data
    });
    if (data !== '') return [{ kind: 'command', transaction, text: data, txIndex }];
    if (!this.#rules.isActive('DISPENSER', this.#block.height)) return [];
    return outputs.map(({ address, amount }) => {
      const payment = { payer: source, payee: address, tick: null, amount };
      return { kind: 'system', act: dispense(payment), txIndex };
    });
  }

  /** What a COINPAY asks of each output; null for any other command. */
  #paymentsOf({ text, transaction, txIndex }: CommandUnit): Unit[] | null {
    const { name, format, fields } = parseCommand(text);
    if (name !== COINPAY || format !== 0 || !this.#rules.isActive(name, this.#block.height)) return null;
    const { source, hash: txid, outputs = [] } = transaction;
    const match = readIndex(fields[0] ?? '');
    return outputs.map((output) => ({ kind: 'system', act: payMatch(match, output, { source, txid }), txIndex }));
  }

  #performSystem({ act, txIndex }: SystemUnit, effects: Effects): Outcome | null {
    const action: Action = {
      index: effects.deal('action'),
      txIndex: act.hasTransaction ? txIndex : null,
      name: act.name,
      format: act.format ?? null,
      source: act.source,
      fields: nameFields([], '', ''),
      block: { height: this.#block.height, time: this.#time }
    };
    const next: SystemAction[] = [];
    this.#recordAction(effects, action, act.vout);
    if (!act.run({ action, ledger: effects, rules: this.#rules, next })) return null;
    return {
      next: next.map((following) => ({ kind: 'system', act: following, txIndex })),
      ...this.#settle(action, effects)
    };
  }

  /** One action: judged, carried out, settled. */
  #perform(unit: CommandUnit, effects: Effects): Outcome {
    const { text, txIndex, transaction } = unit;
    const { source } = transaction;
    const command = parseCommand(text);
    const index = effects.deal('action');
    const action = this.#actionOf(command, index, txIndex, source);
    this.#recordAction(effects, action);
    effects.addressId(source);
    const refusal = this.#refusalOf(command);
    const handler = HANDLERS.get(command.name);
    const next: SystemAction[] = [];
    if (refusal !== undefined && handler)
      effects.record(handler.table, {
        action_index: index,
        source_id: source,
        block_index: this.#block.height,
        status_id: statusText(refusal)
      });
    const isValid = refusal === undefined && handler!.run({ action, ledger: effects, rules: this.#rules, next });
    if (isValid && command.name !== 'ISSUE') effects.set('past', String(index), { name: action.name, tick: null });
    const following = [
      ...next.map((act) => ({ kind: 'system', act, txIndex }) as const),
      ...effects.commands.map((command) => ({ ...unit, text: command }))
    ];
    return { next: following, ...this.#settle(action, effects) };
  }

  /** Adds the rows of what an action moved, touched and caused. */
  #settle(action: Action, effects: Effects): Pick<Outcome, 'actions' | 'moved'> {
    const moved = effects.settle(action.index);
    effects.addMappings(action.index);
    for (const caused of effects.caused) this.#recordAction(effects, { ...caused, txIndex: action.txIndex });
    const actions = [action, ...effects.caused].map(({ index, name }) => {
      return { action_index: index, tx_index: action.txIndex, action: name };
    });
    return { actions, moved };
  }

  #actionOf({ name, format, fields, rest }: Command, index: number, txIndex: number, source: string): Action {
    const handler = HANDLERS.get(name);
    const known = handler?.formats[format ?? -1] ?? '';
    return {
      index,
      txIndex,
      name: handler ? recordedName(handler, format) : ACTIONS.has(name) ? name : 'UNKNOWN',
      format,
      source,
      fields: nameFields(fields, known, rest),
      block: { height: this.#block.height, time: this.#time }
    };
  }

  #recordAction(
    effects: Effects,
    action: Pick<Action, 'index' | 'name' | 'format' | 'source' | 'txIndex'>,
    vout?: number
  ): void {
    effects.record('actions', {
      action_index: action.index,
      block_index: this.#block.height,
      tx_index: action.txIndex,
      tx_vout: vout ?? null,
      action_id: action.name,
      action_format: action.format,
      source_id: action.source
    });
  }

  /** Why an action is refused before its handler reads it. */
  #refusalOf({ name, format }: Command): string | undefined {
    if (!ACTIONS.has(name)) return 'Unknown ACTION';
    const handler = HANDLERS.get(name);
    if (!isBuilt(name) || !this.#rules.isActive(name, this.#block.height)) return 'ACTION is not yet activated';
    return format === null || handler?.formats[format] === undefined ? 'VERSION (unknown)' : undefined;
  }
}

/** The command of a transaction, and those that it would run after itself. */
function commandsOf(unit: Unit): CommandUnit[] {
  if (unit.kind !== 'transaction' || unit.transaction.data === '') return [];
  const { transaction } = unit;
  const { name, rest } = parseCommand(transaction.data);
  const texts = [transaction.data, ...(name === 'BATCH' ? rest.split(';').filter((text) => text !== '') : [])];
  return texts.map((text) => ({ kind: 'command', transaction, text, txIndex: 0 }));
}

/** Adds to a list what may be too long for the arguments of one call. */
function append<T>(list: T[], more: readonly T[]): void {
  for (const item of more) list.push(item);
}
