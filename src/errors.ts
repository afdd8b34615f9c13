/** What the supervisor does with an actor that failed: restart it, stop it until an operator acts, or end the process. */
export type FaultPolicy = 'restart' | 'park' | 'exit';

interface ErrorRow {
  /** HTTP status of a request that met it. */
  readonly status: number;
  readonly policy: FaultPolicy;
  /** What the operator does about it. */
  readonly hint: string;
}

/** Every failure this system can name. This table is the operator's manual: code, HTTP status, policy, remedy. */
export const ERRORS = {
  /** An environment variable or config.json value is missing or wrong. All of them are listed at once. */
  CONFIG_INVALID: { status: 500, policy: 'exit', hint: 'correct the variables named above; --help lists them all' },
  /** The command line names an unknown command or option. */
  COMMAND_INVALID: {
    status: 400,
    policy: 'exit',
    hint: 'platform-node --help lists the commands, <command> --help its options'
  },
  /** A file that a command was given is not what it must be. */
  INPUT_INVALID: { status: 400, policy: 'exit', hint: 'name a file that the console exported' },
  /** Another process listens on the address. */
  PORT_IN_USE: { status: 500, policy: 'exit', hint: 'stop the other process or choose another port' },
  /** The directory for what the service keeps cannot be made or written to. */
  STATE_UNUSABLE: {
    status: 500,
    policy: 'exit',
    hint: 'name a directory that is missing still, or one that this user alone may write to'
  },
  /** Another process keeps its own things in the directory. */
  STATE_LOCKED: { status: 500, policy: 'exit', hint: 'stop the other process, or name another directory' },
  /** The single-file program cannot write out what its threads start from. */
  TEMP_UNUSABLE: {
    status: 500,
    policy: 'exit',
    hint: 'set TMPDIR to a directory that this user may write to; some 3 MB are needed'
  },
  /** The hub did not answer, or answered nonsense. */
  HUB_UNREACHABLE: { status: 503, policy: 'restart', hint: 'check HUB_API_HOST, HUB_PORT and that the hub runs' },
  /** MariaDB refuses these credentials or privileges; waiting does not help. */
  DATABASE_REFUSED: { status: 503, policy: 'park', hint: 'check the name of the database, user, password and GRANTs' },
  /** The circuit breaker is open: MariaDB refused or timed out repeatedly. */
  DATABASE_UNAVAILABLE: { status: 503, policy: 'restart', hint: 'check MariaDB; the breaker retries by itself' },
  /** A migration of the database is not the one that was applied under its name. */
  MIGRATION_CHANGED: {
    status: 409,
    policy: 'park',
    hint: 'run the release that applied it, or one after it; decoder --migrations lists them'
  },
  /** Migrations run while nothing else writes the database. */
  MIGRATION_REFUSED: { status: 409, policy: 'exit', hint: 'stop the decoder, make a backup, and run it again' },
  /** The database exists but lacks what the service needs. */
  DATABASE_UNUSABLE: { status: 503, policy: 'park', hint: 'the message says which table or column is missing' },
  /** The named database is not served by this process. */
  DATABASE_UNKNOWN: { status: 404, policy: 'restart', hint: 'GET /status lists the databases served here' },
  /** The database has no blocks yet. */
  BLOCKS_EMPTY: { status: 404, policy: 'restart', hint: 'wait for the first block' },
  /** Nothing at or after the block, in inclusive mode (SYNC_SINCE_INCLUSIVE=1). */
  BLOCKS_CAUGHT_UP: { status: 404, policy: 'restart', hint: 'the caller is at the tip' },
  /** Another process holds this replica's writer lock. */
  REPLICA_LOCKED: { status: 503, policy: 'park', hint: 'stop the other client of this replica; one writer at a time' },
  /** The replica database holds tables that this client did not make. */
  REPLICA_FOREIGN: {
    status: 409,
    policy: 'park',
    hint: 'use an empty database, set REPLICA_DB_PREFIX, or start once with --adopt to take over the replica of another client'
  },
  /** The replica holds another part of its source than the settings ask for, or too little for a check that is on. */
  REPLICA_PARTIAL: {
    status: 409,
    policy: 'park',
    hint: 'change the setting that the message names, or use another REPLICA_DB_PREFIX for a new replica'
  },
  /** The applied height is not where this writer left it. */
  REPLICA_MOVED: {
    status: 409,
    policy: 'restart',
    hint: 'another writer was here; the actor starts over from the database'
  },
  /** A live block does not follow the block that is stored before it: a missed reorg, or rows that were tampered with. */
  CHAIN_BROKEN: { status: 409, policy: 'restart', hint: 'the replica goes back to the fork and catches up from there' },
  /** A row contradicts what the replica holds under the same identity. */
  ROW_CONTRADICTION: { status: 409, policy: 'restart', hint: 'the replica reconciles with its source' },
  /** A bulk load reported fewer rows or a warning, and strict INSERT named the row. */
  ROW_REFUSED: {
    status: 502,
    policy: 'park',
    hint: 'the source sent a row that the replica cannot hold; see the detail'
  },
  /** No source answers. */
  SOURCE_UNREACHABLE: { status: 503, policy: 'restart', hint: 'check SYNC_SOURCES and the network' },
  /** A source answered with an HTTP error. */
  SOURCE_REFUSED: {
    status: 502,
    policy: 'restart',
    hint: 'check SYNC_API_KEY or SYNC_SOURCE_API_KEYS, and that the source serves this database'
  },
  /** Every source answers that it does not have this database. */
  DATABASE_UNSERVED: {
    status: 503,
    policy: 'restart',
    hint: 'it is tried again; name a source that serves it in SYNC_SOURCES, or the database in SYNC_EXCLUDE'
  },
  /** A source sent something that breaks the contract: type, order, size or hash. */
  SOURCE_INVALID: { status: 502, policy: 'restart', hint: 'compare with another source; the message is not applied' },
  /** A source ended a body before its end mark. */
  SOURCE_TRUNCATED: { status: 502, policy: 'restart', hint: 'the download is repeated' },
  /** A typed schema description holds something that this client refuses to create. */
  SCHEMA_REFUSED: { status: 502, policy: 'park', hint: 'the detail names table, column and reason' },
  /** A snapshot build failed. */
  SNAPSHOT_FAILED: { status: 503, policy: 'restart', hint: 'see the log; the next request builds anew' },
  /** Too many snapshot builds at once. */
  SNAPSHOT_BUSY: { status: 503, policy: 'restart', hint: 'retry after the seconds in Retry-After' },
  /** Not enough free disk for an artifact or a download. */
  DISK_FULL: { status: 503, policy: 'restart', hint: 'free space in SYNC_STATE_DIR or lower SNAPSHOT_CACHE_MAX_BYTES' },
  /** The transparency log knows no such block. */
  LEAF_UNKNOWN: { status: 404, policy: 'restart', hint: 'GET /transparency/.../roots lists the recorded blocks' },
  /** The database holds no such record. */
  RECORD_UNKNOWN: { status: 404, policy: 'restart', hint: 'the message says what is missing' },
  /** A Merkle root over nothing. */
  EPOCH_EMPTY: { status: 500, policy: 'restart', hint: 'report with the stack trace' },
  /** A request's parameter or body breaks its schema. */
  REQUEST_INVALID: { status: 400, policy: 'restart', hint: 'see the documentation of the route' },
  /** More rows in one range of a digest than one answer may hold. */
  RANGE_TOO_LARGE: { status: 413, policy: 'restart', hint: 'ask for the ranges within it, then for their rows' },
  /** Missing or wrong key. */
  UNAUTHORIZED: {
    status: 401,
    policy: 'restart',
    hint: "send the service's key as Authorization: Bearer or as X-API-Key; of sync SYNC_API_KEY, as an operator SYNC_OPERATOR_KEY"
  },
  /** The path names a network that this service does not serve. */
  COIN_NOT_AVAILABLE: { status: 404, policy: 'restart', hint: 'ask the service of that network' },
  /** The route belongs to the other mode. */
  WRONG_MODE: { status: 403, policy: 'restart', hint: 'ask a process in the other SYNC_MODE' },
  /** No further validator can be listed for the database. */
  VALIDATORS_FULL: {
    status: 503,
    policy: 'restart',
    hint: 'entries end by VALIDATOR_HEARTBEAT_TTL; set SYNC_API_KEY if strangers fill the list'
  },
  /** More requests than the limit allows. */
  RATE_LIMITED: { status: 429, policy: 'restart', hint: 'retry after the seconds in Retry-After' },
  /** Digests are not kept under this key any more: the source has gone on. */
  DIGEST_KEY_UNKNOWN: { status: 409, policy: 'restart', hint: 'compare again from GET /digest/<database>/key' },
  /** Too much that was asked for is not read by those who asked, or waits for its turn. */
  ANSWERS_WAITING: {
    status: 503,
    policy: 'restart',
    hint: 'retry after the seconds in Retry-After; set SYNC_API_KEY if strangers ask and do not read'
  },
  /** The coin node did not answer, or answered with an error. */
  NODE_UNREACHABLE: { status: 503, policy: 'restart', hint: 'check NODE_URL, NODE_PORT, NODE_USER, NODE_PASSWORD' },
  /** The coin node refused a call, or its answer is not what the call asks for. */
  NODE_REFUSED: { status: 502, policy: 'restart', hint: "check the node's log, its version and that txindex=1 is set" },
  /** The coin node serves another chain than NETWORK says. */
  NODE_MISMATCH: { status: 500, policy: 'exit', hint: 'NETWORK and the node must name the same chain and network' },
  /** A root that was recomputed from the replica's rows is not the one that its source names. The block is not applied. */
  STATE_ROOT_MISMATCH: {
    status: 409,
    policy: 'park',
    hint: 'compare with a second source, then POST /halt/clear'
  },
  /** A balance or a row of the ledger that state commitments have no form for. */
  STATE_UNENCODABLE: { status: 500, policy: 'restart', hint: 'no state roots are computed until the row is corrected' },
  /** No reply within the caller's deadline; the actor may still be working. */
  ACTOR_TIMEOUT: { status: 504, policy: 'restart', hint: 'see mailbox depth in GET /debug/actors' },
  /** The thread ended with requests in flight. */
  ACTOR_EXITED: { status: 503, policy: 'restart', hint: 'the supervisor is restarting it' },
  /** The mailbox is full. */
  ACTOR_BUSY: { status: 503, policy: 'restart', hint: 'retry; see mailbox depth in GET /debug/actors' },
  /** The actor is starting, or its restart budget is spent. */
  ACTOR_NOT_READY: { status: 503, policy: 'restart', hint: 'retry; see GET /debug/actors for its state' },
  /** The task pool's queue is full. */
  TASKS_BUSY: { status: 503, policy: 'restart', hint: 'retry; too many heavy tasks wait for a core' },
  /** A peer of a message port sent something that is not in the protocol. */
  PROTOCOL_VIOLATION: { status: 500, policy: 'restart', hint: 'report with the stack trace' },
  /** A command-line program that the command needs is missing. */
  PREREQUISITE_MISSING: { status: 500, policy: 'exit', hint: 'run: npm run setup' },
  /** A child process ended when it should not. */
  PROCESS_EXITED: { status: 500, policy: 'exit', hint: 'see its log file' },
  /** The sums of an indexer's tables disagree after a block. The block is not written. */
  LEDGER_INSANE: {
    status: 500,
    policy: 'park',
    hint: 'somebody changed the tables, or a rule is wrong: restore them, then run platform-node indexer --clear-halt'
  },
  /** Blocks were not written in time: a statement hangs, or another session holds a lock. The process ends to break it off. */
  WATCHDOG_TIMEOUT: {
    status: 500,
    policy: 'exit',
    hint: 'the service starts again; SHOW FULL PROCESSLIST tells who holds a lock in the indexer database'
  },
  /** A reorg below the blocks that an indexer may take back. */
  ROLLBACK_TOO_DEEP: {
    status: 500,
    policy: 'park',
    hint: 'see that the decoder follows the right chain, then run platform-node indexer --clear-halt'
  },
  /** A bug: something typed as impossible happened. */
  INTERNAL: { status: 500, policy: 'restart', hint: 'report with the stack trace' }
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;

/** What an error says of its occasion: names and figures, never secrets. */
export type ErrorDetail = Readonly<Record<string, unknown>>;

/** The shape of a PlatformError on a message port; class instances do not survive structured clone. */
export interface WireError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly detail: ErrorDetail;
}

