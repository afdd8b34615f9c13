import { type Command, commandsIn } from '../../coin/action/command.ts';
import type { ActionRow, LedgerRow } from '../../consensus/ledger-hashes.ts';
import type { SystemAction } from '../rules/action-definition.ts';
import type { Movement } from '../state/movements.ts';
import type { ChainTransaction } from './block.ts';

export interface CommandUnit {
  readonly kind: 'command';
  readonly transaction: ChainTransaction;
  readonly command: Command;
  /** All commands of its BATCH. */
  readonly siblings?: readonly string[];
  readonly txIndex: number;
}
export interface SystemUnit {
  readonly kind: 'system';
  readonly act: SystemAction;
  readonly txIndex: number | null;
}

/** A transaction that begins, one command of it, what follows from one, what is due when all are done, the lists that were edited. */
export type Unit =
  | { readonly kind: 'transaction'; readonly transaction: ChainTransaction }
  | CommandUnit
  | SystemUnit
  | { readonly kind: 'end' | 'lists' };

/** The rows of what was moved. */
export type Moved = Record<Movement, LedgerRow[]>;

/** What a unit came to. */
export interface Outcome {
  /** What it leaves to be done next, in order. */
  readonly next: readonly Unit[];
  /** What the hashes of the block cover. */
  readonly actions?: readonly ActionRow[];
  readonly moved?: Moved;
}

/** The source of a transaction whose coins no address stands for: it acts for nobody, and no dispenser serves it. */
export const NOBODY = '';

/** The command of a transaction, and those that it would run after itself. */
export function commandsOf(transaction: ChainTransaction): CommandUnit[] {
  if (transaction.data === '' || transaction.source === NOBODY) return [];
  return commandsIn(transaction.data).map((command) => ({ kind: 'command', transaction, command, txIndex: 0 }));
}
