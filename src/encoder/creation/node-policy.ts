import Type from 'typebox';
import type { ChainNetwork } from '../../coin/chains.ts';
import { isUnknownCall } from '../../coin/node/coin-lookup.ts';
import { malformed, readNodeAmount, readNodeHeight } from '../../coin/node/node-answer.ts';
import type { NodeRpc } from '../../coin/node/node-rpc.ts';
import { hasCode, PlatformError } from '../../errors.ts';
import { shapeOf } from '../../wire/data/shape.ts';

/** Blocks within which a transaction should confirm, by urgency. */
export const FEE_TARGETS = { low: 6, medium: 3, high: 1 } as const;
/** A name of `FEE_TARGETS`. */
type FeeTier = keyof typeof FEE_TARGETS;

/** Relay limits and fee rates of a coin node. Rates are in satoshis per 1000 virtual bytes. */
export interface NodePolicy {
  readonly height: number;
  readonly rates: Readonly<Record<FeeTier, bigint>>;
  /** The rate below which the node relays nothing, or miners mine nothing. */
  readonly leastRate: bigint;
  /** Least rate that a replacement must add to the fee of what it replaces. */
  readonly raiseRate: bigint;
  /** `estimate` for the node's own estimate, else `relay fee`. */
  readonly source: 'estimate' | 'relay fee';
  /**
   * Reason why an estimate could not be read; absent where the node gave or has none. The rates are then only the least, and good for
   * nobody who named no rate: the transaction would be left waiting.
   */
  readonly estimateFault?: PlatformError | undefined;
  /** Most bytes of an OP_RETURN script; 0 when the node relays none. */
  readonly dataCarrierBytes: number;
  readonly permitsBareMultisig: boolean;
}

const AMOUNT = Type.Union([Type.String({ maxLength: 40 }), Type.Number()]);
const MempoolSchema = Type.Object({
  mempoolminfee: AMOUNT,
  minrelaytxfee: Type.Optional(AMOUNT),
  maxdatacarriersize: Type.Optional(Type.Union([Type.Integer({ minimum: 0 }), Type.String({ pattern: '^\\d{1,9}$' })])),
  permitbaremultisig: Type.Optional(Type.Boolean())
});
const NetworkSchema = Type.Object({ relayfee: AMOUNT, incrementalfee: Type.Optional(AMOUNT) });
const EstimateSchema = Type.Object({ feerate: Type.Optional(AMOUNT) });
const mempoolValidator = shapeOf(MempoolSchema);
const networkValidator = shapeOf(NetworkSchema);
const estimateValidator = shapeOf(EstimateSchema);

/** Most bytes of an OP_RETURN script for nodes that do not tell it. */
const USUAL_CARRIER_BYTES = 83;
/** Age at which the policy is read again. */
const MAX_AGE_MS = 5_000;
/** Least mined rate where the network has none of its own, in satoshis per 1000 virtual bytes. */
const LEAST_RATE = 1_000;

/** Returns whether a node refused because it makes no estimates: it does not know the call, or its estimator is off. */
const makesNoEstimates = (refusal: PlatformError): boolean =>
  isUnknownCall(refusal) || /fee estimation (?:is )?(?:disabled|not available)/i.test(String(refusal.detail['reason']));

/** Reads the policy of one node. Callers within 5 s share one reading. */
export class NodePolicyReader {
  readonly #rpc: Pick<NodeRpc, 'call'>;
  readonly #leastMinedRate: number;
  readonly #mostRate: bigint;
  #last: { readonly at: number; readonly policy: Promise<NodePolicy> } | undefined;

  /**
   * @param network its `leastMinedRate` is in satoshis per 1000 virtual bytes
   * @param mostRate in the same unit: an estimate above it is ignored
   */
  constructor(rpc: Pick<NodeRpc, 'call'>, { leastMinedRate }: Pick<ChainNetwork, 'leastMinedRate'>, mostRate: bigint) {
    this.#rpc = rpc;
    this.#leastMinedRate = leastMinedRate;
    this.#mostRate = mostRate;
  }

