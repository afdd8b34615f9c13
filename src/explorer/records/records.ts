import { action } from './action.ts';
import { block, network, transaction } from './chain.ts';
import type { RecordMethod } from './record.ts';
import { search } from './search.ts';
import { address, pubkey, token } from './state.ts';

/** What has one answer and no list, by its method. */
export const RECORDS: Readonly<Record<string, RecordMethod>> = {
  network,
  block,
  action,
  transaction,
  token,
  pubkey,
  address,
  search
};
