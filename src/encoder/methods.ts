import { setTimeout as sleep } from 'node:timers/promises';
import Type, { type Static } from 'typebox';
import { toDecimal } from '../coin/amount.ts';
import { hasPeers } from '../coin/node/node-peers.ts';
import type { NodeRpc } from '../coin/node/node-rpc.ts';
import type { NodeWatch } from '../coin/node/node-watch.ts';
import { addressScript } from '../coin/script/address-script.ts';
import { type ErrorCode, PlatformError } from '../errors.ts';
import { type RpcCaller, type RpcMethod, rpcMethod } from '../service/rpc/method.ts';
import { OrNull } from '../wire/or-null.ts';
import { AlarmSchema, toldAlarm } from '../wire/state/alarm.ts';
import { AnsweredRequests } from './answered-requests.ts';
import { broadcast } from './broadcast.ts';
import type { ChainCoin } from './coins/coins.ts';
import { type Bumped, BumpParams, bumpTransaction } from './creation/bump-transaction.ts';
import { CancelledSchema, CancelParams, cancelEnvelope } from './creation/cancel-envelope.ts';
import { LACKS_MEMPOOL } from './creation/compose-with-coins.ts';
import { type Created, createTransaction, type EncoderDeps } from './creation/create-transaction.ts';
import { FEE_TARGETS, type NodePolicy } from './creation/node-policy.ts';
import { CreateParams, REQUEST_ID, TRANSACTION_HEX, TXID } from './creation/request.ts';
import { warn } from './creation/warnings.ts';
import { operationalData } from './operational.ts';
import { PATIENCE_MS } from './tracker/tracker-coins.ts';
import { TRACKER_ERRORS } from './tracker/tracker-fault.ts';
import { type TrackerHealth, TrackerHealthSchema } from './tracker/tracker-health.ts';
import { ENCODINGS } from './transaction/encodings.ts';

/** Parts of the methods. */
export interface EncoderMethodDeps extends EncoderDeps {
  readonly rpc: Pick<NodeRpc, 'call' | 'batch'>;
  readonly version: string;
  /** Whether callers need a key. Without one, each client address holds its own reservations. */
  readonly isKeyed: boolean;
  /** Last known state of node and tracker. */
  readonly seen: EncoderSight;
}

/** Last known state of node and tracker, so that probes do not wait for either. */
interface EncoderSight {
  readonly node: Pick<NodeWatch, 'tip' | 'ageMs' | 'alarm' | 'isFit'>;
  /** Undefined without a tracker, or before its first answer. */
  readonly tracker: () => TrackerHealth | undefined;
}

const RateSchema = Type.Integer({ minimum: 1 });
const QuoteSchema = Type.Object({
  low: RateSchema,
  medium: RateSchema,
  high: RateSchema,
  unit: Type.Literal('sat/vB'),
  targets: Type.Object({ low: Type.Integer(), medium: Type.Integer(), high: Type.Integer() }),
  source: Type.String()
});
const UtxoSchema = Type.Object({
  txid: TXID,
  fullTxid: Type.String({ description: 'equal to txid' }),
  vout: Type.Integer(),
  value: Type.String({ description: 'satoshis' }),
  amount: Type.String({ description: 'coins, 8 decimal places' }),
  scriptPubKey: Type.String(),
  confirmations: Type.Integer(),
  height: OrNull(Type.Integer(), { description: 'null: in no block yet' })
});
const OutpointSchema = Type.Object({ txid: TXID, vout: Type.Integer() });
const WarningSchema = Type.Object({ code: Type.String(), message: Type.String() });
const CreatedSchema = Type.Object({
  psbt: Type.String({ description: 'hex of a PSBT, version 0' }),
  encoding: Type.Union(ENCODINGS.map((encoding) => Type.Literal(encoding))),
  txid: OrNull(TXID, { description: 'null where signatures change it' }),
  fee: Type.String({ description: 'satoshis' }),
  total: Type.String({
    description: 'satoshis of all inputs without the change, also that of a second transaction: fees, data, payments'
  }),
  vsize: Type.Integer({ description: 'virtual bytes when it is signed' }),
  inputs: Type.Array(OutpointSchema),
  revealPsbt: Type.Optional(Type.String({ description: 'the second transaction; broadcast it after the first' })),
  revealFee: Type.Optional(Type.String()),
  carrierScripts: Type.Optional(
    Type.Array(Type.String(), { description: 'redeem scripts, witness scripts, or the leaf, by output' })
  ),
  envelope: Type.Optional(
    Type.Object(
      {
        commitVout: Type.Integer(),
        commitValue: Type.String({ description: 'satoshis' }),
        internalPubkey: Type.String(),
        tapleafHash: Type.String()
      },
      { description: 'for create_envelope_cancel_tx' }
    )
  ),
  compression: Type.Optional(
    Type.Object(
      {
        compressed: Type.Boolean(),
        rawLength: Type.Integer({ description: 'bytes of rawData' }),
        storedLength: Type.Integer({ description: 'bytes that the transaction carries' }),
        reason: OrNull(Type.String(), { description: 'why they are stored as they are' }),
        stored: Type.Optional(
          Type.Object(
            { data: Type.String(), rawData: Type.String({ description: 'bytes, one character each (latin-1)' }) },
            { description: 'where they are deflated: send both in place of yours for the second transaction' }
          )
        )
      },
      { description: 'where rawData stands beside the action' }
    )
  ),
  warnings: Type.Optional(Type.Array(WarningSchema))
});
/** The result of `health`. */
export const EncoderHealthSchema = Type.Object({
  status: Type.Union([Type.Literal('healthy'), Type.Literal('degraded')]),
  node_reachable: Type.Boolean(),
  node_height: OrNull(Type.Integer()),
  node_age_s: OrNull(Type.Integer(), { description: 'since the node was last found usable' }),
  coin_source: Type.Union([Type.Literal('node'), Type.Literal('tracker')]),
  reserved_coins: Type.Integer(),
  ...Type.Partial(TrackerHealthSchema).properties,
  alarm: Type.Optional(AlarmSchema)
});
type EncoderHealth = Static<typeof EncoderHealthSchema>;

