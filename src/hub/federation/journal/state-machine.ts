import type { Connection } from '../../../db/connection.ts';
import type { Operation } from '../consensus/messages.ts';

/** Effect of operations on the tables that are equal on all hubs. Each call is within the caller's transaction. */
export interface StateMachine {
  /** Closes what is over by the clock of the log, before the operations of a batch. @param time  as below */
  begin?(connection: Connection, time: number): Promise<void>;
  /**
   * Carries out one operation.
   *
   * @param time  clock of the log, epoch milliseconds
   * @returns why it cannot be carried out, the same on all hubs: then the caller undoes it; null when it is done
   */
  apply(connection: Connection, operation: Operation, time: number): Promise<string | null>;
  /** Called after the caller's transaction was undone. */
  undone?(connection: Connection): void;
  /** Returns all rows in an order of their own, whatever order they were written in, each as one line. */
  dump(connection: Connection): Promise<readonly string[]>;
  /**
   * Replaces all rows by dumped ones. What was there before the set, or without it, is kept aside.
   *
   * @param isOfSet  whether what was there is of the same log; default: it is not
   */
  replace(connection: Connection, dumped: readonly string[], isOfSet?: boolean): Promise<void>;
}
