import Type, { type Static } from 'typebox';
import { commandsIn } from '../../coin/action/command.ts';
import { readName } from '../../coin/action/names.ts';
import type { ChainNetwork } from '../../coin/chains.ts';
import { MAX_ACTION_DATA_LENGTH, writeFrame } from '../../coin/payload/payload.ts';
import {
  type FormOutput,
  longestVirtualSize,
  type TransactionForm,
  virtualSize
} from '../../coin/raw/transaction-form.ts';
import { paidScript } from '../../coin/script/address-script.ts';
import { PlatformError } from '../../errors.ts';
import { keyOf, type Outpoint } from '../coins/reservations.ts';
import { dustFee } from '../transaction/dust.ts';
import { ENCODINGS } from '../transaction/encodings.ts';
import { type FeeLimit, type FeeRule, MAX_INPUTS } from '../transaction/select-coins.ts';
import type { NodePolicy } from './node-policy.ts';
import type { ActionContent } from './self-check.ts';

/** Greatest `dust`, a tenth of a coin: a change below `dust` may go to the miner. */
const MAX_DUST = 10_000_000;
const closed = { additionalProperties: false } as const;
/** Most characters of a caller's text in a reason. */
const MAX_SHOWN = 40;
/** A transaction id. */
export const TXID = Type.String({ pattern: '^[0-9a-f]{64}$' });
/** A hash as callers write it. */
export const HASH_PATTERN = '^[0-9a-fA-F]{64}$';
/** A transaction id as callers write it. */
export const GIVEN_TXID = Type.String({ pattern: HASH_PATTERN });
/** The position of an output. */
export const VOUT = Type.Integer({ minimum: 0, maximum: 2 ** 32 - 1 });
/** An amount in satoshis, as number or text. */
export const SATOSHIS = Type.Union(
  [Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), Type.String({ pattern: '^[0-9]{1,19}$' })],
  { description: 'satoshis as a whole number' }
);
/** An address of any form; `addressScript` decides whether it is valid. */
export const ADDRESS = Type.String({ minLength: 1, maxLength: 130 });
/** Hex of a transaction, at most 500,000 bytes. */
export const TRANSACTION_HEX = Type.String({ minLength: 2, maxLength: 1_000_000 });

