import type { Handler } from '../rules/action-definition.ts';
import { BATCH } from './batch.ts';
import { DISPENSER } from './market/dispenser.ts';
import { ORDER, SWAP } from './market/trade.ts';
import { ADDRESS } from './notes/address.ts';
import { BROADCAST } from './notes/broadcast.ts';
import { FILE } from './notes/file.ts';
import { LINK } from './notes/link.ts';
import { LIST } from './notes/list.ts';
import { MESSAGE } from './notes/message.ts';
import { CALLBACK } from './tokens/callback.ts';
import { DESTROY } from './tokens/destroy.ts';
import { ISSUE } from './tokens/issue.ts';
import { MINT } from './tokens/mint.ts';
import { SLEEP } from './tokens/sleep.ts';
import { AIRDROP } from './transfers/airdrop.ts';
import { DIVIDEND } from './transfers/dividend.ts';
import { SEND } from './transfers/send.ts';
import { SWEEP } from './transfers/sweep.ts';
import { ATTEST } from './validators/attest.ts';
import { COLLECT } from './validators/collect.ts';
import { DELEGATE } from './validators/delegate.ts';
import { PRICE } from './validators/price.ts';
import { SLASH } from './validators/slash.ts';
import { STAKE } from './validators/stake.ts';
import { UNSTAKE } from './validators/unstake.ts';
import { VOTE } from './votes/vote.ts';

/** Handlers of actions, by name. */
export const HANDLERS: ReadonlyMap<string, Handler> = new Map(
  [
    ADDRESS,
    AIRDROP,
    ATTEST,
    BATCH,
    BROADCAST,
    CALLBACK,
    COLLECT,
    DELEGATE,
    DESTROY,
    DISPENSER,
    DIVIDEND,
    FILE,
    ISSUE,
    LINK,
    LIST,
    MESSAGE,
    MINT,
    ORDER,
    PRICE,
    SEND,
    SLASH,
    SLEEP,
    STAKE,
    SWAP,
    SWEEP,
    UNSTAKE,
    VOTE
  ].map((handler) => [handler.name, handler])
);

/** Action without a handler: each output that pays is an action of its own. */
export const COINPAY = 'COINPAY';

/** Returns whether this release carries an action out. */
export function isBuilt(name: string): boolean {
  return name === COINPAY || HANDLERS.has(name);
}

/**
 * Formats that are known and not carried out, by action: those for contracts, bridges, shared lists and batches.
 * Actions without a handler lack all of their formats.
 */
export const UNBUILT_FORMATS: Readonly<Record<string, readonly number[]>> = {
  ATTEST: [0, 3, 4, 5],
  DELEGATE: [1, 3],
  ISSUE: [7],
  LIST: [2, 4, 5],
  PRICE: [2],
  STAKE: [3],
  UNSTAKE: [1]
};

/** Table with rows of an action. */
export interface ActionTable {
  readonly name: string;
  readonly keepsValidOnly: boolean;
  /** Whether one action may have very many rows in it. The status of such a row stays. */
  readonly takesParts: boolean;
}

const TABLES: ReadonlyMap<string, readonly ActionTable[]> = new Map(
  [
    ...Map.groupBy(
      [...HANDLERS.values()].flatMap((handler) => handler.parts ?? [handler]),
      ({ name }) => name
    )
  ].map(([name, handlers]) => [name, tablesOfAll(handlers)])
);

function tablesOfAll(handlers: readonly Handler[]): ActionTable[] {
  const tables = handlers.map(({ table: name, keepsValidOnly, takesParts }) => {
    return [name, { name, keepsValidOnly, takesParts }] as const;
  });
  return [...new Map(tables).values()];
}

/** Returns the tables that hold rows of an action, by the name under which it is recorded. */
export function tablesOf(name: string): readonly ActionTable[] {
  return TABLES.get(name) ?? [];
}
