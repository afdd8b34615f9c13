import type { HubActorData } from '../../actors/hub/actor.ts';
import type { PricesActorData } from '../../actors/prices/actor.ts';
import { actorEntry } from '../../actors/runtime/supervision/actor-handle.ts';
import { KeptPauses } from '../../actors/runtime/supervision/kept-pauses.ts';
import { Supervisor } from '../../actors/runtime/supervision/supervisor.ts';
import type { ValidatorActorData } from '../../actors/validator/actor.ts';
import type { BreakerInput } from '../../machines/runtime/circuit-breaker.ts';
import { findNetwork } from '../coin/find-network.ts';
import { databaseOf } from '../config/database.ts';
import type { HubConfig } from '../config/services/hub.ts';
import { PlatformError, type WireError } from '../errors.ts';
import type { Logger } from '../log.ts';
import { describeHubSet } from '../observe/metrics/hub-set.ts';
import { createMetrics } from '../observe/metrics/metrics.ts';
import { describeOracle } from '../observe/metrics/oracle.ts';
import { VERSION } from '../process/program.ts';
import type { OpenedBy } from '../service/define.ts';
import { openService } from '../service/life/open-service.ts';
import { type ActorId, type ActorName, actorKey } from '../wire/state/actor.ts';
import type { ActorReport } from '../wire/state/report.ts';
import { createHubApp } from './app.ts';
import { checkCapabilities } from './capability-checks.ts';
import { askChains } from './chain-facts.ts';
import { configuredServices, ownServices } from './chain-services.ts';
import { neededPeers } from './federation/consensus/rules.ts';
import type { PublishingDuty } from './federation/node/price-publishing.ts';
import type { ValidatorAsks, ValidatorNotices, ValidatorState } from './federation/node/validator-asks.ts';
import type { Question } from './federation/node/witness.ts';
import type { OracleSettings } from './oracle/oracle.ts';
import { publicationMaker } from './publishing/maker.ts';
import { Publisher } from './publishing/publisher.ts';
import { remoteDatabase } from './remote-database.ts';
import { remoteSet } from './remote-set.ts';
import { troubleOf } from './set-trouble.ts';
import type { FoundPrices, HubAsks, HubDatabaseState, HubNotices, PricesNotices, PricesState } from './store/asks.ts';
import { PriceStream } from './stream/price-stream.ts';
import { openPlaces } from './telemetry/places.ts';
import { quorumOf, validatorSettingsOf } from './validator-settings.ts';
import { WitnessAsks } from './witness-asks.ts';

interface HubOptions {
  /** HUB_PORT=0 takes a free one. */
  readonly config: HubConfig;
  readonly log: Logger;
  readonly service: OpenedBy;
  /** Limits after which the database is taken for down, default after 10 failures for 30 seconds. */
  readonly breaker?: BreakerInput;
  /** In validator mode: whether a log that cannot be gone on with is kept aside, for the state of the set. Default: no. */
  readonly rejoin?: boolean;
}

/** A running hub. */
export interface Hub {
  readonly port: number;
  /** Rejected when it cannot go on. */
  readonly ended: Promise<void>;
  /** Finishes the requests in flight, ends the others after SHUTDOWN_GRACE_MS, closes the database. */
  stop(): Promise<void>;
}

/** Neither is of one network. */
const HUB = { kind: 'hub', chain: 'all', network: 'all' } as const;
const PRICES = { ...HUB, kind: 'prices' } as const;
const VALIDATOR = { ...HUB, kind: 'validator' } as const;
/** Time between two looks for stake and self-tests. */
const CHECK_EVERY_MS = 60_000;
/** Chain that has the stakes. */
const STAKES = 'BTC';
/** Time between two looks for what the set wants to know of chains. */
const ASK_EVERY_MS = 2_000;

/**
 * Starts a hub: a front door here, its database in an actor, an actor that finds prices where there are sources, and one for its set in
 * validator mode. It listens at once and says 503 in `health` until its database is there.
 *
 * @param signal ends the waiting for the database; a hub that has started is ended with `stop`
 * @returns when its database is ready
 * @throws {PlatformError} PORT_IN_USE, CONFIG_INVALID (the address, TELEMETRY_GEO_DB), DATABASE_REFUSED
 */
