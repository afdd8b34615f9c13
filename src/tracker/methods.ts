import Type, { type Static } from 'typebox';
import { toDecimal } from '../coin/amount.ts';
import type { ChainNetwork } from '../coin/chains.ts';
import { addressScript } from '../coin/script/address-script.ts';
import { readProgram, type ScriptKind } from '../coin/script/pay-scripts.ts';
import { type ErrorCode, PlatformError } from '../errors.ts';
import { SYNCED_WITHIN_BLOCKS } from '../follower/readiness.ts';
import { JsonResult } from '../service/rpc/json-result.ts';
import { pingMethod, type RpcMethod, rpcMethod } from '../service/rpc/method.ts';
import { wholeNumber } from '../service/schema/parameters.ts';
import { OrNull } from '../wire/or-null.ts';
import { monotonicMs } from '../wire/state/monotonic.ts';
import type { BalanceAnswer, CoinsQuestion } from './answers.ts';
import { scriptHashOf } from './coins/changes.ts';
import {
  atSnapshot,
  QuiescenceSchema,
  quiescenceOf,
  type SyncStatus,
  SyncStatusSchema,
  syncStatusOf,
  TrackerStatusSchema,
  type TrackerView,
  trackerStatusOf
} from './report.ts';

/** Parts of the methods. */
export interface TrackerMethodDeps {
  readonly network: ChainNetwork;
  readonly view: () => TrackerView;
  /**
   * Returns JSON of CoinsSchema. Both methods throw DATABASE_UNAVAILABLE, ACTOR_TIMEOUT; this one REQUEST_INVALID for a
   * wrong cursor.
   */
  readonly findCoins: (question: CoinsQuestion) => Promise<Uint8Array<ArrayBuffer>>;
  readonly findBalance: (script: string) => Promise<BalanceAnswer>;
}

/** Most coins of one page. */
export const MAX_PAGE = 10_000;
const USUAL_PAGE = 1_000;
const MAX_SCRIPT_HEX = 20_000;

/** The owner of coins. */
export const OwnerSchema = Type.String({
  minLength: 1,
  maxLength: MAX_SCRIPT_HEX + 'script:'.length,
  description: 'an address of the network, or `script:` and the hex of an output script'
});
/** The limit as text of a query string. */
export const LimitTextSchema = wholeNumber({ min: 1, digits: 5, default: USUAL_PAGE, note: `at most ${MAX_PAGE}` });
const LimitSchema = Type.Union([Type.Integer({ minimum: 1, maximum: MAX_PAGE }), LimitTextSchema, Type.Null()], {
  description: `coins of a page, ${USUAL_PAGE} where it is absent or null, at most ${MAX_PAGE}`
});
/** A cursor of the page before. */
export const AfterSchema = Type.String({ maxLength: 72, description: 'nextCursor of the page before' });
const CoinSchema = Type.Object({
  txid: Type.String(),
  fullTxid: Type.String({ description: 'equal to txid' }),
  vout: Type.Integer(),
  value: Type.String({ description: 'base units' }),
  height: OrNull(Type.Integer(), { description: 'null: in no block yet' }),
  coinbase: Type.Boolean({ description: 'the reward of a block' }),
  confirmations: Type.Integer(),
  amount: Type.String({ description: 'coins, 8 decimal places' }),
  scriptPubKey: Type.String()
});
/** The result of `get_utxos`. */
export const CoinsSchema = Type.Object({
  utxos: Type.Array(CoinSchema),
  nextCursor: Type.Optional(Type.String({ description: 'there are more coins: send it as `after`' })),
  sync: SyncStatusSchema
});
/** The result of `get_first_seen`. */
export const FirstSeenSchema = OrNull(Type.Object({ height: Type.Integer() }));
const CoinText = (description: string) => Type.String({ description: `${description}: coins, 8 decimal places` });
/** The result of `get_balance`. */
const BalanceSchema = Type.Object({ balance: CoinText('confirmed'), sync: SyncStatusSchema });
const FirstSeenStatusSchema = Type.Object({ first_seen: FirstSeenSchema, sync: SyncStatusSchema });
/** The result of `get_info`. */
export const InfoSchema = Type.Object({
  address: Type.String(),
  type: Type.String({ description: 'p2pkh, p2sh, p2wpkh, p2wsh, p2tr, or script for any other' }),
  balances: Type.Object({
    confirmed: CoinText('confirmed'),
    pending: CoinText('change by the mempool'),
    received: CoinText('total that blocks ever paid')
  }),
  utxos: Type.Object({ confirmed: Type.Integer(), pending: Type.Integer() }),
  mempool_ready: Type.Boolean(),
  sync: SyncStatusSchema
});

