import Type from 'typebox';
import { ACTIONS, findAction } from '../../coin/action/names.ts';
import type { ChainNetwork } from '../../coin/chains.ts';
import { gasOf } from '../../coin/gas.ts';
import { GAS_ITEMS, type Profile } from '../../coin/profile.ts';
import { formatAmount } from '../../consensus/amount.ts';
import { PlatformError } from '../../errors.ts';
import { type RpcMethod, rpcMethod } from '../../service/rpc/method.ts';
import { feeOf } from '../fees/amount.ts';

const Gas = Type.Integer({ minimum: 0 });
const Amount = Type.String({ description: 'units of the gas token' });
const Whether = Type.Optional(Type.Boolean({ description: 'default: false' }));
const Many = Type.Optional(
  Type.Integer({ minimum: 0, maximum: 1_000_000, description: 'default: as few as there are' })
);
const Common = {
  gas_tick: Type.String(),
  gas_price: Type.String({ description: 'of one gas, in units of the gas token' }),
  fee_destination: Type.Union([Type.String(), Type.Null()], {
    description: 'address that is paid in the coin; null: fees are paid in the gas token'
  })
};

/** The methods that say what actions cost, by the profile of the deployment. */
export function feeMethods(
  { gas, gasPrice, gasTick, roles }: Pick<Profile, 'gas' | 'gasPrice' | 'gasTick' | 'roles'>,
  network: Pick<ChainNetwork, 'name'>
): Readonly<Record<string, RpcMethod>> {
  const common = {
    gas_tick: gasTick,
    gas_price: gasPrice,
    fee_destination: roles[network.name]?.FEE_DESTINATION ?? null
  };
  const feeText = (cost: number): string => formatAmount(feeOf(cost, { price: gasPrice }));
  return {
    feeschedule: rpcMethod({
      summary: 'What each thing that costs gas costs',
      result: Type.Object({
        ...Common,
        items: Type.Array(Type.Object({ item: Type.String(), gas: Gas, fee: Amount }))
      }),
      write: false,
      run: () => ({ ...common, items: GAS_ITEMS.map((item) => ({ item, gas: gas[item], fee: feeText(gas[item]) })) })
    }),
    feequote: rpcMethod({
      summary: 'What one action costs',
      params: Type.Object({
        action: Type.String({ minLength: 1, maxLength: 32, description: 'in any case, or an alias' }),
        subtoken: Whether,
        recipients: Many,
        items: Many,
        days: Type.Optional(Type.Integer({ minimum: 0, maximum: 36_500, description: 'for which an offer is open' })),
        ownership: Whether,
        edit: Whether,
        shared: Whether
      }),
      result: Type.Object({ ...Common, action: Type.String(), gas_cost: Gas, fee: Amount }),
      errors: ['REQUEST_INVALID'],
      write: false,
      run: ({ action: written, ...subject }) => {
        const action = findAction(written);
        if (!action)
          throw new PlatformError('REQUEST_INVALID', {
            reason: `action ${JSON.stringify(written)} is none of ${[...ACTIONS].join(', ')}`
          });
        const cost = gasOf({ gas }, action, subject);
        return { ...common, action, gas_cost: cost, fee: feeText(cost) };
      }
    })
  };
}
