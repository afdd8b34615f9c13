/** The supervisor's reaction to an actor that failed: restart it, stop it until an operator acts, or end the process. */
export type FaultPolicy = 'restart' | 'park' | 'exit';

interface ErrorRow {
  /** HTTP status of the answer to the request that failed. */
  readonly status: number;
  /** Usually `restart`. */
  readonly policy?: FaultPolicy;
  /** Action for the operator. */
  readonly hint: string;
  /** Callers may read the reason of such a failure of ours: it quotes no host, path or SQL. */
  readonly isReasonPublic?: true;
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
  /** A command's input file has the wrong format. */
  INPUT_INVALID: { status: 400, policy: 'exit', hint: 'name a file that the console exported' },
  /** Another process listens on the address. */
  PORT_IN_USE: { status: 500, policy: 'exit', hint: 'stop the other process or choose another port' },
  /** The service cannot create or write its state directory. */
  STATE_UNUSABLE: {
    status: 500,
    policy: 'exit',
    hint: 'name a new directory, or one that only this user may write to'
  },
  /** A file in the state directory that must be durable before work goes on cannot be written. */
  STATE_UNWRITABLE: {
    status: 503,
    hint: 'free space on the disk of SYNC_STATE_DIR, or make it writable; the service goes on by itself'
  },
  /** Another process uses the state directory. */
  STATE_LOCKED: { status: 500, policy: 'exit', hint: 'stop the other process, or name another directory' },
  /** The single-file program cannot write the files of its threads. */
  TEMP_UNUSABLE: {
    status: 500,
    policy: 'exit',
    hint: 'set TMPDIR to a directory that this user may write to, with 3 MB free'
  },
  /** The hub did not answer, or its answer was malformed. */
  HUB_UNREACHABLE: { status: 503, hint: 'check HUB_API_HOST, HUB_PORT and that the hub runs' },
  /** MariaDB refuses the account. The actor is parked, and tries again after a minute: the account may be made meanwhile. */
  DATABASE_REFUSED: {
    status: 503,
    policy: 'park',
    hint: "check the database's name, the user, its password and its GRANTs"
  },
  /** MariaDB does not answer, or the database or a right on it is not there yet; or the circuit breaker is open because of that. */
  DATABASE_UNAVAILABLE: { status: 503, hint: 'check MariaDB; the breaker retries by itself' },
  /** MariaDB answers and refuses to write. */
  DATABASE_READ_ONLY: {
    status: 503,
    hint: 'make room on the disk of MariaDB, or end its read_only; reads go on, and writes once it takes them'
  },
  /** A migration differs from the one that was applied under its name. */
  MIGRATION_CHANGED: {
    status: 409,
    policy: 'park',
    hint: 'run the release that applied it, or one after it; decoder --migrations lists them'
  },
  /** Another process writes the database; migrations need it alone. */
  MIGRATION_REFUSED: { status: 409, policy: 'exit', hint: 'stop the decoder, make a backup, and run it again' },
  /** The database exists but lacks what the service needs. */
  DATABASE_UNUSABLE: {
    status: 503,
    policy: 'park',
    hint: 'make what the message says is missing, or name another database'
  },
  /** A table or column that the source served cannot be read any more, and is not known to be dropped. */
  TABLE_HIDDEN: {
    status: 503,
    hint: 'give the account the right again, or repair the table; the source goes on by itself, also once it is dropped'
  },
  /** SYNC_BINLOG=required, and changes cannot be read from the binary log. */
  BINLOG_UNUSABLE: {
    status: 503,
    hint: 'remove the reason that the message names, or set SYNC_BINLOG=auto; docs/operating/grants.md has the rights'
  },
  /** A statement names a table or column that the database does not have: another release, or another program, made it. */
  TABLE_LACKING: {
    status: 503,
    hint: 'let a release write the database that has what is missing, or run the release that fits it; reads go on by themselves',
    isReasonPublic: true
  },
  /** MariaDB refuses a statement that only reads: a fault of this program. */
  STATEMENT_REFUSED: { status: 503, hint: 'report the message of the log; MariaDB is well' },
  /** No validator signed the block. */
  CHECKPOINT_UNKNOWN: { status: 404, hint: 'ask for a block of GET /{COIN}/api/checkpoints' },
  /** No validator signed any block of the network, so nothing can be proved against one. */
  CHECKPOINT_MISSING: { status: 404, hint: 'validators have to sign blocks first' },
  /** Heights that are no range, or too far apart. */
  RANGE_INVALID: { status: 400, hint: 'send from and to, two heights less than 500 apart' },
  /** Validators stake on another chain. */
  STAKES_ELSEWHERE: { status: 400, hint: 'ask the explorer of Bitcoin' },
  /** An explorer passes a question on to an indexer, and knows none. */
  INDEXER_UNNAMED: {
    status: 501,
    hint: 'set INDEXER_URL and INDEXER_API_PORT of the explorer, or ask the indexer itself'
  },
  /** The indexer that an explorer asks for fees does not answer, or with an error. */
  INDEXER_UNREACHABLE: {
    status: 502,
    hint: 'check INDEXER_URL, INDEXER_API_PORT and INDEXER_API_KEY of the explorer, and that the indexer runs'
  },
  /** The indexer that an explorer asks takes longer than the explorer waits. */
  INDEXER_LATE: { status: 504, hint: 'ask again in some seconds: the indexer answers others first' },
  /** The named database is not served by this process. */
  DATABASE_UNKNOWN: { status: 404, hint: 'GET /status lists the databases served here' },
  /** Two chains would use one database. */
  DATABASE_SHARED: {
    status: 503,
    policy: 'park',
    hint: 'give each its own name in the hub, or leave one out with SYNC_EXCLUDE; with REPLICA_DB_HOST all names are of one server'
  },
  /** The database has no blocks yet. */
  BLOCKS_EMPTY: { status: 404, hint: 'wait for the first block' },
  /** Nothing at or after the block, in inclusive mode (SYNC_COMPATIBLE_CLIENTS=1). */
  BLOCKS_CAUGHT_UP: { status: 404, hint: 'the caller has every block; ask again later' },
  /** Another process holds this replica's writer lock. */
  REPLICA_LOCKED: {
    status: 503,
    policy: 'park',
    hint: 'stop the other client of this replica; one writer at a time. The lock of a machine that died ends by itself after ten minutes, or with KILL <connection>'
  },
  /** The replica database holds tables that this client did not make. */
  REPLICA_FOREIGN: {
    status: 409,
    policy: 'park',
    hint: 'use an empty database, set REPLICA_DB_PREFIX, or start once with --adopt to take over the replica of another client'
  },
  /** The replica's part of its source differs from the settings, or is too small for an enabled check. */
  REPLICA_PARTIAL: {
    status: 409,
    policy: 'park',
    hint: 'change the setting that the message names, or use another REPLICA_DB_PREFIX for a new replica'
  },
  /** The applied height differs from the one that this writer stored. */
  REPLICA_MOVED: {
    status: 409,
    hint: 'another writer changed the replica; the actor restarts from the stored height'
  },
  /** A live block does not follow the stored block before it: a missed reorg, or rows changed by hand. */
  CHAIN_BROKEN: {
    status: 409,
    hint: 'the replica rolls back to the fork and catches up from there'
  },
  /** A row contradicts what the replica holds under the same identity. */
  ROW_CONTRADICTION: { status: 409, hint: 'the replica reconciles with its source' },
  /** A bulk load reported fewer rows or a warning, and strict INSERT named the row. */
  ROW_REFUSED: {
    status: 502,
    policy: 'park',
    hint: 'correct the row that the message names at the source, or follow another source; then restart the actor'
  },
  /** A service that a command asks does not answer. */
  SERVICE_UNREACHABLE: {
    status: 503,
    hint: 'start the service, or name its address: its variables, or --url'
  },
  /** No source answers. */
  SOURCE_UNREACHABLE: { status: 503, hint: 'check SYNC_SOURCES and the network' },
  /** A source answered with an HTTP error. */
  SOURCE_REFUSED: {
    status: 502,
    hint: 'check SYNC_API_KEY or SYNC_SOURCE_API_KEYS, and that the source serves this database'
  },
  /** No source serves this database. */
  DATABASE_UNSERVED: {
    status: 503,
    hint: 'the client retries; add a source that serves the database to SYNC_SOURCES, or the database to SYNC_EXCLUDE'
  },
  /** A source broke the contract: wrong type, order, size or hash. */
  SOURCE_INVALID: { status: 502, hint: 'the message was not applied; compare with another source' },
  /** A stream in NATS has a message of another database, or of none. */
  STREAM_FOREIGN: { status: 503, hint: 'find out who writes the stream; see ops/nats for rights' },
  /** The body of a message in NATS is not the one that its publisher named. */
  STREAM_BODY_DIFFERS: {
    status: 503,
    hint: 'it is read again; where it stays so, publish the stream anew'
  },
  /** The credentials of an edge may write what it passes on. */
  STREAM_WRITABLE: {
    status: 503,
    hint: 'give it a user that only reads, such as the one in ops/nats'
  },
  /** A source ended a body before its end mark. */
  SOURCE_TRUNCATED: { status: 502, hint: 'the client repeats the download' },
  /** A schema description has a part that this client refuses to create. */
  SCHEMA_REFUSED: {
    status: 502,
    hint: 'the detail names table, column and reason; the next source is tried'
  },
  /** A snapshot build failed. */
  SNAPSHOT_FAILED: { status: 503, hint: 'see the log; the next request builds anew' },
  /** Too many snapshot builds at once. */
  SNAPSHOT_BUSY: { status: 503, hint: 'retry after the seconds in Retry-After' },
  /** Not enough free disk for an artifact or a download. */
  DISK_FULL: {
    status: 503,
    hint: 'free space in SYNC_STATE_DIR or SNAPSHOT_CACHE_DIR, or lower SNAPSHOT_CACHE_MAX_BYTES'
  },
  /** The transparency log has no leaf for the block. */
  LEAF_UNKNOWN: { status: 404, hint: 'GET /transparency/.../roots lists the recorded blocks' },
  /** A cursor is malformed, or was made for another query. */
  CURSOR_INVALID: { status: 400, hint: 'leave the cursor out to begin at the first page' },
  /** A reorg replaced the block at which the cursor was made. */
  CURSOR_STALE: { status: 400, hint: 'leave the cursor out to begin at the first page' },
  /** The path lacks a part that the method needs. */
  PARAMETER_MISSING: {
    status: 400,
    hint: 'the message says which; see the documentation of the route'
  },
  /** The action index in the path is no number. */
  ACTION_INDEX_INVALID: { status: 400, hint: 'send digits only' },
  /** The height in the path is no number. */
  BLOCK_INDEX_INVALID: { status: 400, hint: 'send digits only' },
  /** The path does not begin with the code of a network. */
  COIN_UNKNOWN: { status: 404, hint: 'the message lists the codes' },
  /** The database holds no such record. */
  RECORD_UNKNOWN: { status: 404, hint: 'the message says what is missing' },
  /** An epoch without leaves has no Merkle root. */
  EPOCH_EMPTY: { status: 500, hint: 'report with the stack trace' },
  /** The hub takes no such proposal or vote: one is open, was rejected lately, is over, or the change is too large. */
  PROPOSAL_REFUSED: { status: 409, hint: 'the message says when or how it can be proposed' },
  /** Another swap with this source action is known. */
  SWAP_DIFFERS: { status: 409, hint: 'getswap shows the known swap' },
  /** Another reorg with this chain, height and time is known. */
  REORG_DIFFERS: { status: 409, hint: 'getreorghistory shows the known reorg' },
  /** A validator was about to sign a second message for one place: it has signed another one there before. */
  EQUIVOCATION_PREVENTED: {
    status: 500,
    policy: 'park',
    hint: 'end the other process with this SIGNING_PRIVKEY_HEX; a database that was put back must rejoin by the state of the others'
  },
  /** A batch does not follow the last one in the database of a validator: another process writes to it. */
  LOG_OUT_OF_ORDER: { status: 500, policy: 'park', hint: 'let no other process write to the database of this hub' },
  /** Another session of MariaDB has the log of a validator: that of another process, or of one whose end MariaDB has not noticed. */
  LOG_TAKEN: {
    status: 503,
    hint: 'end the other hub with this database, or that session where no hub has it; this one goes on by itself'
  },
  /** A hub in validator mode votes no more, because its database or its state failed. */
  HUB_HALTED: { status: 503, policy: 'park', hint: 'the log names the reason; write at another hub of the set' },
  /** The clock of a validator went back by more than others take a proposal's time for right: it starts anew with the present time. */
  CLOCK_STEPPED_BACK: { status: 503, hint: 'have this machine keep the right time; the hub goes on by itself' },
  /** A hub of a set has too few others connected for a decision. */
  NO_QUORUM: { status: 503, hint: 'check P2P_PORT of the other hubs and the ways to them' },
  /** A hub of a set cannot publish a round of prices. */
  PUBLISHING_FAILED: {
    status: 502,
    hint: 'check ORACLE_PUBLISH_ENCODER, ORACLE_PUBLISH_ADDRESS, its coins, and ORACLE_PUBLISH_KEY_COMMAND; the next hub in turn publishes meanwhile'
  },
  /** The place of the log, or the write, that a reader waits for has not come. */
  SEQUENCE_NOT_REACHED: { status: 503, hint: 'ask again, or ask another hub' },
  /** A write was not applied in time. It waits, and may be applied later. */
  CONSENSUS_TIMEOUT: { status: 503, hint: 'read the value before writing it again' },
  /** A request's parameter or body breaks its schema. */
  REQUEST_INVALID: { status: 400, hint: 'see the documentation of the route' },
  /** A digest range has more rows than one answer may hold. */
  RANGE_TOO_LARGE: { status: 413, hint: 'request the ranges within it, then their rows' },
  /** Missing or wrong key. */
  UNAUTHORIZED: {
    status: 401,
    hint: "send the service's key as Authorization: Bearer or as X-API-Key; for sync it is SYNC_API_KEY, for an operator SYNC_OPERATOR_KEY"
  },
  /** The path names a network that this service does not serve. */
  COIN_NOT_AVAILABLE: { status: 404, hint: 'ask the service of that network' },
  /** Only the other SYNC_MODE has this route. */
  WRONG_MODE: { status: 403, hint: 'ask a process in the other SYNC_MODE' },
  /** The validator list of the database is full. */
  VALIDATORS_FULL: {
    status: 503,
    hint: 'entries expire after VALIDATOR_HEARTBEAT_TTL; set SYNC_API_KEY if strangers fill the list'
  },
  /** More requests than the limit allows. */
  RATE_LIMITED: { status: 429, hint: 'retry after the seconds in Retry-After' },
  /** The source no longer keeps digests under this key: its tip has moved. */
  DIGEST_KEY_UNKNOWN: {
    status: 409,
    hint: 'get a new key from GET /digest/<database>/key and compare again'
  },
  /** Too many answers are unread, or too many questions wait. */
  ANSWERS_WAITING: {
    status: 503,
    hint: 'ask again later; where strangers leave answers unread, set the key of the service (its *_API_KEY)'
  },
  /** The database answers, but not this question within DB_QUERY_TIMEOUT. */
  QUESTION_TOO_HEAVY: {
    status: 504,
    hint: 'ask for less; its operator makes the indexes that docs/explorer.md names, or raises DB_QUERY_TIMEOUT'
  },
  /** The coin node did not answer, or answered with an error. */
  NODE_UNREACHABLE: { status: 503, hint: 'check NODE_URL, NODE_PORT, NODE_USER, NODE_PASSWORD' },
  /** The UTXO tracker that the encoder takes coins from does not answer, or with an error, or with what is no answer of a tracker. */
  TRACKER_UNAVAILABLE: {
    status: 503,
    hint: 'check UTXO_TRACKER_URL and UTXO_TRACKER_API_KEY of the encoder, and that the tracker runs',
    isReasonPublic: true
  },
  /** The encoder's tracker lacks blocks that its node has. */
  TRACKER_BEHIND: {
    status: 503,
    hint: 'wait; get_sync_status of the tracker tells how far it is',
    isReasonPublic: true
  },
  /** The encoder's tracker does not know yet how far it is, or its first sync is under way. */
  TRACKER_NOT_READY: {
    status: 503,
    hint: 'wait; get_sync_status of the tracker tells how far its first sync is',
    isReasonPublic: true
  },
  /** The encoder's tracker halted, and waits for its operator. */
  TRACKER_HALTED: {
    status: 503,
    hint: 'get_sync_status of the tracker tells why; then run platform-node utxo --clear-halt',
    isReasonPublic: true
  },
  /** A tracker's first sync has not stored the coins yet. */
  COINS_INCOMPLETE: { status: 503, hint: 'wait; get_sync_status tells how far the first sync is' },
  /** The coin node refused a call, or its answer does not fit the call. */
  NODE_REFUSED: { status: 502, hint: "check the node's log, its version and that txindex=1 is set" },
  /** The coin node's newest block is one of ours, below our newest: it lacks blocks that it had, or that another node had. */
  NODE_BEHIND: {
    status: 503,
    hint: 'wait: it goes on by itself when the node has these blocks; check that the node has peers and its own data'
  },
  /** The service that writes the database that this one follows is down, or does not go on. */
  UPSTREAM_STOPPED: {
    status: 503,
    hint: 'start the service that the message names, or read why it waits in its health; this one goes on by itself'
  },
  /** No block was written for a while though the node has more. */
  BLOCKS_DELAYED: {
    status: 503,
    hint: 'check the log of the node, whether it hands out blocks, and the load of MariaDB'
  },
  /** A block of the indexer is under way for some seconds. */
  BLOCK_LATE: {
    status: 503,
    hint: 'wait while the action that the message names is carried out; SHOW FULL PROCESSLIST tells who holds a lock'
  },
  /** MariaDB refuses rows for their content or for the form of their table. Nothing of the block is written. */
  ROWS_REFUSED: {
    status: 500,
    hint: 'compare the table that the message names with the one of a new database; it is tried again by itself'
  },
  /** MariaDB answers, and ends a statement at its limit. The same one may take as long again, for ever. */
  STATEMENT_TOO_SLOW: {
    status: 503,
    hint: 'raise DB_QUERY_TIMEOUT; SHOW FULL PROCESSLIST tells who holds a lock; if nobody does, report the statement'
  },
  /** The coins of an address do not pay for a transaction. */
  COINS_INSUFFICIENT: {
    status: 409,
    hint: 'pay more to the address, ask for less, or wait until reserved coins are free or unconfirmed ones are mined'
  },
  /** A coin that the caller named is spent, reserved, or not of the address. */
  COIN_UNUSABLE: { status: 409, hint: 'ask get_utxos for the coins of the address' },
  /** A payload cannot be carried in the encoding that was asked for, or in none. */
  ENCODING_UNAVAILABLE: {
    status: 409,
    hint: 'leave the encoding to AUTO, shorten the action, or send the public key of the address'
  },
  /** The transaction that was built does not read as the action that was asked for. It is not handed out. */
  SELF_CHECK_FAILED: { status: 500, hint: 'report with the request' },
  /** The coin node took a transaction and gave no answer: whether it was sent is not known. */
  BROADCAST_UNKNOWN: {
    status: 504,
    hint: 'send the same tx_hex again once the node answers, and build no other transaction for this payment meanwhile',
    isReasonPublic: true
  },
  /** A coin node or its network refuses a transaction. */
  TRANSACTION_REJECTED: {
    status: 422,
    hint: "the reason is the node's; build the transaction again"
  },
  /** Too many coins are reserved, or answers kept with them. */
  RESERVATIONS_FULL: { status: 503, hint: 'retry; reservations end by themselves' },
  /** The coin node's chain is not the one of NETWORK. */
  NODE_MISMATCH: { status: 500, policy: 'exit', hint: 'NETWORK and the node must name the same chain and network' },
  /** The root computed from the replica's rows differs from the source's. The block is not applied. */
  STATE_ROOT_MISMATCH: {
    status: 409,
    policy: 'park',
    hint: 'compare with a second source, then POST /halt/clear'
  },
  /** State commitments have no encoding for a balance or ledger row. */
  STATE_UNENCODABLE: {
    status: 500,
    hint: 'correct the row; until then no state roots are computed'
  },
  /** A request names the service by a name that is not its own. */
  HOST_UNKNOWN: {
    status: 421,
    hint: 'ask by its address, or list the name in PUBLIC_HOSTS of the service'
  },
  /** A page of another origin wants to subscribe. */
  ORIGIN_REFUSED: { status: 403, hint: 'list the origin in CORS_ORIGINS of the service' },
  /** No reply within the caller's deadline; the actor may still be working. */
  ACTOR_TIMEOUT: { status: 504, hint: 'see mailbox depth in GET /debug/actors' },
  /** An action takes too long to be judged ahead of its block. */
  TRIAL_TOO_LONG: {
    status: 422,
    hint: 'split the action, send it without a trial, or ask for its fee without source'
  },
  /** The thread ended with requests in flight. */
  ACTOR_EXITED: { status: 503, hint: 'the supervisor is restarting it' },
  /** The mailbox is full. */
  ACTOR_BUSY: { status: 503, hint: 'retry; see mailbox depth in GET /debug/actors' },
  /** The actor is starting, or its restart budget is spent. */
  ACTOR_NOT_READY: { status: 503, hint: 'retry; see GET /debug/actors for its state' },
  /** An operator paused the actor; the reason says from where, why and when. */
  ACTOR_PAUSED: { status: 503, hint: 'resume it: POST /debug/actors/…/restart, or its console' },
  /** The task pool's queue is full. */
  TASKS_BUSY: { status: 503, hint: 'retry; too many heavy tasks wait for a core' },
  /** The other end of a message port sent a message outside the protocol. */
  PROTOCOL_VIOLATION: { status: 500, hint: 'report with the stack trace' },
  /** A program that the command needs is not installed. */
  PREREQUISITE_MISSING: { status: 500, policy: 'exit', hint: 'run: npm run setup' },
  /** A child process ended unexpectedly. */
  PROCESS_EXITED: { status: 500, policy: 'exit', hint: 'see its log file' },
  /** The sums of an indexer's tables disagree after a block. The block is not written. */
  LEDGER_INSANE: {
    status: 500,
    policy: 'park',
    hint: 'the tables were changed by hand, or a rule is wrong: restore the tables, then run platform-node indexer --clear-halt'
  },
  /** Blocks were not written in time: a statement hangs, or another session holds a lock. The process ends to break it off. */
  WATCHDOG_TIMEOUT: {
    status: 500,
    policy: 'exit',
    hint: 'the service starts again, with fewer blocks or more time; SHOW FULL PROCESSLIST tells who holds a lock in the indexer database'
  },
  /** A reorg below the blocks that an indexer may roll back. */
  ROLLBACK_TOO_DEEP: {
    status: 500,
    policy: 'park',
    hint: 'check that the decoder follows the right chain, then run platform-node indexer --clear-halt'
  },
  /** A reorg of Bitcoin below blocks whose prices another chain's ledger has used. */
  PRICES_REPLACED: {
    status: 500,
    policy: 'park',
    hint: 'check that PRICES_DB_NAME is the index of the right chain; if it is, name a new database as INDEXER_DB_NAME, so that the index is built anew'
  },
  /** A bug: something typed as impossible happened. */
  INTERNAL: { status: 500, hint: 'report with the stack trace' }
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;

/** The facts of one error: names and figures, never secrets. */
type ErrorDetail = Readonly<Record<string, unknown>>;

/** The shape of a PlatformError on a message port; class instances do not survive structured clone. */
export interface WireError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly detail: ErrorDetail;
}

