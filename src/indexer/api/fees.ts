import Type, { type Static } from 'typebox';
import { ACTIONS, findAction } from '../../coin/action/names.ts';
import { toDecimal } from '../../coin/amount.ts';
import type { ChainNetwork } from '../../coin/chains.ts';
import { costsGas } from '../../coin/foreign-prices.ts';
import { gasOf } from '../../coin/gas.ts';
import { MAX_ACTION_DATA_LENGTH } from '../../coin/payload/payload.ts';
import { activationHeight, GAS_ITEMS, type Profile } from '../../coin/profile.ts';
import { pushSize } from '../../coin/script/script.ts';
import { parseAmount } from '../../consensus/amount.ts';
import { hasCode, PlatformError } from '../../errors.ts';
import { type RpcMethod, rpcMethod } from '../../service/rpc/method.ts';
import { ByName } from '../../wire/by-name.ts';
import { FEE_QUESTIONS } from '../../wire/fee-questions.ts';
import { OrNull } from '../../wire/or-null.ts';
import { COINPAY, isBuilt } from '../actions/handlers.ts';
import { LEAST_PERCENT, nativeFee, OLDEST_PRICE_S } from '../fees/native.ts';
import { feeOf } from '../profile/gas.ts';
import type { Trial, TrialQuestion } from '../trial/trial.ts';

/** Dependencies of the methods about fees. */
export interface FeeMethodDeps {
  readonly profile: Profile;
  readonly network: ChainNetwork;
  /** @throws {PlatformError} ACTOR_BUSY, ACTOR_TIMEOUT, ACTOR_NOT_READY, TRIAL_TOO_LONG, DATABASE_UNAVAILABLE */
  readonly tryAction: (question: TrialQuestion) => Promise<Trial>;
}

const Dec8 = Type.String({ description: 'decimal, 8 places' });
const IntOrNull = OrNull(Type.Integer());
const Verdict = {
  action: Type.String(),
  coin: Type.String(),
  supported: Type.Boolean(),
  valid: OrNull(Type.Boolean({ description: 'whether the next block would take it; null: not tried' })),
  status: Type.Optional(Type.String({ description: 'status that its row would get' })),
  error: OrNull(Type.String({ description: 'reason for which the quote is missing or incomplete' })),
  guardInert: Type.Boolean(),
  guardInertReason: Type.Null(),
  feeExempt: Type.Boolean({ description: 'whether it costs no gas' }),
  denied: Type.Boolean(),
  busy: Type.Boolean({ description: 'whether too many callers ask: send it again' }),
  retryable: Type.Boolean(),
  retryAfterMs: Type.Optional(Type.Integer()),
  xchainFee: OrNull(Dec8),
  blockIndex: IntOrNull,
  blockTime: IntOrNull,
  note: Type.Optional(Type.String())
};
const QuoteSchema = Type.Object({
  ...Verdict,
  feeDestination: OrNull(Type.String()),
  toleranceMin: Type.String(),
  toleranceMax: Type.String(),
  validated: Type.Boolean(),
  staticQuote: Type.Boolean({ description: 'whether the quote comes from the schedule alone' }),
  gasCost: Type.Integer(),
  ...Type.Partial(
    Type.Object({
      expectedNative: Dec8,
      minAcceptable: Dec8,
      maxAcceptable: Dec8,
      requiredFeeNative: Dec8,
      requiredFeeSats: Type.Integer(),
      xchainUsdPrice: Dec8,
      coinUsdPrice: Dec8,
      oracleRound: Type.Integer()
    })
  ).properties
});
const PreflightSchema = Type.Object({
  ...Verdict,
  feeMode: Type.Union([Type.Literal('xchain'), Type.Literal('native')]),
  feeTick: Type.String(),
  feeTokenBalance: OrNull(Dec8),
  feeAffordable: OrNull(Type.Boolean()),
  subCommands: Type.Array(
    Type.Object({
      position: Type.Integer(),
      action: Type.String(),
      status: Type.String(),
      refused: OrNull(Type.String())
    })
  ),
  oracleFeesOwed: Type.Object({})
});
const ScheduleSchema = Type.Object({
  coin: Type.String(),
  network: Type.String(),
  nativeFeeEnabled: Type.Boolean(),
  feeDestination: OrNull(
    Type.String({ description: 'address that is paid in the coin; null: fees are paid in the gas token alone' })
  ),
  gasTick: Type.String(),
  gasPrice: OrNull(Type.String({ description: 'price of one gas in the gas token' })),
  gasSchedule: OrNull(ByName(Type.Integer())),
  toleranceMin: Type.String(),
  toleranceMax: Type.String(),
  maxPriceAgeSeconds: Type.Integer(),
  blockIndex: IntOrNull,
  blockTime: IntOrNull,
  prices: Type.Object({
    available: Type.Boolean(),
    ...Type.Partial(Type.Object({ error: Type.String(), xchainUsd: Dec8, coinUsd: Dec8, oracleRound: Type.Integer() }))
      .properties
  }),
  priceSource: Type.Object({ hubDb: Type.Boolean(), database: OrNull(Type.String()) })
});

