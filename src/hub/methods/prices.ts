import Type from 'typebox';
import { PlatformError } from '../../errors.ts';
import { type RpcMethod, rpcMethod } from '../../service/rpc/method.ts';
import { StreamedResult } from '../../service/rpc/streamed-result.ts';
import { pagesOf } from '../pages.ts';
import type { HubDatabase } from '../store/database.ts';
import type { Outcome as Kept } from '../store/prices/ranks.ts';
import {
  CountSchema,
  checkTexts,
  closed,
  DATABASE_ERRORS,
  DEFAULT_LIMIT,
  GenerationSchema,
  LimitSchema,
  NameSchema,
  Nullable,
  OneOf,
  PubkeySchema,
  SecondsSchema,
  TimeSchema
} from './common.ts';
import { OLDEST_PRICE_S } from './fees.ts';
import { Outcome, type PushSettings } from './pushes.ts';

const Pair = Type.String({ pattern: '^[A-Z0-9]{2,10}[/_-]?[A-Z]{3}$', maxLength: 16, description: 'such as BTC/USD' });
/** Above 0 and at most 10^10. */
const Price = Type.String({ pattern: '^(?!0+(?:\\.0+)?$)(?:[0-9]{1,10}(?:\\.[0-9]{1,8})?|10000000000)$' });
const Decimal = Type.String({ pattern: '^[0-9]{1,40}(?:\\.[0-9]{1,18})?$' });
/** Above 0. */
const Positive = Type.String({ pattern: '^(?!0+(?:\\.0+)?$)[0-9]{1,40}(?:\\.[0-9]{1,18})?$' });

export const SnapshotSchema = Type.Object({
  id: CountSchema,
  round_number: CountSchema,
  coin_pair: Type.String(),
  price: Type.String(),
  reference_block: Nullable(CountSchema),
  reference_chain: Nullable(Type.String()),
  block_timestamp: CountSchema,
  validator_count: CountSchema,
  consensus_round: Nullable(CountSchema),
  consensus_proof: Nullable(Type.String()),
  status: OneOf(['finalized', 'skipped', 'disputed']),
  source_chain: Nullable(Type.String()),
  source_action_index: Nullable(CountSchema),
  push_generation: CountSchema,
  created_at: TimeSchema,
  sources: Nullable(Type.Integer({ description: 'whose median it is; null: validators signed it' })),
  deviation: Nullable(Type.String({ description: 'percent by which the source that is furthest off differs' })),
  bounded: Type.Integer({ description: '1: the price is the bound that what the sources said was beyond', maximum: 1 }),
  oldest_at: Nullable(Type.Integer({ description: "epoch seconds of the oldest source's price; null: not known" })),
  age_s: Type.Integer({ description: 'seconds since oldest_at, else block_timestamp; below 0: the clock was set back' })
});

const RoundSchema = Type.Object(
  {
    source_chain: NameSchema,
    round: CountSchema,
    timestamp: SecondsSchema,
    btc_block_height: CountSchema,
    pairs: Type.Array(Type.Object({ pair: Pair, price: Price }, closed), { minItems: 1, maxItems: 100 }),
    sigs: Type.Array(
      Type.Object({ pubkey: PubkeySchema, sig: Type.String({ pattern: '^[0-9A-Fa-f]{128}$' }) }, closed),
      {
        maxItems: 100
      }
    ),
    action_index: CountSchema,
    block_index: CountSchema,
    push_generation: GenerationSchema
  },
  closed
);
/** Returns BTC for `btc`: rows have one spelling of a coin. */
const ticker = (name: string): string => name.toUpperCase();
/** Rows that are read at once: each may carry a proof of some 20 KB. */
const PAGE_ROWS = 100;

export interface PriceSettings extends PushSettings {
  /** Called when a push has changed prices, once it is durable. */
  readonly onChange: () => void;
  /** Epoch milliseconds by the clock that ages are measured with. */
  readonly now: () => number;
}