export async function startHub(
  { config, log, service, breaker, rejoin = false }: HubOptions,
  signal = new AbortController().signal
): Promise<Hub> {
  const placeOf = await openPlaces(config.TELEMETRY_GEO_DB);
  const coordinates = databaseOf(config, 'HUB');
  const ready = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => ready.reject(signal.reason));
  ready.promise.catch(() => undefined); // it may end before somebody waits for it
  let state: HubDatabaseState = { isReady: false, circuit: 'closed', takesWrites: true };
  let wasReady = false;
  let pricing: PricesState | undefined;
  const member = validatorSettingsOf(config, config.HUB_HOST, VERSION);
  let lastStanding: ValidatorState = {
    phase: 'starting',
    view: 0,
    seq: 0,
    peers: [],
    refused: null,
    tests: [],
    accused: 0,
    round: null,
    waiting: 0,
    lost: null,
    split: null
  };
  /** Time of the process's clock at which its set decided something last, or nothing waited. */
  let movedAt = performance.now();
  /** Whether the actor that votes has had its log. */
  let hasVoted = false;
  let isVoting = () => false;
  let noteCommit: (seconds: number) => void = () => undefined;
  /** Returns what the actor that votes told last, as far as it is true while that does not run. */
  const standingNow = (): ValidatorState =>
    isVoting() || lastStanding.phase === 'halted' ? lastStanding : { ...lastStanding, phase: 'starting', peers: [] };
  let [checking, asking]: (NodeJS.Timeout | undefined)[] = [];
  /** Questions of the set about chains that this hub has not answered. */
  let questions: readonly Question[] = [];
  let askChain: () => Promise<void> = async () => undefined;
  /** Rounds that this hub has to publish, or has published. */
  let duties: readonly PublishingDuty[] = [];
  let publish: () => Promise<void> = async () => undefined;
  /** Looks for what this hub of a set is capable of, and tells the actor that votes. */
  let check: () => Promise<void> = async () => undefined;
  const reportNow = (id: ActorName): ActorReport | undefined => {
    if (actorKey(id) === actorKey(HUB)) return reportOf(state);
    if (actorKey(id) === actorKey(VALIDATOR))
      return { phase: standingNow().phase, circuit: null, height: null, tip: null, lagBlocks: null, lastError: null };
    return (
      pricing && {
        phase: pricing.phase,
        lastError: pricing.lastError,
        circuit: null,
        height: null,
        tip: null,
        lagBlocks: null
      }
    );
  };
  const metrics = createMetrics({
    service: 'hub',
    describe: (registry) => {
      const configured = config.PRICE_SOURCES?.length ?? 0;
      if (configured > 0)
        describeOracle(registry, { configured, intervalMs: config.ORACLE_ROUND_INTERVAL, pricing: () => pricing });
      if (member) {
        const { keys, votes } = quorumOf(member);
        noteCommit = describeHubSet(registry, {
          members: keys.length,
          needed: neededPeers(votes),
          standing: standingNow
        });
      }
      return () => undefined;
    },
    actors: () => supervisor.list().map((actor) => ({ actor, report: reportNow(actor.id) }))
  });
  const { supervisor, port, ended, stop } = await openService({
    service,
    config,
    log,
    metrics,
    place: {
      host: config.HUB_HOST,
      port: config.HUB_PORT,
      variables: { host: 'HUB_HOST', port: 'HUB_PORT', key: 'HUB_API_KEY' },
      hasKey: config.HUB_API_KEY !== undefined,
      exposure: 'ANYONE who reaches this port can change the configuration, and read its database passwords'
    },
    open: (base, fail) => {
      const supervisor = new Supervisor<
        HubAsks & ValidatorAsks,
        Record<never, never>,
        HubNotices & PricesNotices & ValidatorNotices,
        ActorId
      >({
        log,
        handlers: {},
        ...base.observers,
        pauses: new KeptPauses(base.stateDirectory, log),
        listeners: {
          state: (next: HubDatabaseState) => {
            state = next;
            wasReady ||= next.isReady;
            if (next.isReady) ready.resolve();
          },
          refused: (error: WireError) => ready.reject(PlatformError.fromWire(error)),
          pricing: (next: PricesState) => {
            pricing = next;
          },
          found: ({ at, prices }: FoundPrices) => {
            if (member) void tell('find', { at, prices });
          },
          priced: () => {
            stream.changed();
            void check();
          },
          questions: (next: readonly Question[]) => {
            const isNew = questions.length === 0;
            questions = next;
            if (isNew) void askChain();
          },
          duties: (next: readonly PublishingDuty[]) => {
            duties = next;
          },
          validator: (next: ValidatorState) => {
            const isNew = lastStanding.phase === 'starting';
            if (next.seq !== lastStanding.seq || lastStanding.waiting === 0) movedAt = performance.now();
            lastStanding = next;
            hasVoted = true;
            if (isNew) void check();
          }
        },
        onFatal: (error) => {
          ready.reject(error);
          fail(error);
        }
      });
      isVoting = () => supervisor.list().some(({ id, state: now }) => id.kind === VALIDATOR.kind && now === 'running');
      const database = remoteDatabase({
        ask: (type, body, options) => supervisor.handle(HUB).ask(type, body, options),
        state: () => state
      });
      /** Tells the actor that votes; one that is starting is told again after the next look. */
      const tell = async <K extends 'find' | 'check' | 'answer'>(type: K, body: ValidatorAsks[K]['request']) => {
        if (standingNow().phase === 'starting') return;
        try {
          await supervisor.handle(VALIDATOR).ask(type, body);
        } catch {
          // It is paused, restarts or stops: nothing is lost by it.
        }
      };
      if (member) {
        const { CAPABILITY_INDEXERS: indexers = [], CAPABILITY_NODES: nodes = [] } = config;
        const facts = askChains(ownServices(indexers, nodes), log);
        const hasStakes = indexers.some(({ chain }) => chain === STAKES);
        const { stakeOf } = hasStakes ? facts : askChains(configuredServices(database), log);
        const maker = publicationMaker(config);
        const hub = {
          facts: { ...facts, stakeOf },
          publishing: maker && { address: maker.address, test: () => maker.test() },
          pubkey: quorumOf(member).self,
          minimumStakes: config.HUB_CAPABILITY_CONFIG,
          warn: (fault: string) => log.warn(`this hub publishes no rounds of prices: ${fault}`)
        };
        if (maker) {
          const actor = supervisor.handle.bind(supervisor, VALIDATOR);
          const publisher = new Publisher({
            maker,
            facts,
            duties: () => (isVoting() ? duties : []),
            keep: (round, made) => actor().ask('keep', { round, made }),
            announce: (round) => actor().ask('announce', { round }),
            log
          });
          publish = () => publisher.work();
        }
        const roundIntervalMs = config.ORACLE_ROUND_INTERVAL;
        const answering = { facts, questions: () => (isVoting() ? questions : []), now: Date.now };
        const asks = new WitnessAsks({ ...answering, tell: (answer) => tell('answer', answer) });
        askChain = () => asks.ask();
        check = async () => tell('check', await checkCapabilities({ ...hub, pricing: () => pricing, roundIntervalMs }));
      }
      const set =
        member &&
        remoteSet({
          submit: async (body, options) => {
            // It waits for the database, as the actor that votes does later on.
            if (!supervisor.list().some(({ id }) => id.kind === VALIDATOR.kind))
              throw new PlatformError('HUB_HALTED', { reason: 'it is starting' });
            const began = performance.now();
            await supervisor.handle(VALIDATOR).ask('submit', { body }, options);
            noteCommit((performance.now() - began) / 1_000);
          },
          state: standingNow,
          trouble: () =>
            troubleOf({
              actor: supervisor.list().find(({ id }) => id.kind === VALIDATOR.kind),
              standing: standingNow(),
              needed: neededPeers(quorumOf(member).votes),
              stillMs: performance.now() - movedAt
            }),
          ...quorumOf(member),
          writeTimeoutMs: member.writeTimeoutMs
        });
      const serves = (code: string) => findNetwork(code)?.code === code.toUpperCase();
      const limits = { sends: config.WS_BACKPRESSURE_LIMIT, bytes: config.WS_BACKPRESSURE_MAX_BYTES };
      const stream = new PriceStream(database, log, limits);
      const app = createHubApp({
        ...base,
        config,
        log,
        database,
        set,
        stream,
        serves,
        placeOf,
        clockOffMs: () => pricing?.clockOffMs ?? 0,
        actors: {
          list: () => supervisor.list(),
          timeline: supervisor.timeline,
          control: supervisor,
          describe: (id) => ({ report: reportNow(id) ?? null })
        }
      });
      const endWork = (graceMs: number) => {
        clearInterval(checking);
        clearInterval(asking);
        return supervisor.stopAll(graceMs);
      };
      return { app, supervisor, endWork };
    }
  });
  try {
    for (const warning of openGates(config)) log.warn(warning);
    const hubData = (): HubActorData => ({
      database: coordinates,
      breaker,
      isFirst: !wasReady,
      logLevel: config.LOG_LEVEL
    });
    supervisor.start({ id: HUB, kind: HUB.kind, entry: actorEntry('hub'), workerData: hubData });
    await ready.promise;
    if (config.PRICE_SOURCES?.length) {
      const settings = oracleSettingsOf(config);
      const workerData: PricesActorData = { database: coordinates, settings, logLevel: config.LOG_LEVEL };
      supervisor.start({ id: PRICES, kind: PRICES.kind, entry: actorEntry('prices'), workerData });
    }
    if (member) {
      const workerData = (): ValidatorActorData => {
        const once = rejoin && !hasVoted; // one that halts again is not to lose its log once more
        lastStanding = { ...lastStanding, phase: 'starting' };
        return { database: coordinates, settings: member, rejoin: once, logLevel: config.LOG_LEVEL };
      };
      supervisor.start({ id: VALIDATOR, kind: VALIDATOR.kind, entry: actorEntry('validator'), workerData });
      checking = setInterval(() => void check(), CHECK_EVERY_MS);
      asking = setInterval(() => {
        void askChain();
        void publish();
      }, ASK_EVERY_MS);
    } else if (config.P2P_VALIDATOR_ADDR !== undefined)
      log.warn('this hub is the only one of its set: it writes directly, as a standalone one');
    if (rejoin && !member) log.warn('--rejoin changes nothing: this hub is of no set');
    log.info({ host: config.HUB_HOST, port, schema: config.HUB_DB_NAME }, `hub ready on ${config.HUB_HOST}:${port}`);
    return { port, ended, stop };
  } catch (caught) {
    await stop();
    throw caught;
  }
}

