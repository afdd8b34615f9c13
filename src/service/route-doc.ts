/** The parts of the documentation, in their order. */
export const TAGS = [
  'State',
  'Snapshots',
  'Live stream',
  'Validators',
  'Transparency',
  'Comparison',
  'Operator',
  'Documentation'
] as const;

/** What a route says of itself beside its schemas. */
export interface RouteDoc {
  readonly tag: (typeof TAGS)[number];
  /** One sentence without a full stop. */
  readonly summary: string;
  readonly description?: string;
  /** Statuses that follow neither from its schemas nor from its place; the others are added by rule. */
  readonly statuses?: readonly number[];
  /** Response headers of a 200, by name. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Media type of a 200; default JSON. */
  readonly mediaType?: string;
}