  /** Returns the policy, at most 5 s old. @throws {PlatformError} NODE_UNREACHABLE, NODE_REFUSED */
  async read(): Promise<NodePolicy> {
    if (!this.#last || performance.now() - this.#last.at > MAX_AGE_MS) {
      const policy = this.#ask();
      const asked = { at: performance.now(), policy };
      this.#last = asked;
      policy.catch(() => {
        if (this.#last === asked) this.#last = undefined; // the next caller asks again
      });
    }
    return await this.#last.policy;
  }

  async #ask(): Promise<NodePolicy> {
    const [height, mempool, network, ...estimates] = await Promise.all([
      this.#rpc.call('getblockcount'),
      this.#rpc.call('getmempoolinfo'),
      this.#rpc.call('getnetworkinfo'),
      ...Object.values(FEE_TARGETS).map((blocks) => this.#estimate(blocks))
    ]);
    const rates = estimates.map((estimate) => (estimate instanceof PlatformError ? null : estimate));
    return {
      height: readNodeHeight(height, 'getblockcount'),
      ...policyOf({ mempool, network }, rates, this.#leastMinedRate),
      estimateFault: estimates.find((estimate) => estimate instanceof PlatformError)
    };
  }

  /** Returns the node's estimate; null when it has no plausible one, or makes none; an error where it could not be read. */
  async #estimate(blocks: number): Promise<bigint | null | PlatformError> {
    try {
      const answer = await this.#rpc.call('estimatesmartfee', [blocks]);
      if (!estimateValidator.Check(answer)) throw malformed('estimatesmartfee');
      const { feerate } = answer;
      if (feerate === undefined || Number(feerate) <= 0) return null;
      const rate = readNodeAmount(feerate, 'estimatesmartfee');
      return rate > this.#mostRate ? null : rate;
    } catch (caught) {
      if (!hasCode(caught, 'NODE_REFUSED')) throw caught;
      return makesNoEstimates(caught) ? null : caught;
    }
  }
}

/**
 * Derives the policy from a node's answers.
 *
 * @param mempool the answer of `getmempoolinfo`
 * @param network the answer of `getnetworkinfo`
 * @param estimates from low to high; null where the node has none
 * @param leastMinedRate satoshis per 1000 virtual bytes, below which miners mine nothing
 * @throws {PlatformError} NODE_REFUSED when an answer is malformed
 */
export function policyOf(
  { mempool, network }: { readonly mempool: unknown; readonly network: unknown },
  [low = null, medium = null, high = null]: readonly (bigint | null)[],
  leastMinedRate = LEAST_RATE
): Omit<NodePolicy, 'height'> {
  if (!mempoolValidator.Check(mempool)) {
    if (Object(mempool).mempoolminfee == null)
      throw new PlatformError('NODE_REFUSED', {
        reason: 'getmempoolinfo has no mempoolminfee: use a node that reports its least fee'
      });
    throw malformed('getmempoolinfo');
  }
  if (!networkValidator.Check(network)) throw malformed('getnetworkinfo');
  const { mempoolminfee, minrelaytxfee = 0, maxdatacarriersize, permitbaremultisig = true } = mempool;
  // Older nodes report their relay rate in getnetworkinfo only.
  const leastRate = greatest(
    BigInt(leastMinedRate),
    readNodeAmount(mempoolminfee, 'getmempoolinfo'),
    readNodeAmount(minrelaytxfee, 'getmempoolinfo'),
    readNodeAmount(network.relayfee, 'getnetworkinfo')
  );
  const slow = greatest(leastRate, low ?? 0n);
  const usual = greatest(slow, medium ?? 0n);
  const { incrementalfee = 0 } = network;
  return {
    leastRate,
    raiseRate: greatest(leastRate, readNodeAmount(incrementalfee, 'getnetworkinfo')),
    rates: { low: slow, medium: usual, high: greatest(usual, high ?? 0n) },
    source: medium === null ? 'relay fee' : 'estimate',
    dataCarrierBytes: Number(maxdatacarriersize ?? USUAL_CARRIER_BYTES),
    permitsBareMultisig: permitbaremultisig
  };
}

const greatest = (...values: readonly bigint[]) => values.reduce((most, value) => (value > most ? value : most));
