import Type, { type Static } from 'typebox';
import { isRunning, lagBetween, readinessFrom, SYNCED_WITHIN_BLOCKS } from '../../follower/readiness.ts';
import type { Readiness } from '../../service/routes/readiness.ts';
import { OrNull } from '../../wire/or-null.ts';
import { AlarmSchema, alarmText, isOfStatement, stoppedS, toldAlarm } from '../../wire/state/alarm.ts';
import type { LoopView } from '../../wire/state/loop-view.ts';
import { monotonicMs } from '../../wire/state/monotonic.ts';
import type { ActorReport } from '../../wire/state/report.ts';
import type { IndexerReport } from '../loop/report.ts';

/** State of the loop as the main thread knows it. */
export type IndexerView = LoopView<IndexerReport>;

const HeightOrNull = OrNull(Type.Integer());
const Circuit = Type.Union([Type.Literal('closed'), Type.Literal('open'), Type.Literal('half-open')]);
const CircuitOrNull = OrNull(Circuit);

const StateCommitmentSchema = Type.Object(
  {
    phase: Type.String({ description: 'ready: each block has its state roots' }),
    percent: HeightOrNull,
    height: HeightOrNull,
    balances: HeightOrNull,
    reason: OrNull(Type.String())
  },
  { description: 'the tree over all balances' }
);

const InFlightSchema = Type.Object(
  {
    block: Type.Integer(),
    transaction: OrNull(Type.String()),
    action: OrNull(Type.String())
  },
  { description: 'action in work; null while rows are read or written' }
);

/** Result of `health`. */
export const HealthSchema = Type.Object({
  status: Type.Union([Type.Literal('healthy'), Type.Literal('unhealthy')]),
  running: Type.Boolean(),
  synced: Type.Boolean({ description: 'caught up with a decoder that goes on, to within 3 blocks' }),
  lastIndexedBlock: HeightOrNull,
  inFlightBlock: HeightOrNull,
  decoderBlock: HeightOrNull,
  lag: HeightOrNull,
  decoderDbCircuit: CircuitOrNull,
  indexerDbCircuit: CircuitOrNull,
  pushFault: OrNull(Type.String(), {
    description: 'reason for which pushes to the hub wait; null while it takes them'
  }),
  sumFault: OrNull(Type.String(), {
    description: 'reason for which sums over all rows of tickers are left out; null while none is'
  }),
  stateCommitment: OrNull(StateCommitmentSchema),
  inFlight: OrNull(InFlightSchema),
  error: OrNull(Type.String()),
  alarm: Type.Optional(AlarmSchema)
});

/** Result of `getlatestblock`. */
export const LatestBlockSchema = Type.Object({
  block_index: HeightOrNull,
  decoder_block_index: HeightOrNull,
  decoder_block: OrNull(Type.Integer(), { description: 'the same' }),
  lag: HeightOrNull,
  in_flight_block: OrNull(Type.Integer(), { description: 'block in work; null between blocks' }),
  is_synced: Type.Boolean()
});

/** Returns the indexer's health from its loop's newest report. */
export function healthOf({ report, crash }: IndexerView, now = monotonicMs()): Static<typeof HealthSchema> {
  const lag = report && lagOf(report);
  const running = isRunning({ report, crash });
  const hasDatabases = report?.decoderDbCircuit === 'closed' && report.indexerDbCircuit === 'closed';
  return {
    status: running && hasDatabases && refusalOf(report) === null ? 'healthy' : 'unhealthy',
    running,
    synced: running && lag !== null && lag <= SYNCED_WITHIN_BLOCKS && !isWaiting(report),
    lastIndexedBlock: report?.lastIndexedBlock ?? null,
    inFlightBlock: report?.inFlightBlock ?? null,
    decoderBlock: report?.decoderBlock ?? null,
    lag,
    decoderDbCircuit: report?.decoderDbCircuit ?? null,
    indexerDbCircuit: report?.indexerDbCircuit ?? null,
    pushFault: report?.pushFault ?? null,
    sumFault: report?.sumFault ?? null,
    stateCommitment: report?.stateCommitment ?? null,
    inFlight: report?.inFlight ?? null,
    error: crash ?? report?.haltReason ?? refusalOf(report) ?? report?.waitReason ?? null,
    ...toldAlarm(report?.alarm, now)
  };
}

/** Returns the last block that was written, and the decoder's. */
export function latestBlockOf(view: IndexerView): Static<typeof LatestBlockSchema> {
  const { lastIndexedBlock, inFlightBlock, decoderBlock, lag, synced } = healthOf(view);
  return {
    block_index: lastIndexedBlock,
    decoder_block_index: decoderBlock,
    decoder_block: decoderBlock,
    lag,
    in_flight_block: inFlightBlock,
    is_synced: synced
  };
}

/** Returns the readiness that load balancers read. */
export function readinessOf({ report, crash }: IndexerView): Readiness {
  const isOpen = report?.decoderDbCircuit === 'open' || report?.indexerDbCircuit === 'open';
  return readinessFrom({
    haltReason: report?.haltReason,
    isDown: crash !== null || isOpen || refusalOf(report) !== null,
    lag: report && lagOf(report),
    isWaiting: isWaiting(report)
  });
}

/** Returns the part of a report that console and metrics read. */
export function actorReportOf(report: IndexerReport): ActorReport {
  return {
    phase: report.state,
    circuit: report.indexerDbCircuit,
    height: report.lastIndexedBlock,
    tip: report.decoderBlock,
    lagBlocks: lagOf(report),
    lastError: report.haltReason ?? alarmText(report.alarm) ?? report.waitReason,
    upstreamStopped: stoppedS(report.alarm, monotonicMs())
  };
}

/** Returns whether a lag of 0 may be false: the decoder has started over, stopped, or does not go on. */
function isWaiting(report: IndexerReport | null): boolean {
  return report !== null && (report.waitReason !== null || report.alarm?.code === 'UPSTREAM_STOPPED');
}

/**
 * Returns the reason for which MariaDB takes no blocks: it refuses rows, ends a statement at its limit, or does not
 * answer. It is null while MariaDB takes blocks.
 */
function refusalOf(report: IndexerReport | null): string | null {
  const alarm = report?.alarm;
  return isOfStatement(alarm) || alarm?.code === 'DATABASE_UNAVAILABLE' ? alarmText(alarm) : null;
}

function lagOf({ decoderBlock, lastIndexedBlock }: IndexerReport): number | null {
  return lagBetween(decoderBlock, lastIndexedBlock);
}