/** The one error class: a code of `ERRORS`, the occasion in `detail`, and the remedy from the table. */
export class PlatformError extends Error {
  override readonly name = 'PlatformError';
  readonly code: ErrorCode;
  readonly detail: ErrorDetail;

  /** @param detail `reason` in it, when present, is the first sentence of the message */
  constructor(code: ErrorCode, detail: ErrorDetail = {}, options: ErrorOptions = {}) {
    super(describe(code, detail), options);
    this.code = code;
    this.detail = detail;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }

  get policy(): FaultPolicy {
    return ERRORS[this.code].policy;
  }

  get hint(): string {
    return ERRORS[this.code].hint;
  }

  toWire(): WireError {
    return { code: this.code, message: this.message, detail: this.detail };
  }

  static fromWire(wire: WireError): PlatformError {
    return new PlatformError(wire.code, wire.detail);
  }

  /** Any thrown value as a PlatformError; what is foreign becomes INTERNAL with the original as its cause. */
  static from(thrown: unknown, code: ErrorCode = 'INTERNAL', detail: ErrorDetail = {}): PlatformError {
    if (thrown instanceof PlatformError) return thrown;
    const reason = thrown instanceof Error ? thrown.message || thrown.name : String(thrown);
    return new PlatformError(code, { reason, ...detail }, { cause: thrown });
  }
}

function describe(code: ErrorCode, detail: ErrorDetail): string {
  const { reason, ...rest } = detail;
  const facts = Object.entries(rest)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
    .join(' ');
  return [reason === undefined ? code : `${String(reason)} (${code})`, facts].filter(Boolean).join(' ');
}

/** True for an error that carries this code, whichever thread it came from. */
export function hasCode(thrown: unknown, code: ErrorCode): thrown is PlatformError {
  return thrown instanceof PlatformError && thrown.code === code;
}
