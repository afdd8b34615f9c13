/** A caller's question about one network, as its path and query string state it. */
export interface Question {
  readonly method: string;
  /** `{query}` and `{type}` of the path. */
  readonly query?: string;
  /** Texts that a list of the ledger is asked for, all at one block: its answer has that to each, in their order. */
  readonly queries?: readonly string[];
  readonly type?: string;
  /** Query parameters of a list that leave only some of its rows. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Past block of a list that has a past; absent: now. */
  readonly height?: number;
  /** From 1. */
  readonly page: number;
  readonly limit: number;
  readonly order: 'asc' | 'desc';
  readonly cursor?: string;
  /** Format of a list. */
  readonly format: 'json' | 'csv';
}

/** The database's answer to a question. */
export interface Reply {
  /** The finished text: a message between threads takes one more easily than bytes. */
  readonly body: string;
  /** The newest block of the snapshot that was read, and what tells it from others of its height; null while there is none. */
  readonly height: number | null;
  readonly mark: string | null;
  /** No reorg can reach what was read, and nothing is added to it later. */
  readonly isSettled: boolean;
  /** Its total is still being counted: the next answer of this block may have it. */
  readonly isProvisional: boolean;
  /** Cursor of the page after this one. */
  readonly next: string | null;
}
