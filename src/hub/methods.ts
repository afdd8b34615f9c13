import Type, { type Static } from 'typebox';
import { PlatformError } from '../errors.ts';
import { RpcAnswer, type RpcMethod, rpcMethod } from '../service/rpc/method.ts';
import { ByName } from '../wire/by-name.ts';
import type { ConfigEntry } from './config-tree.ts';
import type { HubStore } from './store.ts';

/** What a configuration may say of a module; other names are skipped. */
const PARAM_NAMES = new Set(['host', 'port', 'service_port', 'db_host', 'db_port', 'name', 'user', 'pass']);
const MAX_VALUE_LENGTH = 1024;

const Tree = ByName(ByName(ByName(ByName(Type.Unknown()))));

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
  oracle_stale: Type.Union([Type.Boolean(), Type.Null()]),
  oracle_staleness_threshold_s: NumberOrNull
});
const ConfigsSchema = Type.Object({
  configs: ByName(ByName(ByName(ByName(Type.String())))),
  seq: Type.Number({ description: 'last committed consensus sequence; 0 without consensus' }),
  watermark: Type.Number({ description: 'epoch seconds of the newest change; 0 when there is none' })
});

/** The methods of a standalone hub. @see the section "Hub (JSON-RPC 2.0 on HUB_PORT)" of the specification */
export function hubMethods(store: HubStore): Readonly<Record<string, RpcMethod>> {
  return {
    ping: rpcMethod({
      summary: 'Whether the hub and its database answer; HTTP 503 while the database does not',
      result: PingSchema,
      write: false,
      async run() {
        const db = await store.probe();
        return db ? { status: 'success' as const, db } : new RpcAnswer(503, { status: 'degraded' as const, db });
      }
    }),
    health: rpcMethod({
      summary: 'How the hub is; HTTP 503 while it is degraded',
      result: HealthSchema,
      write: false,
      run: () => readHealth(store)
    }),
    getallconfigs: rpcMethod({
      summary: 'The configuration by coin, network, module and parameter: all of it, or what changed since',
      params: Type.Object({
        since_updated_at: Type.Optional(
          Type.Number({ minimum: 0, description: 'epoch seconds: the watermark of an earlier answer' })
        )
      }),
      result: ConfigsSchema,
      write: false,
      errors: ['DATABASE_UNAVAILABLE', 'DATABASE_REFUSED'],
      run: ({ since_updated_at }) => store.readConfigs(since_updated_at)
    }),
    updateconfig: rpcMethod({
      summary: 'Writes entries of the configuration, all or none; parameters that are not known are skipped',
      params: Type.Object({ config: Tree }),
      result: Type.Object({ status: Type.Literal('success') }),
      write: true,
      errors: ['DATABASE_UNAVAILABLE', 'DATABASE_REFUSED'],
      async run({ config }) {
        await store.writeConfigs([...acceptedEntries(config)]);
        return { status: 'success' as const };
      }
    })
  };
}

async function readHealth(store: HubStore): Promise<RpcAnswer<Static<typeof HealthSchema>>> {
  const db = await store.probe();
  const dbCircuit = store.circuit();
  const isHealthy = db && dbCircuit !== 'open';
  return new RpcAnswer(isHealthy ? 200 : 503, {
    status: isHealthy ? 'healthy' : 'degraded',
    db,
    dbCircuit,
    // Filled by hubs that run the oracle.
    oracle_last_finalized_age_s: null,
    oracle_stale: null,
    oracle_staleness_threshold_s: null
  });
}

/** @throws {PlatformError} REQUEST_INVALID naming the entry; then nothing is written */
function* acceptedEntries(
  config: Record<string, Record<string, Record<string, Record<string, unknown>>>>
): Generator<ConfigEntry> {
  for (const [coin, networks] of Object.entries(config)) {
    if (coin === '') continue;
    checkName('coin', coin, 16);
    for (const [network, modules] of Object.entries(networks)) {
      checkName('network', network, 16);
      for (const [module, params] of Object.entries(modules)) {
        checkName('module', module, 64);
        for (const [param, value] of Object.entries(params)) {
          if (!PARAM_NAMES.has(param)) continue;
          yield { coin, network, module, param, value: textOf(value, `${coin}/${network}/${module}/${param}`) };
        }
      }
    }
  }
}

function checkName(level: string, name: string, longest: number): void {
  if (name.length <= longest && /^[A-Za-z0-9_-]+$/.test(name)) return;
  const shown = JSON.stringify(name.slice(0, 80));
  throw new PlatformError('REQUEST_INVALID', {
    reason: `${level} ${shown} must be 1 to ${longest} letters, digits, _ or -`
  });
}

function textOf(value: unknown, place: string): string {
  const scalar = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  if (!scalar) throw new PlatformError('REQUEST_INVALID', { reason: `${place} must be text, a number or a boolean` });
  const text = String(value);
  if (text.length > MAX_VALUE_LENGTH) {
    throw new PlatformError('REQUEST_INVALID', { reason: `${place} is longer than ${MAX_VALUE_LENGTH} characters` });
  }
  return text;
}
