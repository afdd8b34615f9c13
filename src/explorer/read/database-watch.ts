import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode, PlatformError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { DatabaseCoordinates } from '../../wire/data/database.ts';
import type { Alarm } from '../../wire/state/alarm.ts';
import { LedgerWriter } from './ledger-writer.ts';
import { networkOf } from './networks.ts';
import type { Reader } from './reader.ts';
import { type Tip, tipIn } from './tip.ts';

/** Databases of an explorer. */
type ExplorerDatabase = 'indexer' | 'decoder';

/** A database of the other kind lacks tables too. */
const EXCHANGED = '; or INDEXER_DB_NAME and DECODER_DB_NAME are exchanged';

/**
 * Time that a look waits for the decoder, in milliseconds: whether answers are those of the newest block hangs on the ledger alone. The
 * look at a decoder that takes longer goes on, and until its end what was found before counts.
 */
const DECODER_PATIENCE_MS = 1_000;

/** Outcome of a look at the decoder. */
interface DecoderLook {
  readonly foreign: string | null;
  readonly tip: PromiseSettledResult<number | null>;
}

/** Options of a watch. */
interface DatabaseWatchOptions {
  readonly databases: Readonly<Record<ExplorerDatabase, Pick<DatabaseCoordinates, 'name'>>>;
  /** Readers of the watch alone, so that callers cannot make it wait. */
  readonly probes: Readonly<Record<ExplorerDatabase, Reader>>;
  /** Name of the network whose databases these are to be. */
  readonly network: string;
  readonly log: Logger;
}

/** State of both databases at one look. */
export interface DatabaseLook {
  /** Newest block of the ledger; null: there is none, or it is not known. */
  readonly newest: Tip | null;
  readonly decoderTip: number | null;
  /** Whether the ledger was read and both databases are of this network. */
  readonly isRead: boolean;
  readonly lastError: string | null;
  /** Reason for which the ledger does not go on; null while it does. */
  readonly upstream: Alarm | null;
}

/** Watch over the databases of an explorer: whose they are, how far they are, and whether they answer. */
export class DatabaseWatch {
  readonly #options: DatabaseWatchOptions;
  readonly #writer: LedgerWriter;
  /** Reasons for which databases may not be read, as far as they are known. */
  readonly #foreign = new Map<ExplorerDatabase, string | null>();
  #decoder: DecoderLook = { foreign: null, tip: { status: 'fulfilled', value: null } };
  #decoderLook: Promise<void> | undefined;
  /** Faults that the log has, by database. */
  readonly #logged = new Map<string, string>();

  constructor(options: DatabaseWatchOptions) {
    this.#options = options;
    this.#writer = new LedgerWriter(options.databases.indexer);
  }

  /**
   * Returns the reason for which the databases may not be read; null if they may. A decoder that does not answer keeps
   * nobody from the ledger.
   *
   * @throws {PlatformError} DATABASE_UNAVAILABLE, DATABASE_REFUSED, DATABASE_UNUSABLE
   */
  async refusal(): Promise<string | null> {
    return (await this.#foreignReason('indexer')) ?? this.#foreign.get('decoder') ?? null;
  }

  /** Looks at both databases, and logs each fault once, with its remedy, and its end. */
  async look(): Promise<DatabaseLook> {
    const { databases, probes } = this.#options;
    this.#decoderLook ??= this.#lookAtDecoder().finally(() => {
      this.#decoderLook = undefined;
    });
    const late = new AbortController();
    const patience = sleep(DECODER_PATIENCE_MS, undefined, { signal: late.signal, ref: false }).catch(() => undefined);
    const [foreign] = await Promise.allSettled([this.#foreignReason('indexer')]);
    const [ledger] = await Promise.allSettled([
      probes.indexer.read(async (query, opened) => {
        const found = tipIn(opened);
        await this.#writer.look(query, found?.height ?? null);
        return found;
      })
    ]);
    await Promise.race([this.#decoderLook, patience]).finally(() => late.abort());
    const { tip } = this.#decoder;
    const wrong = (foreign.status === 'fulfilled' ? foreign.value : null) ?? this.#decoder.foreign;
    this.#tellFault(databases.indexer.name, ledger);
    this.#tellFault(databases.decoder.name, tip);
    const fault = [ledger, tip].find((each) => each.status === 'rejected');
    return {
      newest: ledger.status === 'fulfilled' ? ledger.value : null,
      decoderTip: tip.status === 'fulfilled' ? tip.value : null,
      isRead: ledger.status === 'fulfilled' && wrong === null,
      lastError: wrong ?? (fault ? reasonOf(fault.reason) : null),
      upstream: this.#writer.alarm
    };
  }

  async #lookAtDecoder(): Promise<void> {
    const { decoder } = this.#options.probes;
    const [foreign] = await Promise.allSettled([this.#foreignReason('decoder')]);
    const [tip] = await Promise.allSettled([
      decoder.read(async (_, [found]) => (found?.['height'] ?? null) as number | null)
    ]);
    this.#decoder = { foreign: foreign.status === 'fulfilled' ? foreign.value : null, tip };
  }

  /** Returns the reason for which a database may not be read: it is of another network. */
  async #foreignReason(database: ExplorerDatabase): Promise<string | null> {
    const known = this.#foreign.get(database);
    if (known !== undefined) return known;
    const { databases, probes, network, log } = this.#options;
    const table = database === 'indexer' ? 'ledger_base' : 'decoder_base';
    const found = await probes[database].read((query) => networkOf(query, table));
    const kind = database === 'indexer' ? 'a ledger' : "a decoder's database";
    const isOwn = found === null || found === network;
    const reason = isOwn ? null : `${databases[database].name} is ${kind} of ${found}: name those of ${network}`;
    if (reason !== null && this.#foreign.get(database) === undefined) log.error(reason);
    this.#foreign.set(database, reason);
    return reason;
  }

  #tellFault(database: string, looked: PromiseSettledResult<unknown>): void {
    const { log } = this.#options;
    const fault = looked.status === 'rejected' ? PlatformError.from(looked.reason) : null;
    const text =
      fault && `${database}: ${reasonOf(fault)}; ${fault.hint}${hasCode(fault, 'TABLE_LACKING') ? EXCHANGED : ''}`;
    if (text === (this.#logged.get(database) ?? null)) return;
    if (text === null) {
      this.#logged.delete(database);
      log.info(`${database} answers again`);
    } else {
      this.#logged.set(database, text);
      log.warn({ code: fault?.code }, text);
    }
  }
}

/** Returns the reason that a fault of a database tells. */
export function reasonOf(thrown: unknown): string {
  const { detail, message } = PlatformError.from(thrown);
  return String(detail['reason'] ?? message);
}
