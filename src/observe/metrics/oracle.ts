import { Gauge, type Registry } from 'prom-client';

/** Outcome of the last price round. */
interface Round {
  readonly answered: number;
  readonly deviation: number;
  readonly keptAt: number | null;
}

/** Sources of the metrics of a hub that fetches prices. */
interface MeasuredOracle {
  /** Number of price sources. */
  readonly configured: number;
  readonly intervalMs: number;
  /** Returns the outcome of the last round; undefined before it. */
  readonly pricing: () => Round | undefined;
}

/** Registers the metrics of a hub that fetches prices. */
export function describeOracle(registry: Registry, { configured, intervalMs, pricing }: MeasuredOracle): void {
  const gauge = (name: string, help: string, read: () => number | undefined) => {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.reset();
        const value = read();
        if (value !== undefined) this.set(value);
      }
    });
  };
  gauge('hub_oracle_sources_missing', 'sources that gave no prices of now in the last round', () => {
    const state = pricing();
    return state && configured - state.answered;
  });
  gauge(
    'hub_oracle_deviation_percent',
    'how far sources differ from a price of the last round, at most',
    () => pricing()?.deviation
  );
  gauge('hub_oracle_rounds_missed', 'rounds since the last one that was kept, by a clock that nobody sets', () => {
    const keptAt = pricing()?.keptAt;
    if (keptAt == null) return undefined;
    return Math.floor((performance.timeOrigin + performance.now() - keptAt) / intervalMs);
  });
}
