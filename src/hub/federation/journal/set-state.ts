import type { Connection } from '../../../db/connection.ts';
import { readMatter } from '../matters/operations.ts';
import type { MatterRules } from '../matters/rules.ts';
import { readListChanges } from '../matters/validator-list.ts';
import { readCapability, readRound } from '../rounds/operations.ts';
import type { RoundRules } from '../rounds/statements.ts';
import { CAPABILITY_STATE } from './capability-state.ts';
import { CONFIG_STATE, MOST_BODY_BYTES, readWrite } from './config-state.ts';
import { matterState } from './matter-state.ts';
import { roundState } from './round-state.ts';
import type { StateMachine } from './state-machine.ts';
import { validatorListState } from './validator-list-state.ts';

/** First words of dumped rows, by what they are of; rows of the configuration have none. */
const WORDS = ['capability ', 'round ', 'matter ', 'validator '] as const;
/** Readers of the bodies of these, in the same order. */
const READERS = [readCapability, readRound, readMatter, readListChanges] as const;

/** Rules of what the hubs of a set have alike. */
interface SetRules {
  /** Null: the set makes no rounds of prices. */
  readonly rounds: RoundRules | null;
  readonly matters: MatterRules;
}

/**
 * Returns all that the hubs of a set have alike: the configuration, their capabilities, the rounds of prices, what they
 * attest and vote on, and a list of validators.
 */
export function setState({ rounds, matters }: SetRules): StateMachine {
  const others = [CAPABILITY_STATE, roundState(rounds), matterState(matters), validatorListState(matters)] as const;
  const machineOf = (body: string): StateMachine => {
    const place = READERS.findIndex((read) => read(body) !== null);
    return others[place] ?? CONFIG_STATE;
  };
  return {
    async begin(connection, time) {
      for (const machine of others) await machine.begin?.(connection, time);
    },
    async apply(connection, operation, time) {
      return machineOf(operation.body).apply(connection, operation, time);
    },
    undone: (connection) => CONFIG_STATE.undone?.(connection),
    async dump(connection) {
      const lines = [...(await CONFIG_STATE.dump(connection))];
      for (const [at, machine] of others.entries())
        for (const row of await machine.dump(connection)) lines.push(WORDS[at]! + row);
      return lines;
    },
    async replace(connection: Connection, dumped: readonly string[], isOfSet = false) {
      await CONFIG_STATE.replace(
        connection,
        dumped.filter((row) => !WORDS.some((word) => row.startsWith(word))),
        isOfSet
      );
      for (const [at, machine] of others.entries()) {
        const word = WORDS[at]!;
        const own = dumped.filter((row) => row.startsWith(word));
        await machine.replace(
          connection,
          own.map((row) => row.slice(word.length)),
          isOfSet
        );
      }
    }
  };
}

/** Returns whether all hubs can carry out an operation's body, or refuse it alike. */
export function isWellFormed(body: string): boolean {
  if (Buffer.byteLength(body) > MOST_BODY_BYTES) return false;
  return readWrite(body) !== null || READERS.some((read) => read(body) !== null);
}
