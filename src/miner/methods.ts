import Type, { type Static } from 'typebox';
import { toBaseUnits } from '../coin/amount.ts';
import type { ChainNetwork } from '../coin/chains.ts';
import { paidScript } from '../coin/script/address-script.ts';
import { type ErrorCode, PlatformError } from '../errors.ts';
import { RpcAnswer, type RpcMethod, rpcMethod } from '../service/rpc/method.ts';
import { OrNull } from '../wire/or-null.ts';
import { DEFAULT_TIMES, type Miner } from './miner.ts';
import type { MinerWallet } from './wallet.ts';

/** Parts of the methods. */
export interface MinerMethodDeps {
  readonly miner: Miner;
  readonly wallet: MinerWallet;
  readonly network: ChainNetwork;
}

const HASH = Type.String({ pattern: '^[0-9a-f]{64}$' });
const WAIT = Type.Integer({ minimum: 1_000, maximum: 3_600_000, description: 'milliseconds' });
const IDLE = Type.Union([Type.Literal(0), WAIT], { description: 'milliseconds; 0: never' });
const OK = Type.Literal('ok');
const AMOUNT = Type.Union([Type.String({ pattern: '^\\d{1,10}(\\.\\d{1,8})?$' }), Type.Number({ minimum: 0 })], {
  description: 'coins, as a text or a number'
});

const STATUS = {
  wallet_ready: Type.Boolean(),
  mempool_size: Type.Integer(),
  blocks_mined: Type.Integer({ description: 'since the start' }),
  last_mine_at: OrNull(Type.String(), { description: 'ISO 8601' }),
  consecutive_errors: Type.Integer(),
  mining_paused: Type.Boolean(),
  idle_mine_interval_ms: Type.Integer()
};
const StatusSchema = Type.Object(STATUS);
/** The result of `health`. */
export const MinerHealthSchema = Type.Object({
  status: Type.Union([Type.Literal('healthy'), Type.Literal('stalled')]),
  reason: OrNull(Type.String()),
  ...STATUS
});

/** Consecutive failures from which the miner counts as stalled. */
const STALLED_ERRORS = 5;
const NODE_ERRORS: readonly ErrorCode[] = ['NODE_UNREACHABLE', 'NODE_REFUSED'];
const NO_PARAMS = Type.Object({});

/** Returns the methods of a miner. Once a key is set, all but `ping`, `status` and `health` need it. */
export function minerMethods(deps: MinerMethodDeps): Readonly<Record<string, RpcMethod>> {
  return { ...stateMethods(deps), ...coinMethods(deps), ...timeMethods(deps), ...chainMethods(deps) };
}

function stateMethods({ miner }: MinerMethodDeps): Readonly<Record<string, RpcMethod>> {
  return {
    ping: rpcMethod({
      isProbe: true,
      summary: 'Whether the service answers, and whether its wallet has coins',
      result: Type.Object({ status: Type.Literal('success'), ready: Type.Boolean() }),
      write: false,
      run: () => ({ status: 'success' as const, ready: miner.state.isReady })
    }),
    status: rpcMethod({
      summary: 'State of the miner',
      result: StatusSchema,
      write: false,
      run: () => statusOf(miner)
    }),
    health: rpcMethod({
      isProbe: true,
      summary: 'Whether it mines; status 503 while it cannot',
      result: MinerHealthSchema,
      write: false,
      run: () => {
        const health = minerHealth(miner);
        return new RpcAnswer(health.status === 'healthy' ? 200 : 503, health);
      }
    })
  };
}

function coinMethods({ miner, wallet, network }: MinerMethodDeps): Readonly<Record<string, RpcMethod>> {
  return {
    send_funds: rpcMethod({
      summary: 'Pays coins to an address',
      params: Type.Object({ address: Type.String({ minLength: 1, maxLength: 130 }), amount: AMOUNT }),
      result: HASH,
      write: true,
      audited: ({ address, amount }) => `${amount} to ${address}`,
      errors: [...NODE_ERRORS, 'COINS_INSUFFICIENT'],
      run: async ({ address, amount }) => {
        miner.refuseUnverified();
        paidScript(address, network);
        return await wallet.pay(address, readAmount(amount));
      }
    }),
    generate_blocks: rpcMethod({
      summary: 'Mines blocks now, also while mining is paused',
      params: Type.Object({
        count: Type.Integer({ minimum: 1, maximum: 10_000 }),
        address: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 130,
            description: 'address that gets the rewards; by default one of the wallet'
          })
        )
      }),
      result: Type.Object({ count: Type.Integer(), hashes: Type.Array(HASH) }),
      write: true,
      errors: NODE_ERRORS,
      run: async ({ count, address }) => {
        miner.refuseUnverified();
        if (address !== undefined) paidScript(address, network);
        const hashes = await wallet.mine(count, undefined, address);
        miner.noteMined(hashes.length);
        return { count: hashes.length, hashes: [...hashes] };
      }
    }),
    fill_mempool: rpcMethod({
      summary: 'Sends small payments into the mempool; mines a block for each thousand first, which makes their coins',
      params: Type.Object({ tx_quantity: Type.Integer({ minimum: 1, maximum: 50_000 }) }),
      result: Type.Object({ count: Type.Integer() }),
      write: true,
      errors: [...NODE_ERRORS, 'COINS_INSUFFICIENT'],
      run: async ({ tx_quantity }) => {
        miner.refuseUnverified();
        miner.noteMined(await wallet.fill(tx_quantity));
        return { count: tx_quantity };
      }
    })
  };
}

