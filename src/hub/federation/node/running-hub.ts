import { type SigningKey, signingKey } from '../../../consensus/auth-signature.ts';
import type { Connection } from '../../../db/connection.ts';
import { PlatformError } from '../../../errors.ts';
import type { Logger } from '../../../log.ts';
import { SparseLines } from '../../../sparse-lines.ts';
import { leaderOf } from '../consensus/rules.ts';
import { Mesh } from '../gossip/mesh.ts';
import { MESH_LIMITS } from '../gossip/options.ts';
import { Rivals } from '../gossip/rivals.ts';
import { matterRulesOf, roundRulesOf, rulesOf, setIdOf } from '../gossip/signatures.ts';
import type { Journal } from '../journal/journal.ts';
import { readOpenMatters, readSwapsOf } from '../journal/matter-state.ts';
import { type Brought, openLog } from '../journal/opening.ts';
import { findLoss } from '../journal/power-loss.ts';
import { RoundJournal } from '../journal/round-journal.ts';
import { isWellFormed, setState } from '../journal/set-state.ts';
import type { ValidatorNotices, ValidatorSettings } from './validator-asks.ts';
import { ValidatorHub } from './validator-hub.ts';

/** Database, settings and listeners of a hub in validator mode. */
interface RunningHubOptions {
  /** Connection of this hub alone; closed with it. */
  readonly connection: Connection;
  readonly settings: ValidatorSettings;
  /** Whether a log that cannot be gone on with is kept aside, for the state of the set. */
  readonly rejoin: boolean;
  readonly log: Logger;
  /** Sends a notice to the main thread. */
  readonly tell: <K extends keyof ValidatorNotices>(type: K, body: ValidatorNotices[K]) => void;
  /** Called once, when this hub votes no more. */
  readonly fail: (reason: PlatformError) => void;
}

/** Least time between two tellings of the state. */
const TELL_EVERY_MS = 500;

/** Time that other hubs have to show that one of them has more. */
const LOST_AFTER_MS = 5_000;

/** Reasons for which sockets of members are refused, and the time for which one is told. */
const BLAMED: ReadonlySet<string> = new Set(['another time', 'another set', 'another key']);
const BLAMED_MS = 60_000;

/** A hub with an open log, in the mesh of its set. */
export class RunningHub {
  readonly hub: ValidatorHub;
  readonly #options: RunningHubOptions;
  readonly #mesh: Mesh;
  readonly #refusals = new SparseLines();
  readonly #rivals: Rivals;
  /** Time of the last telling, by the clock of the thread. */
  #toldAt = 0;
  #accused = 0;
  /** Last refusal that a setting or a clock is to blame for, and its time by the clock of the thread. */
  #blamed: { readonly fault: string; readonly at: number } | null = null;
  /** Time since which nobody has the log that this hub had, by the clock of the thread; null: somebody may have it. */
  #lostSince: number | null = null;
  /** Last view that began here and was noticed. */
  #view = 0;
  /** Last state, questions and duties that were sent, as texts. */
  #sent = { state: '', questions: '[]', duties: '[]' };

  private constructor(options: RunningHubOptions, set: string, journal: Journal) {
    this.#options = options;
    const key = signingKey(options.settings.seed);
    this.#rivals = new Rivals(matterRulesOf(options.settings.set).faulty);
    this.#mesh = this.#makeMesh(key, set);
    this.hub = this.#makeHub(key, set, journal);
  }

