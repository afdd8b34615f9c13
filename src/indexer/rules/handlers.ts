import { ADDRESS } from '../actions/address.ts';
import { AIRDROP } from '../actions/airdrop.ts';
import { BATCH } from '../actions/batch.ts';
import { BROADCAST } from '../actions/broadcast.ts';
import { CALLBACK } from '../actions/callback.ts';
import { COLLECT } from '../actions/collect.ts';
import { DELEGATE } from '../actions/delegate.ts';
import { DESTROY } from '../actions/destroy.ts';
import { DISPENSER } from '../actions/dispenser.ts';
import { DIVIDEND } from '../actions/dividend.ts';
import { FILE } from '../actions/file.ts';
import { ISSUE } from '../actions/issue.ts';
import { LINK } from '../actions/link.ts';
import { LIST } from '../actions/list.ts';
import { MESSAGE } from '../actions/message.ts';
import { MINT } from '../actions/mint.ts';
import { SEND } from '../actions/send.ts';
import { SLEEP } from '../actions/sleep.ts';
import { STAKE } from '../actions/stake.ts';
import { SWEEP } from '../actions/sweep.ts';
import { ORDER, SWAP } from '../actions/trade.ts';
import { UNSTAKE } from '../actions/unstake.ts';
import type { Handler } from './action-definition.ts';

/** What each action does, by its name. */
export const HANDLERS: ReadonlyMap<string, Handler> = new Map(
  [
    ...[ADDRESS, AIRDROP, BATCH, BROADCAST, CALLBACK, COLLECT, DELEGATE, DESTROY, DISPENSER, DIVIDEND],
    ...[FILE, ISSUE, LINK, LIST, MESSAGE, MINT, ORDER, SEND, SLEEP, STAKE, SWAP, SWEEP, UNSTAKE]
  ].map((handler) => [handler.name, handler])
);

/** Paid by outputs, so that it has no handler: each output that pays is an action. */
export const COINPAY = 'COINPAY';

/** Whether there is anything that carries an action out. */
export function isBuilt(name: string): boolean {
  return name === COINPAY || HANDLERS.has(name);
}

const TABLES: ReadonlyMap<string, string> = new Map(
  [...HANDLERS.values()].flatMap((handler) => (handler.parts ?? [handler]).map(({ name, table }) => [name, table]))
);

/** The table that holds the rows of an action by the name that it is recorded under; null when it has none. */
export function tableOf(name: string): string | null {
  return TABLES.get(name) ?? null;
}
