import Type from 'typebox';
import { findAction } from '../../coin/action/names.ts';
import { gasOf } from '../../coin/gas.ts';
import type { Profile } from '../../coin/profile.ts';
import { PlatformError } from '../../errors.ts';
import { type RpcMethod, rpcMethod } from '../../service/rpc/method.ts';
import type { HubDatabase } from '../store/database.ts';
import { ChainSchema, CountSchema, DATABASE_ERRORS, Nullable } from './common.ts';
import { feeAmounts } from './fee-amounts.ts';

/** A price that is older says nothing of a fee. */
export const OLDEST_PRICE_S = 1_800;

const Amount = Type.String({ description: 'decimal with 8 places' });
const Many = Type.Optional(
  Type.Integer({ minimum: 0, maximum: 1_000_000, description: 'default: as few as there are' })
);
const Whether = Type.Optional(Type.Boolean({ description: 'default: false' }));

/**
 * Returns the method that says what an action costs.
 *
 * @param profile its gas schedule, and who may say what the gas token costs
 * @param clock epoch milliseconds
 */
export function feeMethods(
  database: HubDatabase,
  profile: Profile,
  clock: () => number
): Readonly<Record<string, RpcMethod>> {
  const issuers = Object.entries(profile.roles).flatMap(([network, { GAS }]) =>
    GAS !== undefined && network.startsWith('bitcoin-') ? [GAS] : []
  );
  return {
    getfeequote: rpcMethod({
      summary: 'What an action costs: gas, gas tokens, and the coin of its chain where prices are known',
      params: Type.Object({
        action: Type.String({ minLength: 1, maxLength: 32, description: 'in any case, or an alias' }),
        chain: ChainSchema,
        subtoken: Whether,
        recipients: Many,
        items: Many,
        days: Type.Optional(Type.Integer({ minimum: 0, maximum: 36_500, description: 'for which an offer is open' })),
        ownership: Whether,
        edit: Whether,
        shared: Whether
      }),
      result: Type.Object({
        action: Type.String(),
        chain: Type.String(),
        gasCost: CountSchema,
        gasPrice: Type.String({ description: 'of one gas, in the gas token' }),
        gasTokenAmount: Amount,
        gasTokenUsd: Nullable(Type.String({ description: 'null: not known' })),
        xchainAmount: Type.String({ description: 'gasTokenAmount' }),
        xchainUsd: Nullable(Type.String({ description: 'gasTokenUsd' })),
        feeUsd: Type.Optional(Amount),
        coinUsd: Type.Optional(Amount),
        nativeCoinAmount: Type.Optional(Amount),
        nativeCoin: Type.Optional(Type.String()),
        error: Type.Optional(Type.String({ description: 'why the amount of the coin is not known' }))
      }),
      write: false,
      errors: DATABASE_ERRORS,
      async run({ action: written, chain, ...subject }) {
        const action = findAction(written);
        if (!action)
          throw new PlatformError('REQUEST_INVALID', {
            reason: `unknown action ${JSON.stringify(written)}: use a name or alias such as ISSUE or SEND`
          });
        const { gasPrice, gasTick } = profile;
        const now = Math.floor(clock() / 1_000);
        const asked = { gasTick, chain, issuers, now, oldest: now - OLDEST_PRICE_S };
        const { gasTokenUsd, coinUsd } = await database.read('selectFeePrices', asked);
        const gasCost = gasOf(profile, action, subject);
        const amounts = feeAmounts({ gasCost, gasPrice, gasTokenUsd, coinUsd, coin: chain });
        const { gasTokenAmount: xchainAmount, gasTokenUsd: xchainUsd } = amounts;
        const lacking = gasTokenUsd === null ? gasTick : chain;
        const error = amounts.nativeCoinAmount === undefined ? { error: `no price of ${lacking} is known` } : {};
        return { action, chain, gasCost, gasPrice, ...amounts, xchainAmount, xchainUsd, ...error };
      }
    })
  };
}
