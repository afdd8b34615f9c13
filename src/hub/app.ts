import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { HubConfig } from '../config/services/hub.ts';
import { createFrame, type ServiceDefinition } from '../service/frame.ts';
import type { RpcAppDeps } from '../service/life/rpc-frame.ts';
import type { ServiceActors } from '../service/routes/debug.ts';
import { askChains } from './chain-facts.ts';
import { chainRegistryRoute } from './chain-registry.ts';
import { configuredServices } from './chain-services.ts';
import { type HubMethodSettings, hubMethods } from './methods/all.ts';
import { hubPipeline } from './pipeline.ts';
import { keepPruned, type PruningSettings } from './pruning.ts';
import type { HubSetMember } from './remote-set.ts';
import { type HubDatabase, STATEMENTS_AT_ONCE } from './store/database.ts';
import { MAX_PER_ADDRESS, type PriceStream } from './stream/price-stream.ts';
import { isStreamRequest, streamRoutes } from './stream/routes.ts';
import type { PlaceOf } from './telemetry/places.ts';
import { type TelemetrySettings, telemetryRoutes } from './telemetry/routes.ts';

/** Dependencies of the hub's front door. */
interface HubAppDeps extends RpcAppDeps {
  readonly config: ServiceDefinition['config'] &
    HubMethodSettings &
    TelemetrySettings &
    PruningSettings &
    Pick<HubConfig, 'HUB_API_KEY' | 'HUB_RATE_LIMIT_RPM' | 'CORS_ORIGIN' | 'HUB_DB_NAME'>;
  readonly database: HubDatabase;
  /** Set of hubs in validator mode; null: this hub writes directly. */
  readonly set: HubSetMember | null;
  readonly actors: Omit<ServiceActors, 'pipeline'>;
  readonly stream: PriceStream;
  /** Milliseconds by which this machine's clock is behind, as far as sources of prices say. */
  readonly clockOffMs: () => number;
  /** Finds the places of senders of usage pings. */
  readonly placeOf: PlaceOf;
}

const BODY_LIMIT_BYTES = 1_000_000;
/** One probe of the database serves all who ask for readiness for so long. */
const PROBE_EVERY_MS = 1_000;
/** Time that readiness waits for a probe. */
const PROMPT_MS = 250;

/** Creates the hub's front door: JSON-RPC in the frame of every service. @throws {PlatformError} CONFIG_INVALID */
export function createHubApp(deps: HubAppDeps): FastifyInstance {
  const { config, database, set, serves, placeOf, stream, clockOffMs } = deps;
  const origins = [...(config.CORS_ORIGINS ?? []), ...(config.CORS_ORIGIN ?? [])];
  let answered = false;
  let last = { at: Number.NEGATIVE_INFINITY, answer: Promise.resolve(false), isOver: true };
  const look = () => {
    const own = { at: performance.now(), isOver: false, answer: Promise.resolve(false) };
    own.answer = database.probe().then((answers) => {
      own.isOver = true;
      answered = answers;
      return answers;
    });
    last = own;
  };
  /** Asks the database, for a moment at most: when it hangs, what the last probe found counts. */
  const probe = async () => {
    if (last.isOver && performance.now() - last.at >= PROBE_EVERY_MS) look();
    return await Promise.race([last.answer, sleep(PROMPT_MS, undefined, { ref: false }).then(() => answered)]);
  };
  return createFrame({
    ...deps,
    config: { ...config, CORS_ORIGINS: origins.length > 0 ? origins : undefined },
    name: 'hub',
    keys: { readers: config.HUB_API_KEY },
    secrets: { TELEMETRY_ADMIN_KEY: config.TELEMETRY_ADMIN_KEY, TELEMETRY_IP_SALT: config.TELEMETRY_IP_SALT },
    documentation: {
      title: 'platform-node hub',
      description:
        'The configuration that the other services discover their databases from.\n\nMethods that read are open; those that write, and all else, need the key where there is one.',
      tags: ['State', 'JSON-RPC', 'Prices', 'Telemetry', 'Operator', 'Documentation'],
      keys: 'HUB_API_KEY, when it is set'
    },
    readiness: async () => {
      if (!database.isReady()) return 'starting';
      return (await probe()) ? 'ready' : 'unavailable';
    },
    actors: { ...deps.actors, pipeline: () => hubPipeline(config.HUB_DB_NAME, answered) },
    upgrades: { accept: ({ url, headers }) => isStreamRequest(url, headers.upgrade), maxPerAddress: MAX_PER_ADDRESS },
    routes: (app, { addressOf, authenticator, budget, turns }) => {
      const requestsPerMinute = config.HUB_RATE_LIMIT_RPM;
      app.register(streamRoutes, { database, stream, addressOf, authenticator, budget, turns, requestsPerMinute });
      app.register(chainRegistryRoute, { profile: config.PLATFORM_PROFILE, addressOf, requestsPerMinute });
      keepPruned(app, database, config);
      app.register(telemetryRoutes, { database, config, addressOf, turns, placeOf });
    },
    rpc: {
      methods: hubMethods(
        database,
        config,
        { onChange: () => stream.changed(), clockOffMs, set },
        askChains(configuredServices(database), deps.log)
      ),
      requestsPerMinute: config.HUB_RATE_LIMIT_RPM,
      bodyLimitBytes: BODY_LIMIT_BYTES,
      atOnce: STATEMENTS_AT_ONCE,
      serves
    }
  });
}