const ERRORS: readonly ErrorCode[] = [
  'DATABASE_UNAVAILABLE',
  'COINS_INCOMPLETE',
  'ACTOR_BUSY',
  'ACTOR_EXITED',
  'ACTOR_NOT_READY',
  'ACTOR_TIMEOUT'
];
const Owner = Type.Object({ address: OwnerSchema });

/** A bare list of coins, as JSON, with the fields beside it. */
interface CoinList {
  readonly list: string;
  readonly blockHash: string | null;
  readonly isMempoolReady: boolean;
  readonly next: string | null;
}

/** Answers questions for both interfaces of the tracker, JSON-RPC and GET. */
export class TrackerQuestions {
  readonly #deps: TrackerMethodDeps;

  constructor(deps: TrackerMethodDeps) {
    this.#deps = deps;
  }

  /** Returns a page of coins. @returns JSON of CoinsSchema in a buffer of its own */
  async coins(address: string, limit = USUAL_PAGE, after: string | null = null): Promise<Buffer<ArrayBuffer>> {
    if (limit > MAX_PAGE) throw new PlatformError('REQUEST_INVALID', { reason: `limit must be at most ${MAX_PAGE}` });
    const scriptHex = this.#scriptOf(address).toString('hex');
    const sync = JSON.stringify(this.sync());
    const { buffer, byteOffset, length } = await this.#deps.findCoins({ scriptHex, limit, after, sync });
    return Buffer.from(buffer, byteOffset, length);
  }

  /**
   * Refuses while the state is not fit for an answer that has no field `sync`: the node may be gone or have left the
   * chain, or blocks may be missing.
   *
   * @throws {PlatformError} TRACKER_HALTED, TRACKER_BEHIND, TRACKER_NOT_READY
   */
  refuseUnfit(): void {
    const { halted, halt_reason: reason = 'it is halted', first_sync, synced, lag, alarm } = this.sync();
    if (halted) throw new PlatformError('TRACKER_HALTED', { reason });
    if (first_sync) return; // the coins themselves refuse
    if (alarm) throw new PlatformError('TRACKER_NOT_READY', { reason: `${alarm.code}: ${alarm.reason}` });
    if (synced) return;
    if (lag !== null && lag > SYNCED_WITHIN_BLOCKS)
      throw new PlatformError('TRACKER_BEHIND', { reason: `the UTXO tracker is ${lag} blocks behind its node` });
    // Before its first answer a node may have any number of blocks more.
    const doubt = lag === null ? 'does not know how far it is behind its node' : 'waits for its database';
    throw new PlatformError('TRACKER_NOT_READY', { reason: `the UTXO tracker ${doubt}` });
  }

  /**
   * Returns the coins of the first page as a JSON array, the hash of the block that they are of, whether the whole mempool is known,
   * and the cursor of the next page; null where there is none.
   */
  async coinList(address: string): Promise<CoinList> {
    const json = await this.coins(address, MAX_PAGE);
    const end = json.indexOf(']') + 1; // no coin has such a character
    const rest = JSON.parse(`{${json.toString('utf8', end + 1)}`) as Rest;
    const { nextCursor = null, sync } = rest;
    const list = json.toString('latin1', UTXOS.length, end);
    return { list, blockHash: sync.committed_hash, isMempoolReady: sync.mempool_ready, next: nextCursor };
  }

  async firstSeen(address: string): Promise<Static<typeof FirstSeenSchema>> {
    return (await this.firstSeenStatus(address)).first_seen;
  }

  async firstSeenStatus(address: string): Promise<Static<typeof FirstSeenStatusSchema>> {
    const { firstHeight, ...snapshot } = await this.#balance(address);
    const first_seen = firstHeight === null ? null : { height: firstHeight };
    return { first_seen, sync: atSnapshot(this.sync(), snapshot) };
  }

  async balance(address: string): Promise<Static<typeof BalanceSchema>> {
    const { confirmed, ...snapshot } = await this.#balance(address);
    return { balance: coinsOf(confirmed), sync: atSnapshot(this.sync(), snapshot) };
  }

