import Type, { type Static } from 'typebox';
import { monotonicMs } from '../chain/monotonic.ts';
import type { ChainNetwork } from '../coin/chains.ts';
import { addressScript } from '../coin/script/address-script.ts';
import { type ErrorCode, PlatformError } from '../errors.ts';
import { wholeNumber } from '../service/parameters.ts';
import { JsonResult } from '../service/rpc/json-result.ts';
import { pingMethod, type RpcMethod, rpcMethod } from '../service/rpc/method.ts';
import type { BalanceAnswer, CoinsQuestion } from './answers.ts';
import { scriptHashOf } from './coins/changes.ts';
import { SyncStatusSchema, syncStatusOf, TrackerStatusSchema, type TrackerView, trackerStatusOf } from './report.ts';

/** What the methods work with. */
export interface TrackerMethodDeps {
  readonly network: ChainNetwork;
  readonly view: () => TrackerView;
  /** JSON of CoinsSchema. Each throws DATABASE_UNAVAILABLE, ACTOR_TIMEOUT; for a wrong cursor REQUEST_INVALID. */
  readonly findCoins: (question: CoinsQuestion) => Promise<Uint8Array<ArrayBuffer>>;
  readonly findBalance: (script: string) => Promise<BalanceAnswer>;
}

/** Coins of one page. */
const MAX_PAGE = 10_000;
const USUAL_PAGE = 1_000;
const MAX_SCRIPT_HEX = 20_000;

export const OwnerSchema = Type.String({
  minLength: 1,
  maxLength: MAX_SCRIPT_HEX + 'script:'.length,
  description: 'an address of the network, or `script:` and the hex of an output script'
});
const LimitSchema = Type.Integer({
  minimum: 1,
  maximum: MAX_PAGE,
  default: USUAL_PAGE,
  description: 'coins of a page'
});
/** The same as the text that a query holds. */
export const LimitTextSchema = wholeNumber({ min: 1, digits: 5, default: USUAL_PAGE, note: `at most ${MAX_PAGE}` });
export const AfterSchema = Type.String({ maxLength: 72, description: 'nextCursor of the page before' });
const CoinSchema = Type.Object({
  txid: Type.String(),
  vout: Type.Integer(),
  value: Type.String({ description: 'base units' }),
  height: Type.Union([Type.Integer(), Type.Null()], { description: 'null: in no block yet' }),
  confirmations: Type.Integer(),
  amount: Type.String({ description: 'coins, 8 decimal places' }),
  scriptPubKey: Type.String()
});
export const CoinsSchema = Type.Object({
  utxos: Type.Array(CoinSchema),
  nextCursor: Type.Optional(Type.String({ description: 'there are more coins: send it as `after`' })),
  sync: SyncStatusSchema
});
export const FirstSeenSchema = Type.Union([Type.Object({ height: Type.Integer() }), Type.Null()]);
export const BalanceSchema = Type.Union([Type.Integer(), Type.String()], {
  description: 'base units; a text where the number is beyond 2^53'
});
export const InfoSchema = Type.Object({
  address: Type.String(),
  type: Type.Union([Type.Literal('address'), Type.Literal('script')]),
  balances: Type.Object({
    confirmed: Type.String({ description: 'base units' }),
    pending: Type.String({ description: 'what the mempool adds, or takes: base units' }),
    received: Type.String({ description: 'all that blocks ever paid: base units' })
  }),
  utxos: Type.Object({ confirmed: Type.Integer(), pending: Type.Integer() })
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

/** What both faces of the tracker answer from. */
export class TrackerQuestions {
  readonly #deps: TrackerMethodDeps;

  constructor(deps: TrackerMethodDeps) {
    this.#deps = deps;
  }

  /** @returns the JSON of CoinsSchema, in memory of its own */
  async coins(address: string, limit = USUAL_PAGE, after: string | null = null): Promise<Buffer<ArrayBuffer>> {
    if (limit > MAX_PAGE) throw new PlatformError('REQUEST_INVALID', { reason: `limit must be at most ${MAX_PAGE}` });
    const scriptHex = this.#scriptOf(address).toString('hex');
    const sync = JSON.stringify(this.sync());
    const { buffer, byteOffset, length } = await this.#deps.findCoins({ scriptHex, limit, after, sync });
    return Buffer.from(buffer, byteOffset, length);
  }

  async firstSeen(address: string): Promise<Static<typeof FirstSeenSchema>> {
    const { firstHeight } = await this.#balance(address);
    return firstHeight === null ? null : { height: firstHeight };
  }

  async balance(address: string): Promise<Static<typeof BalanceSchema>> {
    const { confirmed } = await this.#balance(address);
    return Number.isSafeInteger(Number(confirmed)) ? Number(confirmed) : confirmed;
  }

  async info(address: string): Promise<Static<typeof InfoSchema>> {
    const { confirmed, pending, received, confirmedCoins, pendingCoins } = await this.#balance(address);
    return {
      address,
      type: address.startsWith(SCRIPT) ? 'script' : 'address',
      balances: { confirmed, pending, received },
      utxos: { confirmed: confirmedCoins, pending: pendingCoins }
    };
  }

  sync(): Static<typeof SyncStatusSchema> {
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
const hashText = (script: Buffer): string => scriptHashOf(script).toString('hex');

/** The methods of a tracker. */
export function trackerMethods(
  questions: TrackerQuestions,
  view: TrackerMethodDeps['view']
): Readonly<Record<string, RpcMethod>> {
  return {
    ping: pingMethod,
    health: rpcMethod({
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
      result: Type.Boolean(),
      write: false,
      run: () => {
        const { lag, synced, mempool_ready } = questions.sync();
        return synced && lag === 0 && mempool_ready;
      }
    }),
    get_utxos: rpcMethod({
      summary: 'Coins that may be spent, page by page, without an end to their number',
      params: Type.Object({
        address: OwnerSchema,
        limit: Type.Optional(LimitSchema),
        after: Type.Optional(AfterSchema)
      }),
      result: CoinsSchema,
      write: false,
      errors: ERRORS,
      run: async ({ address, limit, after }) =>
        new JsonResult<Static<typeof CoinsSchema>>(await questions.coins(address, limit, after ?? null))
    }),
    get_first_seen: rpcMethod({
      summary: 'The first block that paid to it; null where none did',
      params: Owner,
      result: FirstSeenSchema,
      write: false,
      errors: ERRORS,
      run: ({ address }) => questions.firstSeen(address)
    }),
    get_balance: rpcMethod({
      summary: 'What its confirmed coins are worth that may be spent',
      params: Owner,
      result: BalanceSchema,
      write: false,
      errors: ERRORS,
      run: ({ address }) => questions.balance(address)
    }),
    get_info: rpcMethod({
      summary: 'What it has, what waits in the mempool, and what it ever received',
      params: Owner,
      result: InfoSchema,
      write: false,
      errors: ERRORS,
      run: ({ address }) => questions.info(address)
    })
  };
}
