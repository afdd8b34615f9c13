import { action } from './action.ts';
import { changesOf, escrowOf } from './address-moves.ts';
import { block, transaction } from './chain.ts';
import { COMMITMENT_RECORDS } from './commitments.ts';
import { fileBytes } from './file.ts';
import { market, marketHistory, marketOrders, orderbook } from './market.ts';
import { network } from './network.ts';
import { activeMarkets, activity, blocksAround, holderCount, tokensInUse } from './overview.ts';
import type { RecordMethod } from './record.ts';
import { RELAYED_RECORDS } from './relayed.ts';
import { ROW_RECORDS } from './rows.ts';
import { search } from './search.ts';
import { oracle, staking, validator } from './stakers.ts';
import { address, pubkey, token } from './state.ts';

/** Methods with one answer and no list, by their names. */
export const RECORDS: Readonly<Record<string, RecordMethod>> = {
  network,
  block,
  action,
  transaction,
  token,
  pubkey,
  address,
  search,
  staking,
  validator,
  oracle,
  market,
  market_history: marketHistory,
  market_orders: marketOrders,
  market_orderbook: orderbook,
  file_raw: fileBytes,
  page_activity: activity,
  page_blocks: blocksAround,
  page_changes: changesOf,
  page_escrow: escrowOf,
  page_holders: holderCount,
  page_markets: activeMarkets,
  page_tokens: tokensInUse,
  ...ROW_RECORDS,
  ...RELAYED_RECORDS,
  ...COMMITMENT_RECORDS
};
