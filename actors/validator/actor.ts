import { workerData } from 'node:worker_threads';
import { signingKey } from '../../src/consensus/auth-signature.ts';
import { connect } from '../../src/db/connection.ts';
import { PlatformError } from '../../src/errors.ts';
import { Mesh } from '../../src/hub/federation/gossip/mesh.ts';
import { MESH_LIMITS } from '../../src/hub/federation/gossip/options.ts';
import { matterRulesOf, roundRulesOf, rulesOf, setIdOf } from '../../src/hub/federation/gossip/signatures.ts';
import { readOpenMatters, readSwapsOf } from '../../src/hub/federation/journal/matter-state.ts';
import { type Brought, openLog } from '../../src/hub/federation/journal/opening.ts';
import { RoundJournal } from '../../src/hub/federation/journal/round-journal.ts';
import { isWellFormed, setState } from '../../src/hub/federation/journal/set-state.ts';
import type {
  ValidatorAsks,
  ValidatorNotices,
  ValidatorSettings
} from '../../src/hub/federation/node/validator-asks.ts';
import { ValidatorHub } from '../../src/hub/federation/node/validator-hub.ts';
import { createLogger } from '../../src/log.ts';
import { SparseLines } from '../../src/sparse-lines.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { hostActor } from '../runtime/thread/actor-host.ts';

/** Start data of a validator actor's thread. */
export interface ValidatorActorData {
  readonly database: DatabaseCoordinates;
  readonly settings: ValidatorSettings;
  /** Whether a log that cannot be gone on with is kept aside, for the state of the set. */
  readonly rejoin: boolean;
  readonly logLevel: string;
}

/** The part of the thread that runs, once its database answers. */
interface Running {
  readonly hub: ValidatorHub;
  stop(): Promise<void>;
}

/** Writes that wait for the log, and some. */
const MAILBOX_LIMIT = 1_100;
const LOOK_EVERY_MS = 500;

const { database, settings, rejoin, logLevel } = workerData as ValidatorActorData;
const log = createLogger('hub', logLevel).child({ database: database.name });
let running: Running | null = null;
const host = hostActor<ValidatorAsks, Record<never, never>, ValidatorNotices>({
  handlers: {
    submit: async ({ body }) => {
      if (!running) throw new PlatformError('HUB_HALTED', { reason: 'it is starting' });
      return { seq: await running.hub.submit(body) };
    },
    find: async ({ at, prices }) => {
      running?.hub.rounds?.find(at, prices);
      return running !== null;
    },
    answer: async (answer) => {
      running?.hub.witness.answer(answer);
      return running !== null;
    },
    keep: async ({ round, made }) => (await running?.hub.publishing?.keep(round, made)) ?? null,
    announce: async ({ round }) => {
      running?.hub.publishing?.announce(round);
      return running !== null;
    },
    check: async ({ checks, height }) => {
      running?.hub.capabilities.check(checks, height);
      return running !== null;
    }
  },
  stop: async () => await running?.stop(),
  log,
  mailboxLimit: MAILBOX_LIMIT
});

try {
  running = await open();
} catch (caught) {
  host.fail(isPortTaken(caught) ? new PlatformError('PORT_IN_USE', { reason: `P2P_PORT=${settings.port}` }) : caught);
}