/** Most coins in one answer: the node is asked about each. */
const MOST_LISTED = 1_000;

/** Longest wait for the number of a node's peers, after a transaction was sent. */
const PEERS_LIMIT_MS = 2_000;

/** Most kept answers of requests with an id. */
const MOST_ANSWERS = { count: 10_000, bytes: 64 * 2 ** 20 };
/** Most kept answers of one caller without a key. */
const MOST_OPEN_ANSWERS = { count: 200, bytes: 8 * 2 ** 20 };

/** Pause between two readings of an address whose coins may not be whole. */
const ASK_AGAIN_MS = 250;
const NODE_ERRORS: readonly ErrorCode[] = [
  'NODE_UNREACHABLE',
  'NODE_REFUSED',
  'NODE_BEHIND',
  'ANSWERS_WAITING',
  ...TRACKER_ERRORS
];
const ChangeSchema = Type.Object({ vout: Type.Integer(), amount: Type.String({ description: 'satoshis' }) });
const BumpedSchema = Type.Object({
  psbt: Type.String({ description: 'hex of a PSBT, version 0' }),
  txid: OrNull(TXID, { description: 'null where signatures change it' }),
  fee: Type.String({ description: 'satoshis' }),
  vsize: Type.Integer({ description: 'virtual bytes when it is signed' }),
  inputs: Type.Array(OutpointSchema),
  replaces: TXID,
  replacedFee: Type.String({ description: 'satoshis' }),
  change: OrNull(ChangeSchema, { description: 'its output that takes what is left over; null: none' }),
  replacedChange: OrNull(ChangeSchema, {
    description: 'the output of the replaced transaction that was taken for change; null: none, all outputs are kept'
  }),
  warnings: Type.Optional(Type.Array(WarningSchema))
});

const CREATE_ERRORS: readonly ErrorCode[] = [
  ...NODE_ERRORS,
  'ENCODING_UNAVAILABLE',
  'COINS_INSUFFICIENT',
  'COIN_UNUSABLE',
  'RESERVATIONS_FULL',
  'SELF_CHECK_FAILED'
];

/**
 * Returns the methods of an encoder. Once a key is set, those that cost the node something need it. @see the
 * specification's section on the encoder
 */