  async info(address: string): Promise<Static<typeof InfoSchema>> {
    const { confirmed, pending, received, confirmedCoins, pendingCoins, ...snapshot } = await this.#balance(address);
    const kind = readProgram(this.#scriptOf(address))?.kind;
    const sync = atSnapshot(this.sync(), snapshot);
    return {
      address,
      type: kind === undefined ? 'script' : TYPES[kind],
      balances: { confirmed: coinsOf(confirmed), pending: coinsOf(pending), received: coinsOf(received) },
      utxos: { confirmed: confirmedCoins, pending: pendingCoins },
      mempool_ready: sync.mempool_ready,
      sync
    };
  }

  sync(): SyncStatus {
    return syncStatusOf(this.#deps.view(), monotonicMs());
  }

  #balance(address: string): Promise<BalanceAnswer> {
    return this.#deps.findBalance(hashText(this.#scriptOf(address)));
  }

  #scriptOf(owner: string): Buffer {
    if (!owner.startsWith(SCRIPT)) return addressScript(owner, this.#deps.network);
    const hex = owner.slice(SCRIPT.length);
    if (/^(?:[0-9a-fA-F]{2})+$/.test(hex)) return Buffer.from(hex, 'hex');
    throw new PlatformError('REQUEST_INVALID', { reason: 'script: must be followed by the hex of an output script' });
  }
}

const SCRIPT = 'script:';
/** Text before the list of coins. */
const UTXOS = '{"utxos":';
/** Fields behind it. */
type Rest = Omit<Static<typeof CoinsSchema>, 'utxos'>;
/** Names of script kinds that clients use. */
const TYPES: Readonly<Record<ScriptKind, string>> = {
  keyHash: 'p2pkh',
  scriptHash: 'p2sh',
  witnessKeyHash: 'p2wpkh',
  witnessScriptHash: 'p2wsh',
  taproot: 'p2tr'
};

/** Converts base units, which may be negative, to coins. */
function coinsOf(units: string): string {
  const number = BigInt(units);
  return number < 0n ? `-${toDecimal(-number)}` : toDecimal(number);
}

const hashText = (script: Buffer): string => scriptHashOf(script).toString('hex');

/** Returns the methods of a tracker. */
export function trackerMethods(
  questions: TrackerQuestions,
  view: TrackerMethodDeps['view']
): Readonly<Record<string, RpcMethod>> {
  return {
    ping: pingMethod,
    health: rpcMethod({
      isProbe: true,
      summary: 'Whether it runs and reaches its database',
      result: TrackerStatusSchema,
      write: false,
      run: () => trackerStatusOf(view(), monotonicMs())
    }),
    get_sync_status: rpcMethod({
      summary: 'How far it is behind its node',
      result: SyncStatusSchema,
      write: false,
      run: () => questions.sync()
    }),
    is_quiescent: rpcMethod({
      summary: 'Whether it has every block of its node, and the whole mempool',
      result: QuiescenceSchema,
      write: false,
      run: () => quiescenceOf(view(), monotonicMs())
    }),
    get_utxos: rpcMethod({
      summary: 'Coins that may be spent, page by page, without an end to their number',
      params: Type.Object({
        address: OwnerSchema,
        limit: Type.Optional(LimitSchema),
        after: Type.Optional(OrNull(AfterSchema))
      }),
      result: CoinsSchema,
      write: false,
      errors: ERRORS,
      run: async ({ address, limit, after }) =>
        new JsonResult<Static<typeof CoinsSchema>>(
          await questions.coins(address, limit == null ? undefined : Number(limit), after || null)
        )
    }),
    get_first_seen: rpcMethod({
      summary: 'The first block that paid to it; null where none did',
      params: Owner,
      result: FirstSeenSchema,
      write: false,
      errors: ERRORS,
      run: ({ address }) => {
        questions.refuseUnfit();
        return questions.firstSeen(address);
      }
    }),
    get_first_seen_status: rpcMethod({
      summary: 'As `get_first_seen`, with the state of the tracker',
      params: Owner,
      result: FirstSeenStatusSchema,
      write: false,
      errors: ERRORS,
      run: ({ address }) => questions.firstSeenStatus(address)
    }),
    get_balance: rpcMethod({
      summary: 'Value of its confirmed coins that may be spent',
      params: Owner,
      result: BalanceSchema,
      write: false,
      errors: ERRORS,
      run: ({ address }) => questions.balance(address)
    }),
    get_info: rpcMethod({
      summary: 'Balances, coins in blocks and mempool, and the total received',
      params: Owner,
      result: InfoSchema,
      write: false,
      errors: ERRORS,
      run: ({ address }) => questions.info(address)
    })
  };
}
