import { BATCH } from '../actions/batch.ts';
import { DISPENSER } from '../actions/market/dispenser.ts';
import { ORDER, SWAP } from '../actions/market/trade.ts';
import { ADDRESS } from '../actions/notes/address.ts';
import { BROADCAST } from '../actions/notes/broadcast.ts';
import { FILE } from '../actions/notes/file.ts';
import { LINK } from '../actions/notes/link.ts';
import { LIST } from '../actions/notes/list.ts';
import { MESSAGE } from '../actions/notes/message.ts';
import { CALLBACK } from '../actions/tokens/callback.ts';
import { DESTROY } from '../actions/tokens/destroy.ts';
import { ISSUE } from '../actions/tokens/issue.ts';
import { MINT } from '../actions/tokens/mint.ts';
import { SLEEP } from '../actions/tokens/sleep.ts';
import { AIRDROP } from '../actions/transfers/airdrop.ts';
import { DIVIDEND } from '../actions/transfers/dividend.ts';
import { SEND } from '../actions/transfers/send.ts';
import { SWEEP } from '../actions/transfers/sweep.ts';
import { COLLECT } from '../actions/validators/collect.ts';
import { DELEGATE } from '../actions/validators/delegate.ts';
import { STAKE } from '../actions/validators/stake.ts';
import { UNSTAKE } from '../actions/validators/unstake.ts';
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
