import { type Command, parseCommand } from '../../coin/action/command.ts';
import { nameFields } from '../../coin/action/fields.ts';
import { ACTIONS } from '../../coin/action/names.ts';
import type { Limits } from '../../coin/limits.ts';
import { HANDLERS, isBuilt, UNBUILT_FORMATS } from '../actions/handlers.ts';
import { recordFee } from '../fees/charge.ts';
import type { Rules } from '../profile/rules.ts';
import { NOT_ACTIVATED, recordedName, type SystemAction, statusText } from '../rules/action-definition.ts';
import type { Parts } from '../rules/parts.ts';
import type { Action } from '../state/action.ts';
import type { Effects } from '../state/effects.ts';
import type { CommandUnit, Outcome, SystemUnit } from './unit.ts';

const NO_PAYMENT = { txid: '', outputs: [] } as const;

/** Runs the actions of one block, one at a time, on the effects that it is given. */
export class ActionRunner {
  readonly #rules: Rules;
  readonly #block: Action['block'];
  readonly #limits: Limits;

  constructor(rules: Rules, block: Action['block']) {
    this.#rules = rules;
    this.#block = block;
    this.#limits = rules.limitsAt(block.height);
  }

  /**
   * Runs an action that no text asks for: it follows from another action, or is due. @returns null when nothing
   * happened
   */
  system({ act, txIndex }: SystemUnit, effects: Effects): Outcome | null {
    const action: Action = {
      index: effects.nextNumber('action'),
      txIndex: act.hasTransaction ? txIndex : null,
      name: act.name,
      format: act.format ?? null,
      source: act.source,
      fields: nameFields([], '', ''),
      siblings: [],
      block: this.#block
    };
    const next: SystemAction[] = [];
    this.#recordAction(effects, action, act.vout);
    const step = { action, ledger: effects, rules: this.#rules, limits: this.#limits, payment: NO_PAYMENT, next };
    const isDone = act.run(step);
    const following = next.map((each) => ({ kind: 'system', act: each, txIndex }) as const);
    if (isDone) return { next: following, ...this.#settle(action, effects) };
    return following.length > 0 ? { next: following, isEmpty: true } : null;
  }

  /** Runs the action of one command, leg by leg: judges it, applies it, and settles its movements. */
  *command(unit: CommandUnit, effects: Effects): Parts<Outcome> {
    const { command, siblings = [], txIndex, transaction } = unit;
    const { source } = transaction;
    const index = effects.nextNumber('action');
    const action = { ...this.actionOf(command, index, txIndex, source), siblings };
    this.#recordAction(effects, action);
    effects.addressId(source);
    const refusal = this.#refusalOf(command);
    const handler = HANDLERS.get(command.name);
    const next: SystemAction[] = [];
    const payment = { txid: transaction.hash, outputs: transaction.outputs ?? [] };
    if (refusal !== undefined && handler?.keepsValidOnly)
      effects.refusals.push({ table: handler.table, actionIndex: index, status: statusText(refusal) });
    else if (refusal !== undefined && handler)
      effects.record(handler.table, {
        action_index: index,
        source_id: source,
        block_index: this.#block.height,
        status_id: statusText(refusal)
      });
    const isValid =
      refusal === undefined &&
      (yield* handler!.run({ action, ledger: effects, rules: this.#rules, limits: this.#limits, payment, next }));
    if (isValid && command.name !== 'ISSUE') effects.set('past', String(index), { name: action.name, tick: null });
    const following = [
      ...next.map((act) => ({ kind: 'system', act, txIndex }) as const),
      ...effects.commands.map((text) => ({ ...unit, command: parseCommand(text), siblings: effects.commands }))
    ];
    return { next: following, ...this.#settle(action, effects) };
  }

  /** Returns the action of a parsed command. */
  actionOf({ name, format, fields, rest }: Command, index: number, txIndex: number, source: string): Action {
    const handler = HANDLERS.get(name);
    const known = handler?.formats[format ?? -1] ?? '';
    return {
      index,
      txIndex,
      name: handler ? recordedName(handler, format) : ACTIONS.has(name) ? name : 'UNKNOWN',
      format,
      source,
      fields: nameFields(fields, known, rest),
      siblings: [],
      block: this.#block
    };
  }

  /** Adds the rows for what an action moved, touched and caused. */
  #settle(action: Action, effects: Effects): Pick<Outcome, 'actions' | 'moved'> {
    recordFee(action.index, { rules: this.#rules, ledger: effects });
    const moved = effects.settle(action.index);
    effects.addMappings(action.index);
    for (const caused of effects.caused) this.#recordAction(effects, { ...caused, txIndex: action.txIndex });
    const actions = [action, ...effects.caused].map(({ index, name }) => {
      return { action_index: index, tx_index: action.txIndex, action: name };
    });
    return { actions, moved };
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

  /** Returns the status of an action that is refused before its handler reads it; undefined for any other. */
  #refusalOf({ name, format }: Command): string | undefined {
    if (!ACTIONS.has(name)) return 'Unknown ACTION';
    const handler = HANDLERS.get(name);
    const isUnbuilt = !isBuilt(name) || UNBUILT_FORMATS[name]?.includes(format ?? -1);
    if (isUnbuilt || !this.#rules.isActive(name, this.#block.height)) return NOT_ACTIVATED;
    return format === null || handler?.formats[format] === undefined ? 'VERSION (unknown)' : undefined;
  }
}
