import type { Handler } from './action-definition.ts';
import { ADDRESS } from './actions/address.ts';
import { AIRDROP } from './actions/airdrop.ts';
import { BATCH } from './actions/batch.ts';
import { BROADCAST } from './actions/broadcast.ts';
import { CALLBACK } from './actions/callback.ts';
import { DESTROY } from './actions/destroy.ts';
import { DIVIDEND } from './actions/dividend.ts';
import { FILE } from './actions/file.ts';
import { ISSUE } from './actions/issue.ts';
import { LINK } from './actions/link.ts';
import { LIST } from './actions/list.ts';
import { MESSAGE } from './actions/message.ts';
import { MINT } from './actions/mint.ts';
import { SEND } from './actions/send.ts';
import { SLEEP } from './actions/sleep.ts';
import { SWEEP } from './actions/sweep.ts';

/** What each action does, by its name. */
export const HANDLERS: ReadonlyMap<string, Handler> = new Map(
  [
    ...[ADDRESS, AIRDROP, BATCH, BROADCAST, CALLBACK, DESTROY, DIVIDEND, FILE],
    ...[ISSUE, LINK, LIST, MESSAGE, MINT, SEND, SLEEP, SWEEP]
  ].map((handler) => [handler.name, handler])
);

/** Tables that hold the refusals of actions without a handler. The others' tables cannot: their columns must be filled. */
const WITHOUT_HANDLER: ReadonlyMap<string, string> = new Map([
  ['DISPENSER', 'dispensers'],
  ['ORDER', 'orders'],
  ['SWAP', 'swaps']
]);

/** The table that holds an action's rows; null when none can hold a refusal of it. */
export function tableOf(name: string): string | null {
  return HANDLERS.get(name)?.table ?? WITHOUT_HANDLER.get(name) ?? null;
}