function timeMethods({ miner }: MinerMethodDeps): Readonly<Record<string, RpcMethod>> {
  const setting = <P extends Parameters<typeof rpcMethod>[0]['params']>(
    summary: string,
    params: NonNullable<P>,
    change: (given: never) => Parameters<Miner['set']>[0]
  ): RpcMethod => ({
    summary,
    params,
    result: OK,
    write: true,
    run: (given) => {
      miner.set(change(given as never));
      return 'ok';
    }
  });
  return {
    pause_mining: setting('Mines no block by itself', NO_PARAMS, () => ({ isPaused: true })),
    continue_mining: setting('Mines by itself again', NO_PARAMS, () => ({ isPaused: false })),
    set_mining_time: setting(
      'Sets how long the first payment waits for its block, and how much each further one adds; an hour at most',
      Type.Object({ max_time: WAIT, tx_added_time: WAIT }),
      ({ max_time, tx_added_time }: { max_time: number; tx_added_time: number }) => ({
        times: { firstMs: max_time, addedMs: tx_added_time }
      })
    ),
    set_default_mining_time: setting(
      'Sets the waiting time to 30 s, and 5 s for each further payment',
      NO_PARAMS,
      () => ({
        times: DEFAULT_TIMES
      })
    ),
    set_idle_mine_interval: setting(
      'Sets the time after which a block is mined without a payment',
      Type.Object({ interval_ms: IDLE }),
      ({ interval_ms }: { interval_ms: number }) => ({ times: { idleMs: interval_ms } })
    )
  };
}

function chainMethods({ miner, wallet, network }: MinerMethodDeps): Readonly<Record<string, RpcMethod>> {
  return {
    set_mock_time: rpcMethod({
      summary: "Stops the node's clock; 0 lets it run again",
      params: Type.Object({
        timestamp: Type.Integer({ minimum: 0, maximum: 2 ** 32 - 1, description: 'seconds since 1970' })
      }),
      result: OK,
      write: true,
      audited: ({ timestamp }) => String(timestamp),
      errors: NODE_ERRORS,
      run: async ({ timestamp }) => {
        miner.refuseUnverified();
        await wallet.mockTime(timestamp);
        return 'ok' as const;
      }
    }),
    invalidate_block: rpcMethod({
      summary: 'Takes a block and all above it off the chain',
      params: Type.Object({ block_hash: HASH }),
      result: OK,
      write: true,
      audited: ({ block_hash }) => block_hash,
      errors: [...NODE_ERRORS, 'RECORD_UNKNOWN'],
      run: async ({ block_hash }) => {
        miner.refuseUnverified();
        if (block_hash === network.genesisHash)
          throw invalid('block_hash: the first block of the chain cannot be taken off it');
        await wallet.invalidate(block_hash);
        return 'ok' as const;
      }
    }),
    reconsider_block: rpcMethod({
      summary: 'Reverses `invalidate_block`',
      params: Type.Object({ block_hash: HASH }),
      result: OK,
      write: true,
      audited: ({ block_hash }) => block_hash,
      errors: [...NODE_ERRORS, 'RECORD_UNKNOWN'],
      run: async ({ block_hash }) => {
        miner.refuseUnverified();
        await wallet.reconsider(block_hash);
        return 'ok' as const;
      }
    })
  };
}

function statusOf({ state }: Miner): Static<typeof StatusSchema> {
  return {
    wallet_ready: state.isReady,
    mempool_size: state.mempoolSize,
    blocks_mined: state.blocksMined,
    last_mine_at: state.lastMineAt === null ? null : new Date(state.lastMineAt).toISOString(),
    consecutive_errors: state.consecutiveErrors,
    mining_paused: state.isPaused,
    idle_mine_interval_ms: state.times.idleMs
  };
}

/** Returns the state of a miner, and the reason when it is stalled. */
export function minerHealth(miner: Miner): Static<typeof MinerHealthSchema> {
  const status = statusOf(miner);
  const reason = reasonOf(miner);
  return { status: reason === null ? 'healthy' : 'stalled', reason, ...status };
}

function reasonOf({ state, isNodeSilent }: Miner): string | null {
  if (isNodeSilent) return 'the coin node does not answer';
  if (state.consecutiveErrors >= STALLED_ERRORS)
    return state.refusal === null ? 'the coin node does not answer' : `the coin node refuses: ${state.refusal}`;
  return state.isReady ? null : 'the wallet has no coins yet';
}

const invalid = (reason: string, cause?: unknown) => new PlatformError('REQUEST_INVALID', { reason }, { cause });

/** Converts an amount to base units. @throws {PlatformError} REQUEST_INVALID for 0, and for more than 8 decimals */
function readAmount(amount: string | number): bigint {
  try {
    const units = toBaseUnits(amount);
    if (units > 0n) return units;
  } catch (cause) {
    throw invalid(`amount: ${(cause as Error).message}`, cause);
  }
  throw invalid('amount: must be more than 0');
}
