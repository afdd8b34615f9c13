/** What a caller wants of one network, as its path and query string say it. */
export interface Question {
  readonly method: string;
  /** `{query}` and `{type}` of the path. */
  readonly query?: string;
  readonly type?: string;
  /** Query parameters of a list that leave only some of its rows. */
  readonly parameters: Readonly<Record<string, string>>;
  /** From 1. */
  readonly page: number;
  readonly limit: number;
  readonly order: 'asc' | 'desc';
  readonly cursor?: string;
}

/** What the database had for it. */
export interface Reply {
  /** JSON in UTF-8. */
  readonly body: Uint8Array;
  /** The newest block of the snapshot that was read; null while there is none. */
  readonly height: number | null;
}