/** Returns the methods about prices. */
export function priceMethods(
  database: HubDatabase,
  { pushNeedsKey, isTrusted, onChange, now }: PriceSettings
): Readonly<Record<string, RpcMethod>> {
  const tell = ({ refused, ...standing }: Kept) => {
    if (refused !== null) return { accepted: false, reason: refused, ...standing };
    onChange();
    return { accepted: true };
  };
  return {
    getprice: rpcMethod({
      summary: 'The last finalized price of a pair',
      params: Type.Object({ coin_pair: Type.Optional(Pair), pair: Type.Optional(Pair) }),
      result: Type.Object({ ...SnapshotSchema.properties, oracleMaxPriceAgeSeconds: CountSchema }),
      write: false,
      errors: [...DATABASE_ERRORS, 'RECORD_UNKNOWN'],
      async run({ coin_pair, pair = coin_pair }) {
        if (pair === undefined)
          throw new PlatformError('REQUEST_INVALID', { reason: 'send coin_pair, such as BTC/USD' });
        const price = await database.read('currentPrice', pair, Math.floor(now() / 1_000));
        if (price) return { ...price, oracleMaxPriceAgeSeconds: OLDEST_PRICE_S };
        throw new PlatformError('RECORD_UNKNOWN', { reason: `no price of ${pair} is finalized yet` });
      }
    }),
    getpricesnapshots: rpcMethod({
      summary: 'Prices by round, the newest first',
      params: Type.Object({
        limit: LimitSchema,
        status: Type.Optional(OneOf(['finalized', 'all'])),
        with_watermark: Type.Optional(
          Type.Boolean({ description: 'true: {snapshots, watermark} and not the rows alone' })
        )
      }),
      result: Type.Union([
        Type.Array(SnapshotSchema),
        Type.Object({
          snapshots: Type.Array(SnapshotSchema),
          watermark: CountSchema,
          oracleMaxPriceAgeSeconds: CountSchema
        })
      ]),
      write: false,
      errors: DATABASE_ERRORS,
      run({ limit = DEFAULT_LIMIT, status = 'finalized', with_watermark: withWatermark = false }, caller) {
        const wanted = status === 'all' ? null : status;
        const pages = () =>
          pagesOf(limit, PAGE_ROWS, async (last, most) => {
            const asked = { now: Math.floor(now() / 1_000), status: wanted, before: last ?? null };
            const page = await database.page('newestSnapshots', asked, most);
            caller.charge({ rows: page.count });
            return page;
          });
        const after = `,"watermark":${Math.floor(Date.now() / 1000)},"oracleMaxPriceAgeSeconds":${OLDEST_PRICE_S}}`;
        return withWatermark
          ? StreamedResult.ofRows(pages, { before: '{"snapshots":', after })
          : StreamedResult.ofRows(pages);
      }
    }),
    pushpriceround: rpcMethod({
      summary: 'Keeps a round of prices that a quorum of the active validators signed',
      params: RoundSchema,
      result: Outcome,
      write: true,
      needsKey: pushNeedsKey,
      errors: DATABASE_ERRORS,
      run: async ({ source_chain, ...signed }, caller) =>
        tell(await database.push('keepRound', { ...signed, source_chain: ticker(source_chain) }, isTrusted(caller)))
    }),
    pushoracleprice: rpcMethod({
      summary: 'Keeps what an address says that a token costs; an update holds a day later',
      params: Type.Object(
        {
          source_chain: NameSchema,
          source_address: Type.String({ pattern: '^[A-Za-z0-9]{1,120}$' }),
          coin: NameSchema,
          tick: Type.String({ minLength: 1, maxLength: 250 }),
          fiat: Type.String({ pattern: '^[A-Z]{3,16}$' }),
          value: Positive,
          fee: Type.Optional(Nullable(Decimal)),
          memo: Type.Optional(Nullable(Type.String({ maxLength: 512 }))),
          block_time: SecondsSchema,
          action_index: CountSchema,
          push_generation: GenerationSchema
        },
        closed
      ),
      result: Outcome,
      write: true,
      needsKey: pushNeedsKey,
      errors: DATABASE_ERRORS,
      async run({ source_chain, source_address, coin, tick, fiat, value, fee = null, memo = null, ...rest }, caller) {
        checkTexts({ tick, memo });
        const { block_time, action_index, push_generation } = rest;
        const price = {
          source_chain: ticker(source_chain),
          source_address,
          coin: ticker(coin),
          tick,
          fiat,
          value,
          fee,
          memo,
          block_time,
          action_index,
          push_generation
        };
        return tell(await database.push('insertOraclePrice', price, isTrusted(caller)));
      }
    }),
    pushpricereorg: rpcMethod({
      summary: 'Takes back what an indexer told of actions that a reorg removed from its chain',
      params: Type.Object(
        {
          source_chain: NameSchema,
          from_action_index: CountSchema,
          to_action_index: Type.Optional(Nullable(CountSchema)),
          retraction_generation: Type.Optional(
            Nullable(
              Type.Integer({
                minimum: 0,
                maximum: Number.MAX_SAFE_INTEGER,
                description: 'what this generation and later ones told stays'
              })
            )
          )
        },
        closed
      ),
      result: Type.Object({
        retracted: Type.Object({ price_snapshots: CountSchema, oracle_prices: CountSchema })
      }),
      write: true,
      needsKey: pushNeedsKey,
      errors: DATABASE_ERRORS,
      async run(asked, caller) {
        const { from_action_index: from, to_action_index: to = null } = asked;
        const chain = ticker(asked.source_chain);
        const generation = asked.retraction_generation ?? null;
        const retracted = await database.push('retractPrices', { chain, from, to, generation }, isTrusted(caller));
        onChange();
        return { retracted };
      }
    })
  };
}
