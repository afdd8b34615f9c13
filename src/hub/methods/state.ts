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
  oracle_last_finalized_age_s: NumberOrNull,
  oracle_stale: Type.Boolean({ description: 'false on hubs that run no oracle' }),
  oracle_staleness_threshold_s: NumberOrNull
});

/** The methods that say how the hub is. */
export function stateMethods(database: HubDatabase): Readonly<Record<string, RpcMethod>> {
  return {
    ping: rpcMethod({
      summary: 'Whether the hub and its database answer; HTTP 503 while the database does not',
      result: PingSchema,
      write: false,
      async run() {
        const db = await database.probe();
        return db ? { status: 'success' as const, db } : new RpcAnswer(503, { status: 'degraded' as const, db });
      }
    }),
    health: rpcMethod({
      summary: 'How the hub is; HTTP 503 while it is degraded',
      result: HealthSchema,
      write: false,
      run: () => readHealth(database)
    })
  };
}

async function readHealth(database: HubDatabase): Promise<RpcAnswer<Static<typeof HealthSchema>>> {
  const db = await database.probe();
  const dbCircuit = database.circuit();
  const isHealthy = db && dbCircuit !== 'open';
  return new RpcAnswer(isHealthy ? 200 : 503, {
    status: isHealthy ? 'healthy' : 'degraded',
    db,
    dbCircuit,
    // Filled by hubs that run the oracle.
    oracle_last_finalized_age_s: null,
    oracle_stale: false,
    oracle_staleness_threshold_s: null
  });
}