export function encoderMethods(deps: EncoderMethodDeps): Readonly<Record<string, RpcMethod>> {
  const answered = new AnsweredRequests<Created | Bumped>({
    ttlMs: deps.reservations.ttlMs,
    mostOfOne: deps.isKeyed ? MOST_ANSWERS : MOST_OPEN_ANSWERS,
    most: MOST_ANSWERS,
    sizeOf: (answer) => JSON.stringify(answer).length
  });
  const holderOf = ({ address }: RpcCaller) => (deps.isKeyed ? 'key' : address);
  const askedBy = (caller: RpcCaller) => ({ ...deps, coins: deps.coins.askedBy(caller) });
  const once = async <T extends Created | Bumped>(
    method: string,
    request: { readonly request_id?: string },
    caller: RpcCaller,
    build: (deps: EncoderDeps, holder: string) => Promise<T>
  ): Promise<T> => {
    const holder = holderOf(caller);
    const make = async () => {
      refuseUnfit(deps.seen);
      return await build(askedBy(caller), holder);
    };
    if (request.request_id === undefined) return await make();
    return (await answered.once(holder, request.request_id, { method, request }, make, caller.aside)) as T;
  };
  return {
    ping: rpcMethod({
      isProbe: true,
      summary: 'Whether the service answers',
      result: Type.Object({ status: Type.Literal('success'), version: Type.String() }),
      write: false,
      run: () => ({ status: 'success' as const, version: deps.version })
    }),
    health: rpcMethod({
      isProbe: true,
      summary: 'Whether it can build transactions now',
      result: EncoderHealthSchema,
      write: false,
      run: () => healthOf(deps)
    }),
    estimate_fee: rpcMethod({
      summary: 'Fee rates for a transaction to confirm within some blocks',
      result: QuoteSchema,
      write: false,
      errors: NODE_ERRORS,
      run: async () => {
        refuseSilent(deps.seen);
        return quoteOf(await deps.policy.read());
      }
    }),
    create_tx: rpcMethod({
      summary: 'Builds the unsigned PSBT of an action, and reserves the coins that it chose itself',
      params: CreateParams,
      result: CreatedSchema,
      write: true,
      errors: CREATE_ERRORS,
      operational: operationalData,
      run: (request, caller) =>
        once('create_tx', request, caller, (asked, holder) => createTransaction(request, asked, holder)) as Promise<
          Static<typeof CreatedSchema>
        >
    }),
    bump_tx: rpcMethod({
      summary:
        'Builds the PSBT that replaces an unconfirmed transaction for a higher fee, with its inputs, data and payments as they are',
      params: BumpParams,
      result: BumpedSchema,
      write: true,
      errors: [...NODE_ERRORS, 'COINS_INSUFFICIENT', 'COIN_UNUSABLE', 'RESERVATIONS_FULL', 'SELF_CHECK_FAILED'],
      operational: operationalData,
      run: (request, caller) =>
        once('bump_tx', request, caller, (asked, holder) => bumpTransaction(request, asked, holder)) as Promise<
          Static<typeof BumpedSchema>
        >
    }),
    release_tx: rpcMethod({
      summary: 'Frees the coins of an answer that will not be used, and forgets its request_id',
      params: Type.Object({ request_id: REQUEST_ID }),
      result: Type.Object({ released: Type.Integer({ description: 'coins; 0 when there is no such answer' }) }),
      write: true,
      run: async ({ request_id }, caller) => {
        const holder = holderOf(caller);
        const created = await answered.forget(holder, request_id, caller.aside);
        return { released: created ? deps.reservations.releaseOf(request_id, created.inputs, holder) : 0 };
      }
    }),
    create_envelope_cancel_tx: rpcMethod({
      summary: 'Builds the PSBT that takes back the coins of an envelope which is not revealed yet',
      params: CancelParams,
      result: CancelledSchema,
      write: true,
      errors: [...NODE_ERRORS, 'COIN_UNUSABLE'],
      run: (request, caller) => {
        refuseSilent(deps.seen);
        return cancelEnvelope(request, askedBy(caller));
      }
    }),
    broadcast_tx: rpcMethod({
      summary: 'Hands a signed transaction to the network',
      params: Type.Object({ tx_hex: TRANSACTION_HEX }),
      result: Type.Object({ txid: TXID, warnings: Type.Optional(Type.Array(WarningSchema)) }),
      write: true,
      errors: [...NODE_ERRORS, 'TRANSACTION_REJECTED', 'BROADCAST_UNKNOWN'],
      run: async ({ tx_hex }) => {
        refuseSilent(deps.seen);
        return { txid: await broadcast(tx_hex, deps.rpc), ...(await warnAlone(deps)) };
      }
    }),
    get_utxos: rpcMethod({
      summary: `The coins of an address that can be spent now, those of blocks first, the largest first; at most ${MOST_LISTED}`,
      params: Type.Object({
        address: Type.String({ minLength: 1, maxLength: 130 }),
        unconfirmed: Type.Optional(
          Type.Boolean({ description: 'whether coins that no block has yet are listed; true when absent' })
        )
      }),
      result: Type.Array(UtxoSchema),
      write: false,
      needsKey: true,
      errors: [...NODE_ERRORS, 'COINS_INSUFFICIENT'],
      run: ({ address, unconfirmed = true }, caller) => {
        refuseUnfit(deps.seen);
        return listUtxos(address, unconfirmed, askedBy(caller), caller);
      }
    })
  };
}