/** A coin as `get_utxos`, a tracker or a node describes it. Other fields are ignored. */
const GivenCoinSchema = Type.Object({ txid: GIVEN_TXID, vout: VOUT });
/** Payments. A warning names other fields. */
const PaidSchema = Type.Object({ address: ADDRESS, value: SATOSHIS });
const QuotedSchema = Type.Object({
  address: Type.Optional(Type.String({ maxLength: 130, description: 'absent or empty only where amount is 0' })),
  amount: SATOSHIS
});
/** A fee rate in satoshis per 1000 virtual bytes, which may be a fraction. */
export const RATE = Type.Union(
  [
    Type.Number({ exclusiveMinimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
    Type.String({ pattern: '^[0-9]{1,16}(?:\\.[0-9]{1,16})?$' })
  ],
  { description: 'satoshis per 1000 virtual bytes' }
);

/** Sequence of an input that is replaceable and has no relative lock. @see BIP 125 */
export const REPLACEABLE = 0xfffffffd;
/** Sequence of an input that is not replaceable. */
export const FINAL = 0xffffffff;

/** The caller's id of a request. */
export const REQUEST_ID = Type.String({
  minLength: 1,
  maxLength: 128,
  description: "the caller's own; the same request sent again has the same answer, and reserves no other coins"
});

/** The parameters of `create_tx`. */
export const CreateParams = Type.Object({
  pubkey: Type.String({
    minLength: 1,
    maxLength: 130,
    description: 'the owner of the coins: an address, or a public key'
  }),
  compressedPubKey: Type.Optional(
    Type.String({
      maxLength: 130,
      description: "the address's public key, hex of 33 bytes, where an encoding needs it"
    })
  ),
  data: Type.Optional(
    Type.String({
      maxLength: MAX_ACTION_DATA_LENGTH,
      description: 'the action: NAME|field|…; absent or empty: customOutputs are paid without an action'
    })
  ),
  rawData: Type.Optional(
    Type.String({ maxLength: MAX_ACTION_DATA_LENGTH, description: 'bytes beside it, one character each (latin-1)' })
  ),
  encoding: Type.Optional(
    Type.Union([Type.Literal('AUTO'), ...ENCODINGS.map((encoding) => Type.Literal(encoding))], {
      description: 'AUTO: the first of these that size, node and signer allow; absent: OP_RETURN, else P2SH'
    })
  ),
  utxos: Type.Optional(
    Type.Array(GivenCoinSchema, {
      maxItems: MAX_INPUTS,
      description:
        'the only coins that are spent, the first one as first input; as get_utxos answers them. They are not reserved. Empty: any'
    })
  ),
  customOutputs: Type.Optional(Type.Array(PaidSchema, { maxItems: 100 })),
  feeQuote: Type.Optional(QuotedSchema),
  fee: Type.Optional(SATOSHIS),
  feePerKb: Type.Optional(RATE),
  dust: Type.Optional(
    Type.Union(
      [Type.Integer({ minimum: 0, maximum: MAX_DUST }), Type.String({ pattern: '^(?:[0-9]{1,7}|10000000)$' })],
      {
        description: `least satoshis of each output, at most ${MAX_DUST}`
      }
    )
  ),
  unconfirmed: Type.Optional(
    Type.Boolean({ description: 'whether coins that no block has yet may be spent; true when absent' })
  ),
  rbf: Type.Optional(Type.Boolean({ description: 'a later transaction may replace it' })),
  change: Type.Optional(ADDRESS),
  compress: Type.Optional(
    Type.Boolean({
      description: 'whether the bytes of a FILE are deflated where that is shorter; true when absent'
    })
  ),
  request_id: Type.Optional(REQUEST_ID),
  p2shHash: Type.Optional(
    Type.String({
      pattern: HASH_PATTERN,
      description: 'the first transaction, which the node has: builds the second one'
    })
  ),
  p2shHex: Type.Optional(TRANSACTION_HEX),
  options: Type.Optional(
    Type.Object(
      {
        signerSupportsTapscript: Type.Optional(Type.Boolean()),
        signerSupportsScripts: Type.Optional(Type.Boolean())
      },
      closed
    )
  )
});
export type CreateRequest = Static<typeof CreateParams>;

/** Returns the names of parameters, and of fields of payments, that `create_tx` does not know. */
export function unknownParams(request: CreateRequest): readonly string[] {
  const { customOutputs = [], feeQuote = {} } = request;
  const unknown = (values: readonly object[], { properties }: Type.TObject) =>
    [...new Set(values.flatMap(Object.keys))].filter((name) => !Object.hasOwn(properties, name));
  return [
    ...unknown([request], CreateParams),
    ...unknown(customOutputs, PaidSchema).map((name) => `customOutputs.${name}`),
    ...unknown([feeQuote], QuotedSchema).map((name) => `feeQuote.${name}`)
  ];
}

/**
 * Reads the action of a request and frames it; null for a request that only pays. @throws {PlatformError}
 * REQUEST_INVALID
 */
export function readAction({
  data = '',
  rawData,
  customOutputs = []
}: Pick<CreateRequest, 'data' | 'rawData' | 'customOutputs'>): (ActionContent & { readonly frame: Buffer }) | null {
  if (data === '') {
    if (rawData) throw invalid('rawData stands beside an action: send data too');
    if (customOutputs.length === 0) throw invalid('send data, or customOutputs to be paid without it');
    return null;
  }
  if (!data.isWellFormed()) throw invalid('data holds half of a surrogate pair, which has no UTF-8');
  if (data.includes('\0')) throw invalid('data holds the character NUL');
  if (!readName(data)) throw invalid(`data names no known action: ${JSON.stringify(data.slice(0, MAX_SHOWN))}`);
  if (rawData !== undefined && /[^\0-\xff]/.test(rawData))
    throw invalid('rawData holds a character above U+00FF: each one stands for a byte');
  const bytes = rawData ? Buffer.from(rawData, 'latin1') : null;
  try {
    return { action: data, rawData: bytes, frame: writeFrame(data, bytes) };
  } catch (caught) {
    throw invalid((caught as Error).message); // the length, which is the only thing wrong with it
  }
}

/** Returns the output that pays the protocol's fee; none where nothing is to be paid. @throws {PlatformError} REQUEST_INVALID */
export function readQuote({ feeQuote }: Pick<CreateRequest, 'feeQuote'>, network: ChainNetwork): readonly FormOutput[] {
  if (!feeQuote || BigInt(feeQuote.amount) === 0n) return [];
  const { address = '', amount } = feeQuote;
  if (address === '') throw invalid(`feeQuote asks for ${amount} satoshis, and names no address to pay them to`);
  return readOutputs([{ address, value: amount }], network);
}

/** Converts addresses and amounts to outputs. @throws {PlatformError} REQUEST_INVALID */
function readOutputs(
  outputs: readonly { readonly address: string; readonly value: string | number }[],
  network: ChainNetwork
): readonly FormOutput[] {
  return outputs.map(({ address, value }) => ({ amount: BigInt(value), script: paidScript(address, network) }));
}

/**
 * Returns the outputs that a request pays. Beside a COINPAY, those to one address are in the order of their amounts, in the places
 * of that address: a ledger takes the first one that suffices, and would pay a small match with the output for a large one.
 *
 * @throws {PlatformError} REQUEST_INVALID
 */
export function readPayments(
  { data = '', customOutputs = [] }: Pick<CreateRequest, 'data' | 'customOutputs'>,
  network: ChainNetwork
): readonly FormOutput[] {
  const outputs = readOutputs(customOutputs, network);
  return commandsIn(data).some(({ name }) => name === 'COINPAY') ? ascending(outputs) : outputs;
}

function ascending(outputs: readonly FormOutput[]): readonly FormOutput[] {
  const scriptOf = ({ script }: FormOutput) => Buffer.from(script).toString('hex');
  const sorted = new Map(
    [...Map.groupBy(outputs, scriptOf)].map(([script, own]) => [
      script,
      own.toSorted((a, b) => Number(a.amount - b.amount)).values()
    ])
  );
  return outputs.map((output) => sorted.get(scriptOf(output))!.next().value!);
}

/** Returns the coins that a request names. @throws {PlatformError} REQUEST_INVALID when it names one twice */
export function readPlaces({ utxos = [] }: CreateRequest): readonly Outpoint[] {
  const places = utxos.map(({ txid, vout }) => ({ txid: txid.toLowerCase(), vout }));
  const keys = places.map(keyOf);
  const twice = keys.find((key, position) => keys.indexOf(key) < position);
  if (twice !== undefined) throw invalid(`utxos names ${twice} twice`);
  return places;
}

/** Limits of a fee. */
interface FeeBounds {
  /** Satoshis per 1000 virtual bytes. */
  readonly mostRate: bigint;
  /** Satoshis below which an output costs so many more. */
  readonly softDust: number;
}

/**
 * Returns the fee rule of a request, by default the medium rate. @throws {PlatformError} REQUEST_INVALID; NODE_REFUSED for that
 * default while the node's estimate cannot be read
 */
export function readFee(
  { fee, feePerKb }: Pick<CreateRequest, 'fee' | 'feePerKb'>,
  { rates, leastRate, estimateFault }: Pick<NodePolicy, 'rates' | 'leastRate' | 'estimateFault'>,
  { mostRate, softDust }: FeeBounds
): FeeRule {
  if (feePerKb !== undefined && wholeRate(feePerKb) === 0n) throw invalid('feePerKb must be more than 0');
  if (fee !== undefined && feePerKb !== undefined) throw invalid('fee and feePerKb exclude each other');
  const check = (rate: bigint, subject: string) => {
    if (rate < leastRate)
      throw invalid(
        `${subject} is below ${leastRate} satoshis per 1000 bytes, the least that the node relays and miners take`
      );
    if (rate > mostRate) throw invalid(`${subject} is above ${mostRate} satoshis per 1000 bytes, ENCODER_MAX_FEE_RATE`);
  };
  if (fee !== undefined) {
    const whole = BigInt(fee);
    const rule = (form: TransactionForm): bigint => {
      const virtualBytes = virtualSize(form);
      const subject = `a fee of ${whole} satoshis for ${virtualBytes} bytes`;
      const forSize = whole - dustFee(form.outputs, { softDust });
      check((forSize * 1000n) / BigInt(longestVirtualSize(form)), subject);
      check((forSize * 1000n) / BigInt(virtualBytes), subject);
      return whole;
    };
    return Object.assign(rule, { whole });
  }
  if (feePerKb === undefined && estimateFault) throw estimateFault;
  const rate = feePerKb === undefined ? rates.medium : greater(wholeRate(feePerKb), leastRate);
  check(rate, `feePerKb ${rate}`);
  // The node's least rate must hold with the longest signatures.
  return (form) => {
    const forSize = greater(feeOf(rate, virtualSize(form)), feeOf(leastRate, longestVirtualSize(form)));
    return forSize + dustFee(form.outputs, { softDust });
  };
}

/**
 * Returns the limit for a transaction without change. It may pay up to `mostRate`; and when the request names a total
 * `fee`, less than `usualDust` more.
 *
 * @param usualDust the least change when a request names no `dust`, in satoshis
 */
export function readFeeLimit(
  { fee }: Pick<CreateRequest, 'fee'>,
  { mostRate, softDust, usualDust }: FeeBounds & { readonly usualDust: bigint }
): FeeLimit {
  return (form, paid) => {
    const virtualBytes = virtualSize(form);
    const subject = `no output holds what is left over, and a fee of ${paid} satoshis for ${virtualBytes} bytes`;
    const remedy = 'spend other coins, or lower dust';
    if (paid > feeOf(mostRate, virtualBytes) + dustFee(form.outputs, { softDust }))
      throw invalid(`${subject} is above ${mostRate} satoshis per 1000 bytes, ENCODER_MAX_FEE_RATE: ${remedy}`);
    if (fee !== undefined && paid - BigInt(fee) >= usualDust)
      throw invalid(`${subject} is ${paid - BigInt(fee)} more than the fee that was asked for: ${remedy}`);
  };
}

/** Returns the rule for the least fee that the node relays, with the longest signatures. */
export function leastFee(
  { leastRate }: Pick<NodePolicy, 'leastRate'>,
  { softDust }: Pick<FeeBounds, 'softDust'>
): FeeRule {
  return (form) => feeOf(leastRate, longestVirtualSize(form)) + dustFee(form.outputs, { softDust });
}

/** Returns whether a request names a rate below the node's least, which is then paid instead. */
export function raisesRate(
  { feePerKb }: Pick<CreateRequest, 'feePerKb'>,
  { leastRate }: Pick<NodePolicy, 'leastRate'>
) {
  return feePerKb !== undefined && wholeRate(feePerKb) < leastRate;
}

/** Rounds a rate up to whole satoshis. */
function wholeRate(rate: number | string): bigint {
  const [whole = '', fraction = ''] = (typeof rate === 'number' ? rate.toFixed(16) : rate).split('.');
  return BigInt(whole) + (/[1-9]/.test(fraction) ? 1n : 0n);
}

const feeOf = (rate: bigint, virtualBytes: number) => (rate * BigInt(virtualBytes) + 999n) / 1000n;
const greater = (a: bigint, b: bigint) => (a > b ? a : b);
const invalid = (reason: string) => new PlatformError('REQUEST_INVALID', { reason });
