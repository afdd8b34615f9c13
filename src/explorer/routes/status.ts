import Type, { type Static } from 'typebox';
import { CHAIN_NETWORKS } from '../../coin/chains.ts';
import { ByName } from '../../wire/by-name.ts';
import { OrNull } from '../../wire/or-null.ts';
import { alarmText } from '../../wire/state/alarm.ts';
import type { ReplicaReport } from '../../wire/state/report.ts';
import type { Coin } from '../coins.ts';
import { lagOf } from '../report.ts';

const HeightOrNull = OrNull(Type.Integer());

const CoinStatusSchema = Type.Object({
  supported: Type.Boolean({ description: 'whether this service serves it' }),
  available: Type.Boolean({ description: 'whether its database answers' }),
  stale: Type.Boolean({
    description:
      'whether ledger and decoder are more than 3 blocks apart, the age of the ledger is not known, or it does not go on'
  }),
  stopped_reason: Type.Optional(Type.String({ description: 'why the ledger does not go on' })),
  last_block: HeightOrNull,
  last_block_mark: OrNull(Type.String(), {
    description: 'tells the newest block from another one of its height, by which a reorg may replace it'
  }),
  decoder_tip: HeightOrNull,
  decoder_lag_blocks: HeightOrNull,
  hub_config_age_seconds: OrNull(Type.Integer(), {
    description: 'since a hub last answered where databases are; null where none is asked'
  }),
  replicas: Type.Optional(
    Type.Array(
      Type.Object({
        state: Type.Union(
          [Type.Literal('serves'), Type.Literal('behind'), Type.Literal('forked'), Type.Literal('unavailable')],
          {
            description: 'behind: asked when those with newer blocks do not answer; forked: on another chain, not read'
          }
        ),
        last_block: HeightOrNull,
        lag_blocks: HeightOrNull
      }),
      { description: 'copies of its databases, in the order of the settings; absent where there is one' }
    )
  )
});

const Heights = ByName(HeightOrNull);
const SecondsOrNull = OrNull(Type.Integer());

/** Every public network by its code: in `data` each whole, beside it field by field, of those that are served. */
export const StatusSchema = Type.Object({
  data: ByName(CoinStatusSchema),
  supported: ByName(Type.String({ description: 'the name of the network' })),
  available: ByName(Type.String({ description: 'the name of the network' })),
  stale: ByName(Type.Boolean()),
  last_block: Heights,
  last_block_time: Heights,
  decoder_tip: Heights,
  decoder_lag_blocks: Heights,
  decoder_health: ByName(Type.String({ description: 'ok, or unknown while the tip of the decoder is not known' })),
  chain_tip: ByName(Type.Null({ description: 'an explorer has no node' })),
  chain_lag_blocks: ByName(Type.Null()),
  replica_halted: ByName(OrNull(Type.String(), { description: 'why the ledger does not go on' })),
  tip_age_seconds: ByName(SecondsOrNull),
  tip_future_seconds: ByName(SecondsOrNull),
  hub_config_age_seconds: SecondsOrNull,
  hub_config_fetched_at: SecondsOrNull
});

const UNSUPPORTED = {
  supported: false,
  available: false,
  stale: false,
  last_block: null,
  last_block_mark: null,
  decoder_tip: null,
  decoder_lag_blocks: null
};

/** Returns the state of every network by its actor's last report. @param hubAgeS since a hub answered; null: none is asked */
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
      last_block_mark: report?.mark ?? null,
      decoder_tip: report?.decoderTip ?? null,
      decoder_lag_blocks: report ? lagOf(report) : null,
      ...(report?.upstream ? { stopped_reason: alarmText(report.upstream)! } : {}),
      ...hub,
      ...(report?.replicas && { replicas: report.replicas.map(replicaStatus) })
    };
    return [code, status] as const;
  });
  const nowS = Math.floor(Date.now() / 1000);
  return {
    data: Object.fromEntries(data),
    ...fieldsOf(coins, nowS),
    supported: Object.fromEntries(CHAIN_NETWORKS.map(({ code, name }) => [code, name])),
    hub_config_age_seconds: hubAgeS,
    hub_config_fetched_at: hubAgeS === null ? null : nowS - hubAgeS
  };
}

const replicaStatus = ({ state, height, lagBlocks }: ReplicaReport) => ({
  state,
  last_block: height,
  lag_blocks: lagBlocks
});

/** Returns fields of the status, each with the value of every network that is served. */
function fieldsOf(coins: readonly Coin[], nowS: number) {
  const known = coins.map(({ network, report }) => ({ ...network, report: report() }));
  const of = <V>(value: (each: (typeof known)[number]) => V) =>
    Object.fromEntries(known.map((each) => [each.code, value(each)]));
  const answers = known.filter(({ report }) => report?.state === 'available' || report?.state === 'stale');
  return {
    available: Object.fromEntries(answers.map(({ code, name }) => [code, name])),
    stale: of(({ report }) => report?.state === 'stale'),
    last_block: of(({ report }) => report?.height ?? null),
    last_block_time: of(({ report }) => report?.time ?? null),
    decoder_tip: of(({ report }) => report?.decoderTip ?? null),
    decoder_lag_blocks: of(({ report }) => (report ? lagOf(report) : null)),
    decoder_health: of(({ report }) => (report?.decoderTip == null ? 'unknown' : 'ok')),
    chain_tip: of(() => null),
    chain_lag_blocks: of(() => null),
    replica_halted: of(({ report }) => alarmText(report?.upstream)),
    tip_age_seconds: of(({ report }) => (report?.time == null ? null : Math.max(0, nowS - report.time))),
    tip_future_seconds: of(({ report }) => (report?.time == null ? null : Math.max(0, report.time - nowS)))
  };
}
