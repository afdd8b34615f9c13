/** Documentation of a route, beside its schemas. */
export interface RouteDoc {
  /** The part of the documentation; one of the service's `Documentation.tags`. */
  readonly tag: string;
  /** One sentence without a full stop. */
  readonly summary: string;
  readonly description?: string;
  /** Statuses that follow neither from its schemas nor from its place; the others are added by rule. */
  readonly statuses?: readonly number[];
  /** Response headers of a 200 and a 304, by name. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Media type of a 200; default JSON. */
  readonly mediaType?: string;
  /** Another media type that a 200 has where the caller asks for it. */
  readonly otherMediaType?: string;
  /** Errors are pages too. */
  readonly errorPages?: true;
}