/** Returns the warning beside a transaction that was handed to a node without peers. It is sent, whatever fails here. */
async function warnAlone({ rpc, network }: EncoderMethodDeps) {
  const isAlone = await hasPeers(rpc, network, AbortSignal.timeout(PEERS_LIMIT_MS)).then(
    (has) => !has,
    () => false
  );
  return warn(isAlone ? ['NO_PEERS'] : []);
}

/**
 * Refuses a call at once while the node is known not to answer: calls that wait for it would take the turns of all others.
 *
 * @throws {PlatformError} NODE_UNREACHABLE
 */
function refuseSilent({ node: { alarm } }: EncoderSight): void {
  if (alarm?.code === 'NODE_UNREACHABLE') throw new PlatformError('NODE_UNREACHABLE', { reason: alarm.reason });
}

/**
 * Refuses a call that looks for coins, also before the node was looked at, and while it lacks blocks or waiting transactions: a
 * coin that they spend would look free, and one that they pay would be missing.
 *
 * @throws {PlatformError} NODE_UNREACHABLE, NODE_BEHIND
 */
function refuseUnfit(seen: EncoderSight): void {
  refuseSilent(seen);
  const { tip, alarm } = seen.node;
  if (alarm?.code === 'NODE_BEHIND') throw new PlatformError('NODE_BEHIND', { reason: alarm.reason });
  if (tip === null && alarm === null)
    throw new PlatformError('NODE_UNREACHABLE', { reason: 'the coin node has not been looked at yet' });
}

/** Returns the result of `health`, from memory. */
export function healthOf({
  seen: { node, tracker },
  reservations,
  coins
}: Pick<EncoderMethodDeps, 'seen' | 'reservations' | 'coins'>): EncoderHealth {
  const { tip, ageMs, alarm } = node;
  const trackerHealth = tracker();
  const isWell = node.isFit && (!coins.tracker || trackerHealth?.tracker_synced === true);
  return {
    status: isWell ? 'healthy' : 'degraded',
    node_reachable: tip !== null && alarm?.code !== 'NODE_UNREACHABLE',
    node_height: tip?.height ?? null,
    node_age_s: ageMs === null ? null : Math.floor(ageMs / 1000),
    coin_source: coins.tracker ? 'tracker' : 'node',
    reserved_coins: reservations.count,
    ...trackerHealth,
    ...toldAlarm(alarm, performance.now())
  };
}

/** @throws {PlatformError} NODE_REFUSED while the node's estimate cannot be read */
function quoteOf({ rates, source, estimateFault }: NodePolicy): Static<typeof QuoteSchema> {
  if (estimateFault) throw estimateFault;
  const [low, medium, high] = [rates.low, rates.medium, rates.high].map((rate) => Math.ceil(Number(rate) / 1000));
  return { low: low!, medium: medium!, high: high!, unit: 'sat/vB', targets: FEE_TARGETS, source };
}

/**
 * Returns the coins of a script. While the tracker reads the mempool anew, which it does after each block, it waits for up to 3 s.
 *
 * @throws {PlatformError} TRACKER_NOT_READY where coins that wait are asked for and may be missing after that; the errors of
 *   `NodeCoins.read`
 */
async function readWhole(
  script: Buffer,
  unconfirmed: boolean,
  coins: EncoderDeps['coins'],
  caller: RpcCaller
): Promise<readonly ChainCoin[]> {
  for (const end = performance.now() + PATIENCE_MS; ; await caller.aside(() => sleep(ASK_AGAIN_MS))) {
    const found = await coins.read(script);
    if (!found.lacksMempool || !unconfirmed) return found.coins;
    if (performance.now() >= end) throw new PlatformError('TRACKER_NOT_READY', { reason: LACKS_MEMPOOL });
  }
}

async function listUtxos(
  address: string,
  unconfirmed: boolean,
  { network, coins }: EncoderDeps,
  caller: RpcCaller
): Promise<Static<typeof UtxoSchema>[]> {
  const script = addressScript(address, network);
  const found = await readWhole(script, unconfirmed, coins, caller);
  const largest = found.filter(({ height }) => unconfirmed || height !== null).slice(0, MOST_LISTED);
  // A list may be older than the blocks that were taken back since: the node tells whether a block has the coin.
  const spendable = (await coins.spendable(largest)).filter(({ confirmations }) => unconfirmed || confirmations > 0);
  return spendable.map(({ txid, vout, amount, confirmations, height }) => ({
    txid,
    fullTxid: txid,
    vout,
    value: String(amount),
    amount: toDecimal(amount),
    scriptPubKey: script.toString('hex'),
    confirmations,
    height: confirmations === 0 ? null : height
  }));
}
