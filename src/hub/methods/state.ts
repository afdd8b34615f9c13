import Type, { type Static } from 'typebox';
import { RpcAnswer, type RpcMethod, rpcMethod } from '../../service/rpc/method.ts';
import type { HubDatabase } from '../store/database.ts';

const PingSchema = Type.Object({
  status: Type.Union([Type.Literal('success'), Type.Literal('degraded')]),
  db: Type.Boolean({ description: 'whether the database answers' })
});
const NumberOrNull = Type.Union([Type.Number(), Type.Null()]);
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
  oracle_last_finalized_age_s: Type.Union([Type.Number(), Type.Null()], {
    description: 'below 0 when the clock was set back since: stale too'
  }),
  oracle_stale: Type.Boolean({ description: 'false on hubs that run no oracle' }),
  oracle_staleness_threshold_s: NumberOrNull,
  clock_off_s: Type.Optional(
    Type.Number({
      description:
        "by how much the machine's clock is behind the one in the middle of the price sources' and its own; absent below a minute"
    })
  )
});

/** What a hub that finds prices says of them. */
export interface OracleHealth {
  /** Seconds after which prices are stale. */
  readonly thresholdS: number;
  /** When it began to look for prices, in milliseconds of the process's clock. */
  readonly since: number;
  /** Milliseconds by which this machine's clock is behind the one in the middle of the sources' and its own. */
  readonly clockOffMs: () => number;
}

/** The methods that say how the hub is. @param oracle null: it finds no prices */
export function stateMethods(database: HubDatabase, oracle: OracleHealth | null): Readonly<Record<string, RpcMethod>> {
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
      run: () => readHealth(database, oracle)
    })
  };
}

async function readHealth(
  database: HubDatabase,
  oracle: OracleHealth | null
): Promise<RpcAnswer<Static<typeof HealthSchema>>> {
  const db = await database.probe();
  const dbCircuit = database.circuit();
  const prices = await readPriceHealth(database, db ? oracle : null);
  const writes = database.takesWrites();
  const offS = Math.round((oracle?.clockOffMs() ?? 0) / 1_000);
  const isHealthy = db && writes && dbCircuit !== 'open' && !prices.oracle_stale;
  return new RpcAnswer(isHealthy ? 200 : 503, {
    status: isHealthy ? 'healthy' : 'degraded',
    db,
    dbCircuit,
    ...prices,
    oracle_staleness_threshold_s: oracle?.thresholdS ?? null,
    ...(writes ? {} : { writes }),
    ...(Math.abs(offS) > MOST_OFF_S ? { clock_off_s: offS } : {})
  });
}

/** A price that is further ahead of the clock than this was kept before the clock was set back: nobody knows its age. */
const MOST_AHEAD_S = 60;

/** Of the machine's clock: HTTP says whole seconds, and an answer takes some. */
const MOST_OFF_S = 60;

/** Before the first round has prices their age is that of the search. */
async function readPriceHealth(database: HubDatabase, oracle: OracleHealth | null) {
  if (oracle === null) return { oracle_last_finalized_age_s: null, oracle_stale: false };
  const age = await database.readOnce('ageOfPrices', Math.floor((Date.now() + oracle.clockOffMs()) / 1_000));
  const searchS = (performance.now() - oracle.since) / 1_000;
  return {
    oracle_last_finalized_age_s: age,
    oracle_stale: (age ?? searchS) > oracle.thresholdS || (age ?? 0) < -MOST_AHEAD_S
  };
}
