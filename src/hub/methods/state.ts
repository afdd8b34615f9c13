import Type, { type Static } from 'typebox';
import { RpcAnswer, type RpcMethod, rpcMethod } from '../../service/rpc/method.ts';
import { SharedReads } from '../../service/turns/shared-reads.ts';
import { OrNull } from '../../wire/or-null.ts';
import type { HubSetMember } from '../remote-set.ts';
import type { HubDatabase } from '../store/database.ts';
import type { PairAge } from '../store/prices/prices.ts';
import { OneOf } from './common.ts';

const PingSchema = Type.Object({
  status: Type.Union([Type.Literal('success'), Type.Literal('degraded')]),
  db: Type.Boolean({ description: 'whether the database answers' })
});
const NumberOrNull = OrNull(Type.Number());
/** State of the machine `validator`, or `starting` before it. */
export const PhaseSchema = OneOf(['starting', 'following', 'leading', 'changingView', 'catchingUp', 'halted']);

/** Trouble of a hub as a member of its set, and what ends it. */
export const TroubleSchema = Type.Object(
  { code: Type.String(), reason: Type.String(), remedy: Type.String() },
  { description: 'why it decides nothing; absent where it does, or starts' }
);

/** @see the section "Hub health result" of the specification */
const HealthSchema = Type.Object({
  status: Type.Union([Type.Literal('healthy'), Type.Literal('degraded')]),
  db: Type.Boolean({ description: 'whether the database answers' }),
  dbCircuit: Type.Union([Type.Literal('closed'), Type.Literal('open'), Type.Literal('half-open')]),
  writes: Type.Optional(
    Type.Literal(false, {
      description: 'MariaDB is read-only, or its disk is full; reads go on. Absent where it takes writes'
    })
  ),
  consensus: Type.Optional(
    Type.Object(
      {
        phase: PhaseSchema,
        view: Type.Number(),
        seq: Type.Number({ description: 'last place of the log that is applied here' }),
        members: Type.Number({ description: 'hubs of the set' }),
        peers: Type.Number({ description: 'of these, connected to this one' }),
        safe: Type.Boolean({ description: 'whether the quorum is safe against as many liars as the set is made for' }),
        trouble: Type.Optional(TroubleSchema)
      },
      { description: 'how the hub stands in its set; in validator mode alone' }
    )
  ),
  oracle_last_finalized_age_s: OrNull(Type.Number(), {
    description:
      'of the pair whose price is oldest, of those that a source still tells; below 0 when the clock was set back since: stale too'
  }),
  oracle_stale: Type.Boolean({ description: 'false on hubs that run no oracle' }),
  oracle_stale_pair: Type.Optional(
    Type.String({ description: 'the pair whose price is oldest, such as BTC/USD; absent while none is stale' })
  ),
  oracle_staleness_threshold_s: NumberOrNull,
  clock_off_s: Type.Optional(
    Type.Number({
      description:
        "by how much the machine's clock is behind the one in the middle of the price sources' and its own; absent below a minute"
    })
  )
});

/** State of the prices at a hub that finds them. */
export interface OracleHealth {
  /** Seconds after which prices are stale. */
  readonly thresholdS: number;
  /** Time at which it began to look for prices, in milliseconds of the process's clock. */
  readonly since: number;
  /** Milliseconds by which this machine's clock is behind the one in the middle of the sources' and its own. */
  readonly clockOffMs: () => number;
}

/** Returns the methods that say how the hub is. @param oracle null: it finds no prices  @param set  null: no validator mode */
export function stateMethods(
  database: HubDatabase,
  oracle: OracleHealth | null,
  set: HubSetMember | null
): Readonly<Record<string, RpcMethod>> {
  const ages = new SharedReads<PairAge | null>();
  const oldestOf = ({ clockOffMs }: OracleHealth) =>
    ages.read('', () => database.readOnce('oldestPair', Math.floor((Date.now() + clockOffMs()) / 1_000)));
  return {
    ping: rpcMethod({
      isProbe: true,
      summary: 'Whether the hub and its database answer; HTTP 503 while the database does not',
      result: PingSchema,
      write: false,
      async run() {
        const db = await database.probe();
        return db ? { status: 'success' as const, db } : new RpcAnswer(503, { status: 'degraded' as const, db });
      }
    }),
    health: rpcMethod({
      isProbe: true,
      summary: 'How the hub is; HTTP 503 while it is degraded',
      result: HealthSchema,
      write: false,
      run: () => readHealth(database, oracle, oldestOf, set)
    })
  };
}

/** Reads the pair whose price is oldest: one read at a time, which all who ask meanwhile share. */
type OldestOf = (oracle: OracleHealth) => Promise<PairAge | null>;

async function readHealth(
  database: HubDatabase,
  oracle: OracleHealth | null,
  oldestOf: OldestOf,
  set: HubSetMember | null
): Promise<RpcAnswer<Static<typeof HealthSchema>>> {
  const db = await database.probe();
  const dbCircuit = database.circuit();
  const prices = await readPriceHealth(db ? oracle : null, oldestOf);
  const writes = database.takesWrites();
  const offS = Math.round((oracle?.clockOffMs() ?? 0) / 1_000);
  const standing = set?.state();
  const trouble = set?.trouble() ?? null;
  // Who lacks the others answers what it has; who does not vote for a reason of its own is to be looked at.
  const isOut = trouble !== null && trouble.code !== 'NO_QUORUM' && trouble.code !== 'CONSENSUS_TIMEOUT';
  const isHealthy = !isOut && db && writes && dbCircuit !== 'open' && !prices.oracle_stale;
  return new RpcAnswer(isHealthy ? 200 : 503, {
    status: isHealthy ? 'healthy' : 'degraded',
    db,
    dbCircuit,
    ...prices,
    oracle_staleness_threshold_s: oracle?.thresholdS ?? null,
    ...(writes ? {} : { writes }),
    ...(set && standing
      ? {
          consensus: {
            phase: standing.phase,
            view: standing.view,
            seq: standing.seq,
            members: set.keys.length,
            peers: standing.peers.length,
            safe: set.isSafe,
            ...(trouble && { trouble })
          }
        }
      : {}),
    ...(Math.abs(offS) > MOST_OFF_S ? { clock_off_s: offS } : {})
  });
}

/** A price that is further ahead of the clock than this was kept before the clock was set back: nobody knows its age. */
const MOST_AHEAD_S = 60;

/** Largest accepted error of the machine's clock: HTTP gives whole seconds, and an answer takes some time. */
const MOST_OFF_S = 60;

/** Reads the age of the prices. Before the first round has any, it is the age of the search. */
async function readPriceHealth(oracle: OracleHealth | null, oldestOf: OldestOf) {
  if (oracle === null) return { oracle_last_finalized_age_s: null, oracle_stale: false };
  const oldest = await oldestOf(oracle);
  const age = oldest?.ageS ?? null;
  const searchS = (performance.now() - oracle.since) / 1_000;
  const isStale = (age ?? searchS) > oracle.thresholdS || (age ?? 0) < -MOST_AHEAD_S;
  return {
    oracle_last_finalized_age_s: age,
    oracle_stale: isStale,
    ...(isStale && oldest !== null ? { oracle_stale_pair: oldest.pair } : {})
  };
}