const TOLERANCE = { toleranceMin: (Number(LEAST_PERCENT) / 100).toFixed(2), toleranceMax: '1.10' } as const;
const MOST_TENTHS = 11n;
const SATOSHI = 10n ** 10n;
/** Fee of a trial: all the coins that there may be, so that it is never refused for its fee. */
const PLENTY_SATS = String(21_000_000n * 10n ** 8n);
const RETRY_AFTER_MS = 1_000;
const ERRORS = ['DATABASE_UNAVAILABLE', 'ACTOR_TIMEOUT', 'ACTOR_NOT_READY', 'TRIAL_TOO_LONG'] as const;
const NOTHING: TrialQuestion = { source: null, data: '', feeSats: null };
const dec8 = (amount: bigint): string => toDecimal(amount / SATOSHI);
const amountOf = (text: string): bigint => parseAmount(text)!;

/**
 * Returns the methods that say what actions cost and whether the next block would take them. Their forms are those that
 * clients in use read.
 */
export function feeMethods({ profile, network, tryAction }: FeeMethodDeps): Readonly<Record<string, RpcMethod>> {
  const { gas, gasPrice, gasTick, roles } = profile;
  const feeDestination = roles[network.name]?.FEE_DESTINATION ?? null;
  const coin = network.ticker;
  const pricesOf = ({ prices }: Trial) =>
    typeof prices === 'string'
      ? { available: false, error: prices }
      : {
          available: true,
          xchainUsd: dec8(prices.gasToken),
          coinUsd: dec8(prices.coin),
          oracleRound: prices.round
        };

  /**
   * Returns the part that both methods say of an action: by a trial where a source is given, else by the schedule
   * alone.
   */
  async function judge({ action: written, params = '', source }: Asked, feeSats: string | null, subject: object = {}) {
    const action = findAction(written) ?? written.trim().toUpperCase();
    const isKnown =
      ACTIONS.has(action) && isBuilt(action) && Number.isFinite(activationHeight(profile, network, action));
    const isTried = isKnown && source !== undefined && source !== '' && action !== COINPAY;
    const fields = typeof params === 'string' ? params : params.join('|');
    if (isTried) refuseLong(`${written.trim()}|${fields}`);
    const asked = isTried ? { source, data: `${action}|${fields}`, feeSats } : NOTHING;
    const trial = await tryAction(asked).catch((caught: unknown) => {
      if (hasCode(caught, 'ACTOR_BUSY') || hasCode(caught, 'ACTOR_TIMEOUT')) return null;
      throw caught;
    });
    const refused = trial?.commands.find(({ status }) => status !== 'valid');
    // The schedule says what a refused action would cost; a valid one costs what its trial took, which may be nothing.
    const isCharged = isTried && trial !== null && (refused === undefined || trial.gas > 0);
    const gasCost = isCharged ? trial.gas : gasOf(profile, action, subject);
    const amount = isCharged ? amountOf(trial.fee) : feeOf(gasCost, { price: gasPrice });
    const verdict: Static<typeof PreflightVerdict> = {
      action,
      coin,
      supported: isKnown,
      guardInert: false,
      guardInertReason: null,
      denied: false,
      valid: isTried && trial ? refused === undefined : null,
      ...(isTried && trial ? { status: refused?.status ?? 'valid' } : {}),
      error: isKnown ? null : `this indexer does not carry out ${action}`,
      feeExempt: gasCost === 0,
      ...(trial ? { busy: false, retryable: false } : { busy: true, retryable: true, retryAfterMs: RETRY_AFTER_MS }),
      xchainFee: isKnown ? dec8(amount) : null,
      blockIndex: trial?.blockIndex ?? null,
      blockTime: trial?.blockTime ?? null,
      ...(action === COINPAY ? { note: 'what a COINPAY does is decided by the outputs of its transaction' } : {})
    };
    return { verdict, trial, isTried, gasCost, amount };
  }

  return {
    feeschedule: rpcMethod({
      summary: 'Gas schedule, and the prices by which fees are paid in the coin',
      result: ScheduleSchema,
      write: false,
      errors: ERRORS,
      async run() {
        const trial = await tryAction(NOTHING);
        const isCosting = costsGas(profile);
        return {
          coin,
          network: network.network,
          nativeFeeEnabled: feeDestination !== null && isCosting,
          feeDestination,
          gasTick,
          gasPrice: isCosting ? gasPrice : null,
          gasSchedule: isCosting ? Object.fromEntries(GAS_ITEMS.map((item) => [item, gas[item]])) : null,
          ...TOLERANCE,
          maxPriceAgeSeconds: OLDEST_PRICE_S,
          blockIndex: trial.blockIndex,
          blockTime: trial.blockTime,
          prices: pricesOf(trial),
          priceSource: { hubDb: false, database: null }
        };
      }
    }),
    feequote: rpcMethod({
      summary: 'Cost of one action, and with its source whether the next block would take it',
      params: FEE_QUESTIONS.feequote,
      result: QuoteSchema,
      write: false,
      errors: ERRORS,
      async run({ feeOutputSats, action, params, source, ...subject }) {
        const feeSats = feeOutputSats ?? (feeDestination === null ? null : PLENTY_SATS);
        const { verdict, trial, isTried, gasCost, amount } = await judge({ action, params, source }, feeSats, subject);
        const prices = trial?.prices;
        const quoted = typeof prices === 'object' ? { ...nativeFee(amount, prices), prices } : undefined;
        return {
          ...verdict,
          ...(typeof prices === 'string' && amount > 0n && feeDestination !== null
            ? { error: verdict.error ?? prices }
            : {}),
          feeDestination,
          ...TOLERANCE,
          validated: isTried && trial !== null,
          staticQuote: !isTried,
          gasCost,
          ...(quoted && {
            expectedNative: dec8(quoted.expected),
            minAcceptable: dec8(quoted.least),
            maxAcceptable: dec8((quoted.expected * MOST_TENTHS) / 10n),
            requiredFeeNative: dec8(quoted.expected),
            requiredFeeSats: Number(quoted.expected / SATOSHI),
            xchainUsdPrice: dec8(quoted.prices.gasToken),
            coinUsdPrice: dec8(quoted.prices.coin),
            oracleRound: quoted.prices.round
          })
        };
      }
    }),
    preflight: rpcMethod({
      summary:
        'Whether the next block would take an action, each command of a BATCH by itself, and whether its fee can be paid',
      params: FEE_QUESTIONS.preflight,
      result: PreflightSchema,
      write: false,
      errors: ERRORS,
      async run({ feeMode: wanted, ...asked }) {
        const feeMode = wanted ?? (coin === 'BTC' ? 'xchain' : 'native');
        const { verdict, trial, isTried, amount } = await judge(asked, feeMode === 'native' ? PLENTY_SATS : null);
        const balance = isTried && trial ? amountOf(trial.gasBalance) : null;
        return {
          ...verdict,
          feeMode,
          feeTick: feeMode === 'native' ? coin : gasTick,
          feeTokenBalance: balance === null ? null : dec8(balance),
          feeAffordable: feeMode === 'native' || balance === null ? null : balance >= amount,
          subCommands: (trial?.commands.slice(1) ?? []).map(({ action, status }, position) => ({
            position,
            action,
            status,
            refused: status === 'valid' ? null : status
          })),
          oracleFeesOwed: {}
        };
      }
    }),
    oraclefeequote: rpcMethod({
      summary: 'Fee that a dispenser owes the oracle of its price',
      params: FEE_QUESTIONS.oraclefeequote,
      result: Type.Object({
        valid: Type.Boolean(),
        error: Type.Optional(Type.String()),
        oracleAddress: Type.String(),
        blockTime: IntOrNull,
        requiredFeeNative: Dec8,
        requiredFeeSats: Type.Integer(),
        belowDust: Type.Boolean(),
        note: Type.String()
      }),
      write: false,
      errors: ERRORS,
      async run({ oracleAddress, blockTime }) {
        const time = blockTime ?? (await tryAction(NOTHING)).blockTime;
        return {
          valid: false,
          error: 'ORACLE_ADDRESS (no effective oracle price)',
          oracleAddress,
          blockTime: time,
          requiredFeeNative: dec8(0n),
          requiredFeeSats: 0,
          belowDust: true,
          note: 'this ledger takes no dispensers that cost what an oracle says'
        };
      }
    })
  };
}

const PreflightVerdict = Type.Object(Verdict);

/** Refuses a text that no transaction carries. @throws {PlatformError} TRIAL_TOO_LONG */
function refuseLong(text: string): void {
  const bytes = pushSize(Buffer.byteLength(text));
  if (bytes <= MAX_ACTION_DATA_LENGTH) return;
  const reason = `the action takes ${bytes} bytes, of which a transaction carries ${MAX_ACTION_DATA_LENGTH} at most`;
  throw new PlatformError('TRIAL_TOO_LONG', { reason });
}

interface Asked {
  readonly action: string;
  readonly params?: string | readonly (string | null)[] | undefined;
  readonly source?: string | undefined;
}
