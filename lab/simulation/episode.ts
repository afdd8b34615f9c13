/** Report of one episode. */
export interface EpisodeReport {
  readonly seed: string;
  readonly steps: number;
  readonly simulatedMs: number;
  readonly trace: string;
  readonly faults: Readonly<Record<string, number>>;
  /** Figures of the observations. */
  readonly figures: Readonly<Record<string, number>>;
  readonly violation: string | null;
}

/** One world from its beginning to its end. */
export interface Episode {
  /** @param steps of trouble, before there is peace */
  run(steps: number): Promise<EpisodeReport>;
  /** Breaks it off. */
  accuse(reason: string): void;
}
