import { type Actor, createActor } from 'xstate';
import { type CapabilityPhase, capabilityMachine } from '../../../../machines/hub/capability.ts';
import type { Envelope } from '../gossip/envelope.ts';
import type { KnownCapability } from '../journal/round-journal.ts';
import { type CapabilityName, capabilityBodyOf, isCapabilityName, MOST_REASON } from '../rounds/operations.ts';

/** Findings about one capability of this hub. */
export interface CapabilityCheck {
  readonly name: CapabilityName;
  /** Whether its stake is enough; null: nobody could say. */
  readonly hasStake: boolean | null;
  readonly passes: boolean;
  /** Reason why the self-test failed; null where it passed. */
  readonly reason: string | null;
}

/** Outcome of a hub's last self-test, as it told it. */
export interface ToldTest {
  readonly pubkey: string;
  readonly capability: string;
  readonly ok: boolean;
  readonly reason: string | null;
}

interface CapabilitiesOptions {
  /** Key of this hub. */
  readonly self: string;
  readonly set: string;
  /** Capabilities that this hub does not serve. */
  readonly disabled: readonly string[];
  readonly publish: (type: string, data: Readonly<Record<string, unknown>>) => void;
  /** Has an operation decided. */
  readonly submit: (body: string) => Promise<unknown>;
}

/** Outcomes that are remembered: four of each hub of the largest set. */
const MOST_TOLD = 256;

/**
 * Capabilities of a hub: each follows its machine. A change is told to all at once, and written to the log; where that fails, it is
 * written after the next check.
 */
export class Capabilities {
  readonly #options: CapabilitiesOptions;
  readonly #actors = new Map<CapabilityName, Actor<typeof capabilityMachine>>();
  /** By name, this hub's state in the log. */
  #known: ReadonlyMap<string, CapabilityPhase> = new Map();
  /** By name, the state that is on its way into the log. */
  readonly #submitted = new Map<string, CapabilityPhase>();
  readonly #announced = new Map<string, ToldTest>();

  constructor(options: CapabilitiesOptions) {
    this.#options = options;
  }

  /** Outcomes of the hubs' last self-tests. */
  get tests(): readonly ToldTest[] {
    return [...this.#announced.values()];
  }

  /** Takes the capabilities as the log has them. */
  note(known: readonly KnownCapability[]): void {
    const own = known.filter(({ pubkey }) => pubkey === this.#options.self);
    this.#known = new Map(own.map(({ name, phase }) => [name, phase]));
  }

  /** Takes what was found about this hub. @param height  block of Bitcoin at which its stake was counted */
  check(checks: readonly CapabilityCheck[], height: number | null): void {
    const { self, set, publish } = this.#options;
    for (const { name, hasStake, passes, reason: ownReason } of checks) {
      const reason = ownReason?.slice(0, MOST_REASON).toWellFormed() ?? null;
      const actor = this.#actorOf(name);
      const before = phaseOf(actor);
      actor.send({ type: 'hub.checked', hasStake, passes });
      const phase = phaseOf(actor);
      const announcement = { pubkey: self, capability: name, ok: passes, ...(reason !== null && { reason }) };
      if (phase !== 'disabled') publish('CAPABILITY_SELF_TEST', { set, ...announcement });
      this.#keepTest({ pubkey: self, capability: name, ok: passes, reason });
      if (isActive(before) !== isActive(phase))
        publish(isActive(phase) ? 'CAPABILITY_ACTIVATED' : 'CAPABILITY_DEACTIVATED', {
          set,
          pubkey: self,
          capability: name,
          block_at: height,
          ...(reason !== null && { reason })
        });
      this.#write(name, phase, height, passes ? null : reason);
    }
  }

  /** Takes a genuine message of another hub. Each hub tells of itself alone. @returns whether it is about capabilities */
  receive({ type, sender, data }: Envelope): boolean {
    if (!type.startsWith('CAPABILITY_')) return false;
    const { set, pubkey, capability, ok, reason = null } = data;
    if (set !== this.#options.set || pubkey !== sender || typeof capability !== 'string') return true;
    const isReason = reason === null || typeof reason === 'string';
    if (type === 'CAPABILITY_SELF_TEST' && typeof ok === 'boolean' && isReason)
      this.#keepTest({ pubkey: sender, capability, ok, reason });
    return true;
  }

  #keepTest(test: ToldTest): void {
    if (!isCapabilityName(test.capability) || (test.reason?.length ?? 0) > MOST_REASON) return;
    const place = `${test.pubkey} ${test.capability}`;
    if (this.#announced.size < MOST_TOLD || this.#announced.has(place)) this.#announced.set(place, test);
  }

  #actorOf(name: CapabilityName): Actor<typeof capabilityMachine> {
    const running = this.#actors.get(name);
    if (running) return running;
    const known = this.#known.get(name) ?? 'unqualified';
    const isDisabled = this.#options.disabled.includes(name);
    const phase = isDisabled ? 'disabled' : known === 'disabled' ? 'unqualified' : known;
    const actor = createActor(capabilityMachine, { input: { phase } });
    this.#actors.set(name, actor.start());
    return actor;
  }

  /** Has a state written that the log does not have. */
  #write(name: CapabilityName, phase: CapabilityPhase, height: number | null, reason: string | null): void {
    if ((this.#known.get(name) ?? 'unqualified') === phase || this.#submitted.get(name) === phase) return;
    this.#submitted.set(name, phase);
    const isOver = () => {
      if (this.#submitted.get(name) === phase) this.#submitted.delete(name);
    };
    this.#options.submit(capabilityBodyOf({ name, phase, height, reason })).then(isOver, isOver);
  }
}

function phaseOf(actor: Actor<typeof capabilityMachine>): CapabilityPhase {
  return actor.getSnapshot().value as CapabilityPhase;
}

function isActive(phase: CapabilityPhase): boolean {
  return phase === 'qualified' || phase === 'ready';
}
