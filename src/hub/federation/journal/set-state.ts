import type { Connection } from '../../../db/connection.ts';
import { readCapability, readRound } from '../rounds/operations.ts';
import type { RoundRules } from '../rounds/statements.ts';
import { CAPABILITY_STATE } from './capability-state.ts';
import { CONFIG_STATE, MOST_BODY_BYTES, readWrite } from './config-state.ts';
import { roundState } from './round-state.ts';
import type { StateMachine } from './state-machine.ts';

/** First words of dumped rows, by what they are of; rows of the configuration have none. */
const WORDS = ['capability ', 'round '] as const;

/** All that the hubs of a set have alike: the configuration, their capabilities, and the rounds of prices. */
export function setState(rules: RoundRules | null): StateMachine {
  const others = [CAPABILITY_STATE, roundState(rules)] as const;
  return {
    async apply(connection, operation, time) {
      const { body } = operation;
      const machine = readCapability(body) ? others[0] : readRound(body) ? others[1] : CONFIG_STATE;
      return machine.apply(connection, operation, time);
    },
    async dump(connection) {
      const lines = [...(await CONFIG_STATE.dump(connection))];
      for (const [at, machine] of others.entries())
        lines.push(...(await machine.dump(connection)).map((row) => WORDS[at]! + row));
      return lines;
    },
    async replace(connection: Connection, dumped: readonly string[]) {
      await CONFIG_STATE.replace(
        connection,
        dumped.filter((row) => !WORDS.some((word) => row.startsWith(word)))
      );
      for (const [at, machine] of others.entries()) {
        const word = WORDS[at]!;
        const own = dumped.filter((row) => row.startsWith(word));
        await machine.replace(
          connection,
          own.map((row) => row.slice(word.length))
        );
      }
    }
  };
}

/** Returns whether all hubs can carry out an operation's body, or refuse it alike. */
export function isWellFormed(body: string): boolean {
  if (Buffer.byteLength(body) > MOST_BODY_BYTES) return false;
  return readWrite(body) !== null || readCapability(body) !== null || readRound(body) !== null;
}