/** Describes the methods that the operator opened to callers without the key although there is one. */
function openGates({ HUB_API_KEY, HUB_SENSITIVE_READ_AUTH, HUB_PUSH_AUTH, HUB_HOST }: HubConfig): readonly string[] {
  if (HUB_API_KEY === undefined) return [];
  const reach = `who reaches ${HUB_HOST}`;
  return [
    ...(HUB_SENSITIVE_READ_AUTH === false
      ? [`HUB_SENSITIVE_READ_AUTH=false: ANYONE ${reach} reads the passwords in getallconfigs; unset it to mask them`]
      : []),
    ...(HUB_PUSH_AUTH === false
      ? [`HUB_PUSH_AUTH=false: ANYONE ${reach} may push tips, prices and rewards; unset it to ask others for the key`]
      : [])
  ];
}

function oracleSettingsOf(config: HubConfig): OracleSettings {
  const { PRICE_SOURCES, ORACLE_ROUND_INTERVAL, ORACLE_MIN_SOURCES, PRICE_FETCH_TIMEOUT, COINMARKETCAP_API_KEY } =
    config;
  const { PRICE_SOURCE_COINGECKO_URL, PRICE_SOURCE_KRAKEN_URL, PRICE_SOURCE_COINMARKETCAP_URL } = config;
  const { P2P_VALIDATOR_ADDR, ORACLE_EPOCH_START } = config;
  return {
    PRICE_SOURCES,
    ORACLE_ROUND_INTERVAL,
    ORACLE_MIN_SOURCES,
    // Hubs of a set look for prices when a round of theirs begins.
    ORACLE_EPOCH_START: P2P_VALIDATOR_ADDR === undefined ? undefined : ORACLE_EPOCH_START,
    PRICE_FETCH_TIMEOUT,
    COINMARKETCAP_API_KEY,
    PRICE_SOURCE_COINGECKO_URL,
    PRICE_SOURCE_KRAKEN_URL,
    PRICE_SOURCE_COINMARKETCAP_URL
  };
}

function reportOf({ isReady, circuit }: HubDatabaseState): ActorReport {
  const phase = isReady ? 'ready' : 'waiting';
  return { phase, circuit, height: null, tip: null, lagBlocks: null, lastError: null };
}
