import { ACTIONS } from '../coin/actions.ts';
import {
  type ActionRow,
  actionsHash,
  contractHash,
  type HashPosition,
  type LedgerRow,
  ledgerHash
} from '../consensus/ledger-hashes.ts';
import { statusText } from './action-definition.ts';
import { type Action, Effects, type Movement, type TableRow } from './effects.ts';
import { type Command, nameFields, parseCommand } from './grammar.ts';
import { HANDLERS, tableOf } from './handlers.ts';
import type { Rules } from './rules.ts';
import { type FactKey, Missing, type View } from './state.ts';

/** A transaction with an action, as a decoder stored it. */
export interface ChainTransaction {
  readonly hash: string;
  /** Address that pays and acts. */
  readonly source: string;
  readonly fee: number | null;
  /** Its action text. */
  readonly data: string;
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

/** A block after its actions. */
export interface ExecutedBlock {
  readonly block: ChainBlock;
  readonly hashes: BlockHashes;
  /** In the order in which they came to be; the row of `blocks` is not among them. */
  readonly rows: readonly TableRow[];
  /** Tickers whose sums moved. */
  readonly movedTicks: ReadonlySet<string>;
}

/** A transaction that begins, or one command of it. */
type Unit = { readonly transaction: ChainTransaction } & (
  | { readonly kind: 'transaction' }
  | { readonly kind: 'command'; readonly text: string; readonly txIndex: number }
);

/** Carries one block out, action by action, on a view that it changes. */
export class BlockExecution {
  readonly #view: View;
  readonly #rules: Rules;
  readonly #block: ChainBlock;
  readonly #pending: Unit[];
  readonly #rows: TableRow[] = [];
  readonly #actions: ActionRow[] = [];
  readonly #moved: Record<Movement, LedgerRow[]> = { debits: [], credits: [], escrows: [] };

  constructor(view: View, rules: Rules, block: ChainBlock) {
    this.#view = view;
    this.#rules = rules;
    this.#block = block;
    this.#pending = block.transactions.map((transaction) => ({ kind: 'transaction', transaction }));
  }

  /** Goes on until the block is done or a fact is not in the view. @returns what to load before it can go on */
  advance(): readonly FactKey[] | null {
    for (let unit = this.#pending[0]; unit; unit = this.#pending[0]) {
      const effects = new Effects(this.#view);
      try {
        const next = this.#carryOut(unit, effects);
        this.#view.commit(effects.changes);
        this.#rows.push(...effects.rows);
        this.#pending.splice(0, 1, ...next);
      } catch (caught) {
        if (!(caught instanceof Missing)) throw caught;
        return caught.keys;
      }
    }
    return null;
  }

  /** The facts that the block's actions lack, each judged by itself on the view as it is. */
  scout(): FactKey[] {
    return this.#pending.flatMap((unit) => {
      if (unit.kind === 'command') return [];
      const commands = [unit.transaction.data, ...batchedCommands(unit.transaction.data)];
      return commands.flatMap((text) => this.#missingOf({ ...unit, kind: 'command', text, txIndex: 0 }));
    });
  }

  /** @param previous hashes of the block below; undefined for the first block of a ledger */
  finish(previous: BlockHashes | undefined): ExecutedBlock {
    const position = (previousHash: string | undefined): HashPosition => {
      return { blockIndex: this.#block.height, previousHash };
    };
    return {
      block: this.#block,
      rows: this.#rows,
      movedTicks: new Set(Object.values(this.#moved).flatMap((moved) => moved.map(({ tick }) => tick))),
      hashes: {
        ledger: ledgerHash(this.#moved, position(previous?.ledger), this.#rules.roles),
        actions: actionsHash(this.#actions, position(previous?.actions)),
        contract: contractHash({}, position(previous?.contract))
      }
    };
  }

  #missingOf(unit: Unit): readonly FactKey[] {
    const effects = new Effects(this.#view);
    try {
      effects.addressId(unit.transaction.source);
      if (unit.kind === 'command') this.#perform(unit, effects);
      return [];
    } catch (caught) {
      if (!(caught instanceof Missing)) throw caught;
      return caught.keys;
    }
  }

  /** @returns what it leaves to be done next, in order */
  #carryOut(unit: Unit, effects: Effects): Unit[] {
    const { transaction } = unit;
    if (unit.kind === 'command') {
      const { action, moved } = this.#perform(unit, effects);
      for (const { index, name } of [action, ...effects.caused])
        this.#actions.push({ action_index: index, tx_index: unit.txIndex, action: name });
      for (const movement of ['debits', 'credits', 'escrows'] as const) this.#moved[movement].push(...moved[movement]);
      return effects.commands.map((text) => ({ ...unit, text }));
    }
    const txIndex = effects.deal('transaction');
    const { hash, source, fee, data } = transaction;
    effects.record('transactions', {
      tx_index: txIndex,
      block_index: this.#block.height,
      tx_hash_id: hash,
      source_id: source,
      fee,
      data
    });
    return [{ kind: 'command', transaction, text: data, txIndex }];
  }

  /** One action: judged, carried out, settled. */
  #perform({ transaction: { source }, text, txIndex }: Unit & { readonly kind: 'command' }, effects: Effects) {
    const command = parseCommand(text);
    const index = effects.deal('action');
    const action = this.#actionOf(command, index, txIndex, source);
    this.#recordAction(effects, action, txIndex);
    effects.addressId(source);
    const refusal = this.#refusalOf(command);
    const handler = HANDLERS.get(command.name);
    const table = tableOf(command.name);
    if (refusal !== undefined && table !== null)
      effects.record(table, { action_index: index, status_id: statusText(refusal) });
    const isValid = refusal === undefined && handler!.run({ action, ledger: effects, rules: this.#rules });
    if (isValid && command.name !== 'ISSUE') effects.set('past', String(index), { name: command.name, tick: null });
    const moved = effects.settle(index);
    effects.addMappings(index);
    for (const caused of effects.caused) this.#recordAction(effects, caused, txIndex);
    return { action, moved };
  }

  #actionOf({ name, format, fields, rest }: Command, index: number, txIndex: number, source: string): Action {
    const known = HANDLERS.get(name)?.formats[format ?? -1] ?? '';
    return {
      index,
      txIndex,
      name: ACTIONS.has(name) ? name : 'UNKNOWN',
      format,
      source,
      fields: nameFields(fields, known, rest),
      block: this.#block
    };
  }

  #recordAction(effects: Effects, action: Pick<Action, 'index' | 'name' | 'format' | 'source'>, txIndex: number): void {
    effects.record('actions', {
      action_index: action.index,
      block_index: this.#block.height,
      tx_index: txIndex,
      action_id: action.name,
      action_format: action.format,
      source_id: action.source
    });
  }

  /** Why an action is refused before its handler reads it. */
  #refusalOf({ name, format }: Command): string | undefined {
    if (!ACTIONS.has(name)) return 'Unknown ACTION';
    const handler = HANDLERS.get(name);
    if (!handler || !this.#rules.isActive(name, this.#block.height)) return 'ACTION is not yet activated';
    return format === null || handler.formats[format] === undefined ? 'VERSION (unknown)' : undefined;
  }
}

/** The commands that a text would run after itself. */
function batchedCommands(text: string): string[] {
  const { name, rest } = parseCommand(text);
  return name === 'BATCH' ? rest.split(';') : [];
}
