import { type Command, commandsIn } from '../../coin/action/command.ts';
import type { ActionRow, LedgerRow } from '../../consensus/ledger-hashes.ts';
import type { SystemAction } from '../rules/action-definition.ts';
import type { Movement } from '../state/movements.ts';
import type { ChainTransaction } from './block.ts';

/** Command of a transaction. */
export interface CommandUnit {
  readonly kind: 'command';
  readonly transaction: ChainTransaction;
  readonly command: Command;
  /** All commands of its BATCH. */
  readonly siblings?: readonly string[];
  readonly txIndex: number;
}
/** Action that no text asks for, with the index of its transaction. */
export interface SystemUnit {
  readonly kind: 'system';
  readonly act: SystemAction;
  readonly txIndex: number | null;
}

/**
 * Piece of work: the beginning of a transaction with its place in the block, one of its commands, an action that follows, the end of
 * the block with its due work, or the edited lists.
 */
export type Unit =
  | { readonly kind: 'transaction'; readonly transaction: ChainTransaction; readonly place: number }
  | CommandUnit
  | SystemUnit
  | { readonly kind: 'end' | 'lists' };

/** Rows of the movements. */
export type Moved = Record<Movement, LedgerRow[]>;

/** Result of a unit. */
export interface Outcome {
  /** Units that run next, in order. */
  readonly next: readonly Unit[];
  /** Whether the unit itself changed nothing, and only others follow. */
  readonly isEmpty?: true;
  /** Actions that the hashes of the block cover. */
  readonly actions?: readonly ActionRow[];
  readonly moved?: Moved;
}

/** Source of a transaction whose coins no address stands for. It acts for nobody, and no dispenser serves it. */
export const NOBODY = '';

/** Returns the command of a transaction, and those that it would run after itself. */
export function commandsOf(transaction: ChainTransaction): CommandUnit[] {
  if (transaction.data === '' || transaction.source === NOBODY) return [];
  return commandsIn(transaction.data).map((command) => ({ kind: 'command', transaction, command, txIndex: 0 }));
}