/** Opens the log, joins the mesh, and votes. @throws {PlatformError} LOG_OUT_OF_ORDER, HUB_HALTED, DATABASE_UNAVAILABLE */
async function open(): Promise<Running> {
  const key = signingKey(settings.seed);
  const set = setIdOf(settings.set);
  const members = new Set(settings.set.keys);
  const roundRules = roundRulesOf(settings.set);
  const connection = await connect(database);
  const { journal, brought, aside } = await openLog(connection, {
    set,
    rejoin,
    machine: setState({ rounds: roundRules, matters: matterRulesOf(settings.set) }),
    now: Date.now()
  });
  if (aside !== null)
    log.warn(`the log of this hub is kept in the tables consensus_..._${aside}: it takes the state of its set`);
  const refusals = new SparseLines();
  let accused = 0;
  const { reconnectBaseMs, reconnectMaxMs, writeTimeoutMs, logKeep, version, seeds } = settings;
  const mesh: Mesh = new Mesh({
    key,
    set,
    version,
    seeds,
    host: settings.host,
    port: settings.port,
    addr: settings.addr,
    limits: { ...MESH_LIMITS, reconnectBaseMs, reconnectMaxMs },
    denied: new Set(settings.denied),
    now: Date.now,
    members: () => members,
    standing: () => hub.standing,
    onMessage: (envelope) => hub.receive(envelope),
    onFault: (fault, peer) => {
      if (fault === 'seen before') return; // each message comes by several ways
      const more = refusals.take(`${fault} ${peer}`);
      if (more !== null) log.warn({ peer, more }, `a message of another hub was refused: ${fault}`);
    }
  });
  const hub = new ValidatorHub({
    key,
    set,
    journal,
    roundJournal: new RoundJournal(connection),
    roundRules,
    readOpenMatters: () => readOpenMatters(connection),
    readOwnSwaps: () => readSwapsOf(connection, key.pubkey),
    disabled: settings.disabled,
    gossip: mesh,
    now: Date.now,
    writeTimeoutMs,
    logKeep,
    rules: rulesOf(settings.set, key.pubkey, isWellFormed),
    onRound: (time) => host.tell('priced', time),
    onEvidence: (first, second) => {
      accused += 1;
      log.error({ first, second }, `hub ${first.sender} signed two messages for one place`);
    },
    onHalt: (reason) => {
      host.tell('validator', { phase: 'halted', ...hub.standing, peers: [], tests: [], accused, round: null });
      host.fail(reason);
    }
  });
  let [sent, asked, due] = ['', '[]', '[]'];
  const tellState = () => {
    const round = hub.rounds?.last ?? null;
    const { tests } = hub.capabilities;
    const state = { phase: hub.phase, ...hub.standing, peers: mesh.peers, tests, accused, round };
    const text = JSON.stringify(state);
    if (text !== sent) host.tell('validator', state);
    sent = text;
    const { questions } = hub.witness;
    const questionsText = JSON.stringify(questions);
    if (questionsText !== asked) host.tell('questions', questions);
    asked = questionsText;
    const duties = hub.publishing?.duties ?? [];
    const dutiesText = JSON.stringify(duties);
    if (dutiesText !== due) host.tell('duties', duties);
    due = dutiesText;
  };
  await mesh.start();
  await hub.start();
  const looking = setInterval(tellState, LOOK_EVERY_MS);
  tellState();
  void bring(hub, brought);
  log.info({ key: key.pubkey, set, port: settings.port }, 'this hub is in validator mode');
  const stop = async () => {
    clearInterval(looking);
    await hub.stop();
    await mesh.stop();
    connection.destroy();
  };
  return { hub, stop };
}

/** Tells the set the configuration that this hub had before, unless an earlier start did. The set takes the first one alone. */
async function bring(hub: ValidatorHub, brought: Brought | null): Promise<void> {
  if (!brought || hub.isWaiting) return;
  const { body, entries, refused } = brought;
  if (refused > 0) log.warn(`${refused} entries that updateconfig would not take stay behind, in configs_before_set`);
  try {
    const seq = await hub.submit(body);
    log.info({ seq }, `the set has the configuration of this hub: ${entries} entries`);
  } catch (caught) {
    const { message } = PlatformError.from(caught);
    log.error(
      `the configuration that this hub had before its set did not become that of the set: ${message}; see configs_before_set`
    );
  }
}

function isPortTaken(caught: unknown): boolean {
  return (caught as { code?: unknown } | null)?.code === 'EADDRINUSE';
}
