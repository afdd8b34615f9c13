import { hasCode } from '../../errors.ts';
import type { Coin } from '../coins.ts';
import type { Question } from '../question.ts';
import type { Row } from './advance.ts';
import type { Subscription } from './channels.ts';

/** Reads for one client, in the turns of its address. @throws what the coin's `read` throws; ANSWERS_WAITING */
export type Read = Coin['read'];

/** Reads how what a channel is about stands now. @returns null where the channel has no state  @throws what `read` throws */
export async function readState(
  coin: Pick<Coin, 'report'>,
  read: Read,
  { channel, about }: Pick<Subscription, 'channel' | 'about'>
): Promise<object | null> {
  const newest = await newestOf(read);
  const last = { last_action_index: String(newest?.['action_index'] ?? 0) };
  const height = String(coin.report()?.height ?? 0);
  if (channel === 'blocks') return { latest_block_index: height, block_index: height };
  if (channel === 'network') return { block_height: height, total_actions: last.last_action_index };
  if (channel === 'address') return { balances: await readBalances(read, about['address']!, Number(height)), ...last };
  if (channel === 'token') return last;
  if (channel === 'market') return await readRecord(read, 'market', about);
  if (channel === 'dispenser') {
    const record = await readRecord(read, 'action', {}, about['action_index']);
    return 'give_remaining' in record ? record : null; // other actions, and refused ones, dispense nothing
  }
  return channel === 'bet_feed' ? {} : null;
}

/** Tokens in a frame of an address: as many as a page of its list has. */
const MOST_BALANCES = 500;

/** Reads what an address holds; more than can be put in the order of tickers comes in that of their ids, as of a block. */
async function readBalances(read: Read, query: string, height: number): Promise<readonly Row[]> {
  const asked = { query, order: 'asc', limit: MOST_BALANCES } as const;
  return await readRows(read, 'balances', asked).catch((caught: unknown) => {
    if (!hasCode(caught, 'REQUEST_INVALID')) throw caught;
    return readRows(read, 'balances', { ...asked, height });
  });
}

/** Reads the newest rows of a list, 100 at most unless it is asked for more. @throws what `read` throws */
export async function readRows(read: Read, method: string, asked: Partial<Question>): Promise<readonly Row[]> {
  const { body } = await read({
    method,
    parameters: {},
    page: 1,
    limit: 100,
    order: 'desc',
    format: 'json',
    ...asked
  });
  return (JSON.parse(body) as { data: Row[] }).data;
}

/** Reads the newest action. @returns null where there is none  @throws what `read` throws */
export const newestOf = async (read: Read): Promise<Row | null> =>
  (await readRows(read, 'actions', { limit: 1 }))[0] ?? null;

async function readRecord(
  read: Read,
  method: string,
  parameters: Readonly<Record<string, string>>,
  query?: string
): Promise<object> {
  const asked: Question = {
    method,
    parameters,
    page: 1,
    limit: 1,
    order: 'desc',
    format: 'json',
    ...(query === undefined ? {} : { query })
  };
  const { runtime: _, state, ...record } = JSON.parse((await read(asked)).body) as Row & { state?: object };
  const stood = state as { give_remaining?: string; status?: string } | undefined;
  return stood ? { ...record, ...stood, escrow_remaining: stood.give_remaining } : record;
}