/** The one error class: a code of `ERRORS`, the facts in `detail`, and the remedy from the table. */
export class PlatformError extends Error {
  override readonly name = 'PlatformError';
  readonly code: ErrorCode;
  readonly detail: ErrorDetail;

  /** @param detail its `reason`, if present, becomes the first sentence of the message */
  constructor(code: ErrorCode, detail: ErrorDetail = {}, options: ErrorOptions = {}) {
    super(describe(code, detail), options);
    this.code = code;
    this.detail = detail;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }

  get policy(): FaultPolicy {
    const row: ErrorRow = ERRORS[this.code];
    return row.policy ?? 'restart';
  }

  get hint(): string {
    return ERRORS[this.code].hint;
  }

  /** Whether a caller may read `detail.reason`. */
  get isReasonPublic(): boolean {
    return this.status < 500 || 'isReasonPublic' in ERRORS[this.code];
  }

  toWire(): WireError {
    return { code: this.code, message: this.message, detail: this.detail };
  }

  static fromWire(wire: WireError): PlatformError {
    return new PlatformError(wire.code, wire.detail);
  }

  /** Returns any thrown value as a PlatformError; another error becomes INTERNAL with the original as its cause. */
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

/** Returns whether an error carries this code, whichever thread it came from. */
export function hasCode(thrown: unknown, code: ErrorCode): thrown is PlatformError {
  return thrown instanceof PlatformError && thrown.code === code;
}
