import { createActor, type InspectionEvent, waitFor } from 'xstate';
import { type BreakerInput, circuitBreakerMachine } from '../../../machines/runtime/circuit-breaker.ts';
import type { Logger } from '../../../src/log.ts';
import type { Circuit } from '../../../src/wire/state/report.ts';

const SHOWN = { closed: 'closed', open: 'open', halfOpen: 'half-open', trial: 'half-open' } as const;

interface CircuitOptions extends BreakerInput {
  /** Sees the machine's changes of state. */
  readonly inspect: (inspection: InspectionEvent) => void;
  readonly onChange: (state: Circuit) => void;
}

/** The settings of an actor's breaker. */
interface BreakerSettings {
  readonly id: { readonly chain: string; readonly network: string };
  readonly circuitFailures: number;
  readonly circuitCooldownMs: number;
}

/** The circuit breaker of one database. */
export class CircuitBreaker {
  readonly #machine;

  constructor({ inspect, onChange, ...input }: CircuitOptions) {
    this.#machine = createActor(circuitBreakerMachine, { input, inspect });
    let shown = this.state;
    this.#machine.subscribe(() => {
      if (this.state === shown) return;
      shown = this.state;
      onChange(shown);
    });
    this.#machine.start();
  }

  get state(): Circuit {
    return SHOWN[this.#machine.getSnapshot().value];
  }

  /** No call may be made now. */
  get refuses(): boolean {
    return this.#machine.getSnapshot().hasTag('refuse');
  }

  /** Waits until a call may be made; rejects when the signal is aborted. */
  async admission(signal: AbortSignal): Promise<void> {
    await waitFor(this.#machine, (snapshot) => !snapshot.hasTag('refuse'), { signal });
  }

  /** Tells it of a call: each that has started ends well, or fails, or was refused before the database was asked. */
  tell(type: 'call.started' | 'call.succeeded' | 'call.failed' | 'call.unasked'): void {
    const { value, context } = this.#machine.getSnapshot();
    // Nothing changes where all is well, and that is told twice for each read of an explorer.
    if (value === 'closed' && context.failures === 0 && type !== 'call.failed') return;
    this.#machine.send({ type });
  }
}

/** Makes the breaker of an actor's database, by its settings. @param changed called after each change of state */
export function databaseBreaker(
  { id, circuitFailures, circuitCooldownMs }: BreakerSettings,
  log: Logger,
  { changed, ...options }: Pick<CircuitOptions, 'inspect' | 'trialTimeoutMs'> & { readonly changed: () => void }
): CircuitBreaker {
  return new CircuitBreaker({
    ...options,
    failureThreshold: circuitFailures,
    cooldownMs: circuitCooldownMs,
    onChange: (state) => {
      if (state === 'open') log.error(`circuit breaker open for ${id.chain}/${id.network}`);
      changed();
    }
  });
}
