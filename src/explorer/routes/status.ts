import Type, { type Static } from 'typebox';
import { CHAIN_NETWORKS } from '../../coin/chains.ts';
import { ByName } from '../../wire/by-name.ts';
import { alarmText } from '../../wire/state/alarm.ts';
import type { Coin } from '../coins.ts';
import { lagOf } from '../report.ts';

const HeightOrNull = Type.Union([Type.Integer(), Type.Null()]);

const CoinStatusSchema = Type.Object({
  supported: Type.Boolean({ description: 'whether this service serves it' }),
  available: Type.Boolean({ description: 'whether its database answers' }),
  stale: Type.Boolean({ description: 'whether the ledger is more than 3 blocks behind, or does not go on' }),
  stopped_reason: Type.Optional(Type.String({ description: 'why the ledger does not go on' })),
  last_block: HeightOrNull,
  decoder_tip: HeightOrNull,
  decoder_lag_blocks: HeightOrNull,
  hub_config_age_seconds: Type.Union([Type.Integer(), Type.Null()], {
    description: 'since a hub last answered where databases are; null where none is asked'
  })
});

/** Every public network by its code. */
export const StatusSchema = Type.Object({ data: ByName(CoinStatusSchema) });

const UNSUPPORTED = {
  ...{ supported: false, available: false, stale: false, last_block: null, decoder_tip: null, decoder_lag_blocks: null }
};

/** How every network stands by what its actor said last. @param hubAgeS since a hub answered; null: none is asked */
export function statusOf(coins: readonly Coin[], hubAgeS: number | null): Static<typeof StatusSchema> {
  const served = new Map(coins.map((coin) => [coin.network.code, coin.report()]));
  const data = CHAIN_NETWORKS.map(({ code }) => {
    const hub = { hub_config_age_seconds: hubAgeS };
    if (!served.has(code)) return [code, { ...UNSUPPORTED, ...hub }] as const;
    const report = served.get(code);
    const state = report?.state ?? 'unknown';
    const status = {
      supported: true,
      available: state === 'available' || state === 'stale',
      stale: state === 'stale',
      last_block: report?.height ?? null,
      decoder_tip: report?.decoderTip ?? null,
      decoder_lag_blocks: report ? lagOf(report) : null,
      ...(report?.upstream ? { stopped_reason: alarmText(report.upstream)! } : {}),
      ...hub
    };
    return [code, status] as const;
  });
  return { data: Object.fromEntries(data) };
}