  /**
   * Opens the log, joins the mesh, and votes.
   *
   * @throws {PlatformError} LOG_OUT_OF_ORDER, HUB_HALTED, DATABASE_UNAVAILABLE
   */
  static async start(options: RunningHubOptions): Promise<RunningHub> {
    const { connection, settings, rejoin, log } = options;
    const set = setIdOf(settings.set);
    const rounds = roundRulesOf(settings.set);
    const machine = setState({ rounds, matters: matterRulesOf(settings.set) });
    const { journal, brought, aside } = await openLog(connection, { set, rejoin, machine, rounds, now: Date.now() });
    if (aside !== null)
      log.warn(`the log of this hub is kept in the tables consensus_..._${aside}: it takes the state of its set`);
    const loss = await findLoss(connection);
    if (loss !== null)
      log.warn(
        `MariaDB has ${loss}: a power loss takes back what it took last, so this hub may contradict what it has signed; set it to 1`
      );
    const running = new RunningHub(options, set, journal);
    await running.#begin(brought, set);
    return running;
  }

  async #begin(brought: Brought | null, set: string): Promise<void> {
    const { settings, log } = this.#options;
    await this.#mesh.start();
    await this.hub.start();
    this.#view = this.hub.standing.view;
    this.#tellState();
    void this.#bring(brought);
    log.info({ key: signingKey(settings.seed).pubkey, set, port: settings.port }, 'this hub is in validator mode');
  }

  async stop(): Promise<void> {
    await this.hub.stop();
    await this.#mesh.stop();
    this.#options.connection.destroy();
  }

  #makeMesh(key: SigningKey, set: string): Mesh {
    const { settings, log } = this.#options;
    const { version, seeds, owners, host, port, addr, denied, reconnectBaseMs, reconnectMaxMs } = settings;
    const members = new Set(settings.set.keys);
    return new Mesh({
      key,
      set,
      version,
      seeds,
      owners,
      host,
      port,
      addr,
      limits: { ...MESH_LIMITS, reconnectBaseMs, reconnectMaxMs },
      denied: new Set(denied),
      now: Date.now,
      members: () => members,
      standing: () => this.hub.standing,
      onMessage: (envelope) => this.hub.receive(envelope),
      onFault: (fault, peer) => {
        if (fault === 'seen before') return; // each message comes by several ways
        if (fault === 'own key') {
          this.#noteRival(peer ?? '');
          return;
        }
        if (BLAMED.has(fault)) this.#blamed = { fault, at: performance.now() };
        const more = this.#refusals.take(`${fault} ${peer}`);
        if (more !== null) log.warn({ peer, more }, `a message of another hub was refused: ${fault}`);
      }
    });
  }

  #makeHub(key: SigningKey, set: string, journal: Journal): ValidatorHub {
    const { connection, settings, log, tell, fail } = this.#options;
    const { disabled, writeTimeoutMs, logKeep } = settings;
    return new ValidatorHub({
      key,
      set,
      journal,
      roundJournal: new RoundJournal(connection),
      roundRules: roundRulesOf(settings.set),
      readOpenMatters: () => readOpenMatters(connection),
      readOwnSwaps: () => readSwapsOf(connection, key.pubkey),
      disabled,
      gossip: this.#mesh,
      now: Date.now,
      writeTimeoutMs,
      logKeep,
      rules: rulesOf(settings.set, key.pubkey, isWellFormed),
      onRound: (time) => tell('priced', time),
      onEvidence: (first, second) => {
        this.#accused += 1;
        log.error({ first, second }, `hub ${first.sender} signed two messages for one place`);
      },
      onFalse: (peer, what) => {
        // It chooses the keys and places that it names: of each hub that lies there is one cause, or it would use up all of them.
        const more = this.#refusals.take(`false ${peer}`);
        if (more !== null) log.warn({ peer, more }, `hub ${peer} lies, or its program differs: it sent ${what}`);
      },
      onForgotten: (seq) => {
        if (this.#refusals.take('forgotten') === null) return;
        log.error(
          { seq },
          'this hub has signed batches that its database does not know of: an old copy was put back, it was lost, or a power loss took votes back; until it has the log of the others it counts as one that may lie'
        );
      },
      onTooLong: (type, bytes) =>
        log.error({ type, bytes }, 'a message to the other hubs is too long: none of them gets it'),
      onTick: () => {
        if (performance.now() >= this.#toldAt + TELL_EVERY_MS) this.#tellState();
      },
      onHalt: (reason) => {
        const { standing } = this.hub;
        tell('validator', {
          phase: 'halted',
          ...standing,
          peers: [],
          refused: null,
          tests: [],
          accused: this.#accused,
          round: null,
          waiting: 0,
          lost: null,
          split: null
        });
        fail(reason);
      }
    });
  }

  /** Says that another process has the key of this hub, where more hubs than may lie show it. */
  #noteRival(peer: string): void {
    const now = performance.now();
    if (!this.#rivals.note(peer, now)) return;
    this.#blamed = { fault: 'own key', at: now };
    const more = this.#refusals.take('own key');
    if (more !== null)
      this.#options.log.error(
        { more },
        'another process has the key of this hub: other hubs close its sockets for those'
      );
  }

  /** Tells the state, the questions about chains, and the duties, each when it has changed. */
  #tellState(): void {
    const { tell } = this.#options;
    const { hub } = this;
    this.#toldAt = performance.now();
    this.#noteView();
    const round = hub.rounds?.last ?? null;
    const { tests } = hub.capabilities;
    const { peers } = this.#mesh;
    const { waiting, split } = hub;
    const refused = this.#blamed && performance.now() < this.#blamed.at + BLAMED_MS ? this.#blamed.fault : null;
    const accused = this.#accused;
    const lost = this.#findLost();
    const state = { phase: hub.phase, ...hub.standing, peers, refused, tests, accused, round, waiting, lost, split };
    const { questions } = hub.witness;
    const duties = hub.publishing?.duties ?? [];
    const texts = {
      state: JSON.stringify(state),
      questions: JSON.stringify(questions),
      duties: JSON.stringify(duties)
    };
    if (texts.state !== this.#sent.state) tell('validator', state);
    if (texts.questions !== this.#sent.questions) tell('questions', questions);
    if (texts.duties !== this.#sent.duties) tell('duties', duties);
    this.#sent = texts;
  }

  /** Returns up to where nobody has the log that this hub had, once it has looked for some seconds. */
  #findLost(): number | null {
    const { lost } = this.hub;
    this.#lostSince = lost === null ? null : (this.#lostSince ?? performance.now());
    return this.#lostSince !== null && performance.now() >= this.#lostSince + LOST_AFTER_MS ? lost : null;
  }

  /** Says which hub leads where another one has led, and let operations wait. */
  #noteView(): void {
    const { settings, log } = this.#options;
    const { view } = this.hub.standing;
    if (view <= this.#view) return;
    const rules = { keys: settings.set.keys };
    const [leader, former] = [leaderOf(rules, view), leaderOf(rules, this.#view)];
    log.warn({ view, leader, former }, `hub ${leader} leads now: hub ${former} let operations wait, or was away`);
    this.#view = view;
  }

  /** Tells the set the configuration that this hub had before, unless an earlier start did. The set takes the first one alone. */
  async #bring(brought: Brought | null): Promise<void> {
    const { hub } = this;
    const { log } = this.#options;
    if (!brought || hub.isWaiting) return;
    const { bodies, entries, refused } = brought;
    if (refused > 0) log.warn(`${refused} entries that updateconfig would not take stay behind, in configs_before_set`);
    try {
      const places = await Promise.all(bodies.map((body) => hub.submit(body)));
      log.info({ seq: places.at(-1) }, `the set has the configuration of this hub: ${entries} entries`);
    } catch (caught) {
      const { code, message } = PlatformError.from(caught);
      if (code === 'CONSENSUS_TIMEOUT')
        log.warn(
          'the set has not decided on the configuration that this hub had before: it waits, and is kept until then'
        );
      else
        log.error(
          `the configuration that this hub had before its set did not become that of the set: ${message}; see configs_before_set`
        );
    }
  }
}
