import Type from 'typebox';
import type { ChainNetwork } from '../../coin/chains.ts';
import type { Profile } from '../../coin/profile.ts';
import { knownAmount } from '../../consensus/amount.ts';
import { pingMethod, type RpcMethod, rpcMethod } from '../../service/rpc/method.ts';
import { OrNull } from '../../wire/or-null.ts';
import { CAPABILITIES } from '../staking/validators.ts';
import { type BlockHashesRow, BlockHashesSchema } from './block-hashes.ts';
import { type ActionPlace, ConfirmationsSchema } from './confirmations.ts';
import { type FeeMethodDeps, feeMethods } from './fees.ts';
import { HealthSchema, healthOf, type IndexerView, LatestBlockSchema, latestBlockOf } from './health.ts';
import type { RoundPlace } from './price-rounds.ts';
import { SignerStakeSchema, type SignerStakes, type StakeQuestion } from './stakes.ts';

/** Dependencies of the methods of an indexer. */
export interface IndexerMethodDeps {
  readonly network: ChainNetwork;
  /** State of the loop at this moment. */
  readonly view: () => IndexerView;
  /** @throws {PlatformError} DATABASE_UNAVAILABLE, ACTOR_TIMEOUT */
  readonly findAction: (actionIndex: number) => Promise<ActionPlace>;
  /** @param height null: the newest block @throws {PlatformError} RECORD_UNKNOWN, DATABASE_UNAVAILABLE, ACTOR_TIMEOUT */
  readonly findHashes: (height: number | null) => Promise<BlockHashesRow>;
  /** @throws {PlatformError} DATABASE_UNAVAILABLE, ACTOR_TIMEOUT */
  readonly findRound: (round: number) => Promise<RoundPlace>;
  /** @throws {PlatformError} DATABASE_UNAVAILABLE, ACTOR_TIMEOUT */
  readonly findStakes: (question: StakeQuestion) => Promise<SignerStakes>;
  readonly profile: Profile;
  readonly tryAction: FeeMethodDeps['tryAction'];
}

const HeightOrNull = OrNull(Type.Integer());
const Height = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** Returns the methods of an indexer. */
export function indexerMethods(deps: IndexerMethodDeps): Readonly<Record<string, RpcMethod>> {
  const { network, view, findAction, findHashes, findRound, findStakes } = deps;
  return {
    ...feeMethods(deps),
    ping: pingMethod,
    health: rpcMethod({
      isProbe: true,
      summary: 'Health and progress of the indexer',
      result: HealthSchema,
      write: false,
      run: () => healthOf(view())
    }),
    getlatestblock: rpcMethod({
      summary: "Last block that was written, and the decoder's newest block",
      result: LatestBlockSchema,
      write: false,
      run: () => latestBlockOf(view())
    }),
    getblockhashes: rpcMethod({
      summary: 'Hashes and roots of a block',
      params: Type.Object({
        block_index: Type.Optional(
          Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'default: the newest block' })
        )
      }),
      result: BlockHashesSchema,
      errors: ['RECORD_UNKNOWN', 'DATABASE_UNAVAILABLE', 'ACTOR_TIMEOUT'],
      write: false,
      run: async ({ block_index = null }) => ({
        coin: network.ticker,
        network: network.network,
        ...(await findHashes(block_index))
      })
    }),
    getactionconfirmations: rpcMethod({
      summary: 'Block of an action, and the number of blocks from it to the newest',
      params: Type.Object({ action_index: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }) }),
      result: ConfirmationsSchema,
      errors: ['DATABASE_UNAVAILABLE', 'ACTOR_TIMEOUT'],
      write: false,
      run: async ({ action_index }) => ({
        coin: network.ticker,
        network: network.network,
        action_index,
        ...(await findAction(action_index))
      })
    }),
    getpriceround: rpcMethod({
      summary: 'Action that gave the ledger the prices of a round of validators',
      params: Type.Object({ round: Height }),
      result: Type.Object({
        coin: Type.String(),
        network: Type.String(),
        round: Type.Integer(),
        action_index: OrNull(Type.Integer(), { description: 'null: the ledger has no such round' }),
        block_index: HeightOrNull,
        latest_block_index: HeightOrNull
      }),
      errors: ['DATABASE_UNAVAILABLE', 'ACTOR_TIMEOUT'],
      write: false,
      run: async ({ round }) => ({
        coin: network.ticker,
        network: network.network,
        round,
        ...(await findRound(round))
      })
    }),
    getownstake: rpcMethod({
      summary: 'Stake of a key in the newest block',
      params: Type.Object({ pubkey: Type.String({ pattern: '^[0-9a-fA-F]{64}$' }) }),
      result: Type.Object({
        pubkey: Type.String(),
        block_index: HeightOrNull,
        source: OrNull(Type.String()),
        stake: Type.String({ description: 'Units of the gas token' })
      }),
      errors: ['DATABASE_UNAVAILABLE', 'ACTOR_TIMEOUT'],
      write: false,
      run: async ({ pubkey }) => {
        const key = pubkey.toLowerCase();
        const { block_index, signers } = await findStakes({ pubkey: key, height: null });
        return { pubkey: key, block_index, source: signers[0]?.source ?? null, stake: signers[0]?.stake ?? '0' };
      }
    }),
    getcapabilityvalidators: rpcMethod({
      summary: 'Keys with enough stake for a capability, in a block of a height or in the newest one',
      params: Type.Object({
        capability: Type.Union(
          (Object.keys(CAPABILITIES) as (keyof typeof CAPABILITIES)[]).map((name) => Type.Literal(name))
        ),
        block_index: Type.Optional(Height),
        min_stake: Type.Optional(Type.String({ pattern: '^[0-9]{1,21}(?:\\.[0-9]{1,8})?$' }))
      }),
      result: Type.Object({
        capability: Type.String(),
        block_index: HeightOrNull,
        min_stake: Type.String(),
        validators: Type.Array(SignerStakeSchema)
      }),
      errors: ['DATABASE_UNAVAILABLE', 'ACTOR_TIMEOUT'],
      write: false,
      run: async ({ capability, block_index: height = null, min_stake = CAPABILITIES[capability] }) => {
        const { block_index, signers } = await findStakes({ pubkey: null, height });
        const least = knownAmount(min_stake);
        const validators = signers.filter(({ stake }) => knownAmount(stake) >= least);
        return { capability, block_index, min_stake, validators };
      }
    })
  };
}
