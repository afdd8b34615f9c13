import { type Connection, rows } from '../../../db/connection.ts';
import { PlatformError } from '../../../errors.ts';
import {
  type Batch,
  type Checkpoint,
  type Committed,
  EMPTY_LOG,
  type Message,
  type Operation,
  type Signed,
  type Stable
} from '../consensus/messages.ts';
import { CHECKPOINT_INTERVAL } from '../consensus/rules.ts';
import type { Applied, Restored, StoredVote } from '../consensus/state.ts';
import { chunksOf, hashOf, type Manifest, manifestText, readManifest, rowsOf } from '../transfer/manifest.ts';
import type { Offer } from '../transfer/transfer.ts';
import type { StateMachine } from './state-machine.ts';

/** Pairs of messages that are kept of one lying hub. */
const MOST_EVIDENCE = 100;
/** Checkpoints whose states are kept below the stable one: who began to fetch one of them may end it. */
const KEPT_STATES = 3;
/** Part of the log's time whose first checkpoint hubs fetch, all alike: where much is written, the last ones are gone before one is fetched. */
const FETCHED_MS = 600_000;
/** Such checkpoints that are kept: who began to fetch the one before may end it. */
const KEPT_FETCHED = 2;
/** Characters of votes that are written by one statement. */
const MOST_AT_ONCE = 1_048_576;
/** Number of MariaDB's for a row that is there. */
const DUPLICATE_KEY = 1062;
/** Numbers of MariaDB's for rows that another writer has, or has changed: a long wait, a deadlock, and a snapshot that is outdated. */
const LOCKED = new Set<unknown>([1020, 1205, 1213]);
/** Times that a transaction is begun. */
const MOST_TRIES = 5;
/** Batches that are removed at once. */
const MOST_REMOVED = 10_000;
/** Batches that are measured at once, as at the first start of this version: those before them count for nothing. */
const MOST_MEASURED = 1_000;
/** Bytes of the log that stay, however few batches have them: one that lies has the longest ones written all the time. */
const MOST_LOG_BYTES = 4 * 2 ** 30;

/** Outcome of a batch. */
interface AppliedBatch {
  /** Digest of the state, where a checkpoint is due. */
  readonly state: string | null;
  /** By place within the batch, why an operation was not carried out. */
  readonly refused: ReadonlyMap<number, string>;
}

/** A hub's log, votes and waiting operations in its database. Each call is durable when it returns; callers take turns. */
export class Journal {
  readonly #connection: Connection;
  readonly #machine: StateMachine;

  /** @param connection  on the hub's database, with the tables of `createJournalTables` */
  constructor(connection: Connection, machine: StateMachine) {
    this.#connection = connection;
    this.#machine = machine;
  }

  /** Reads all that a hub needs to go on. @param now  epoch milliseconds */
  async load(now: number): Promise<Restored> {
    const [checkpoint] = await this.#read<Stable>(
      'SELECT stable AS json FROM consensus_checkpoints ORDER BY seq DESC LIMIT 1'
    );
    const stable = checkpoint ?? EMPTY_LOG;
    const log = await this.#read<Committed>('SELECT committed AS json FROM consensus_log WHERE seq > ? ORDER BY seq', [
      stable.seq
    ]);
    const votes = await this.#read<StoredVote>('SELECT stored AS json FROM consensus_votes ORDER BY view, seq');
    const pending = await this.#read<Operation>(
      'SELECT operation AS json FROM consensus_pending ORDER BY submitter, number'
    );
    return {
      now,
      stable,
      applied: await this.applied(),
      floor: await this.#floor(),
      log,
      votes,
      pending,
      checkpoints: await this.#ownStates(stable)
    };
  }

  /** Reads the last place of a log of this set that was set aside; 0 for none. */
  async #floor(): Promise<number> {
    const [floor] = await rows(this.#connection, "SELECT value FROM consensus_state WHERE key_name = 'floor'");
    return Number(floor?.['value'] ?? 0);
  }

  /** Reads the states above a checkpoint that this hub has made and that no quorum has signed. */
  async #ownStates({ seq }: Stable): Promise<readonly Checkpoint[]> {
    const found = await rows(
      this.#connection,
      'SELECT seq, digest, manifest FROM consensus_manifests JOIN consensus_log USING (seq) WHERE seq > ? ORDER BY seq',
      [seq]
    );
    return found.map((row) => ({
      kind: 'checkpoint',
      seq: Number(row['seq']),
      digest: String(row['digest']),
      state: hashOf(String(row['manifest']))
    }));
  }

  /** Returns how far the database is. */
  async applied(): Promise<Applied> {
    const numbers = await rows(this.#connection, 'SELECT submitter, next FROM consensus_numbers');
    const next = new Map(numbers.map((row) => [String(row['submitter']), Number(row['next'])]));
    const [last] = await rows(
      this.#connection,
      'SELECT seq, digest, log_time FROM consensus_log ORDER BY seq DESC LIMIT 1'
    );
    if (!last) return (await this.#takenState()) ?? { seq: 0, digest: '', time: 0, next };
    return { seq: Number(last['seq']), digest: String(last['digest']), time: Number(last['log_time']), next };
  }

  /**
   * Keeps own messages before they are sent, all of them or none. The same message again is no change.
   *
   * @throws {PlatformError} EQUIVOCATION_PREVENTED when another one stands for the same place: this hub has signed it before
   */
  async keepVotes(votes: readonly StoredVote[]): Promise<void> {
    const values = votes.map((stored) => [...placeOf(stored.signed.message), storedText(stored)] as const);
    // Who was away may commit two hundred long places at once, each with its proof.
    const parts = inParts(values, ([, , , , stored]) => stored.length);
    const insert = 'INTO consensus_votes (view, seq, kind, digest, stored) VALUES ?';
    try {
      if (parts.length === 1) return void (await this.#connection.query(`INSERT ${insert}`, parts));
    } catch (caught) {
      if (Object(caught).errno !== DUPLICATE_KEY) throw caught;
    }
    await this.#together(async () => {
      for (const some of parts) await this.#connection.query(`INSERT IGNORE ${insert}`, [some]);
      await this.#checkVotes(votes);
    });
  }

  async #checkVotes(votes: readonly StoredVote[]): Promise<void> {
    const places = votes.map(({ signed: { message } }) => placeOf(message).slice(0, 3));
    const kept = await rows(
      this.#connection,
      'SELECT view, seq, kind, digest FROM consensus_votes WHERE (view, seq, kind) IN (?)',
      [places]
    );
    const digests = new Map(kept.map((row) => [[row['view'], row['seq'], row['kind']].join('/'), row['digest']]));
    for (const { signed } of votes) {
      const [view, seq, kind, digest] = placeOf(signed.message);
      const before = digests.get([view, seq, kind].join('/'));
      if (before !== digest)
        throw new PlatformError('EQUIVOCATION_PREVENTED', { kind, view, seq, reason: `${before} was signed before` });
    }
  }

  /** Keeps operations of this hub until they are applied, all of them or none. */
  async keepOperations(operations: readonly Operation[]): Promise<void> {
    const parts = inParts(operations, ({ body }) => body.length);
    const keep = async () => {
      for (const some of parts)
        await this.#connection.query('REPLACE INTO consensus_pending (submitter, number, operation) VALUES ?', [
          some.map((operation) => [operation.submitter, operation.number, JSON.stringify(operation)])
        ]);
    };
    if (parts.length === 1) await keep();
    else await this.#together(keep);
  }

  /**
   * Carries out a batch and writes its log entry in one transaction.
   *
   * @param digest  of the batch
   * @throws {PlatformError} LOG_OUT_OF_ORDER when the batch does not follow the last one
   */
  async apply(committed: Committed, digest: string): Promise<AppliedBatch> {
    const { batch } = committed;
    return this.#together(async () => {
      const before = await this.applied();
      if (batch.seq !== before.seq + 1 || batch.previous !== before.digest)
        throw new PlatformError('LOG_OUT_OF_ORDER', {
          reason: `batch ${batch.seq} does not follow batch ${before.seq}`
        });
      if (before.seq === 0) await this.#machine.replace(this.#connection, []); // all hubs begin alike
      await this.#machine.begin?.(this.#connection, batch.time);
      const refused = new Map<number, string>();
      for (const [place, operation] of batch.operations.entries()) {
        const reason = await this.#carryOut(operation, batch);
        if (reason !== null) refused.set(place, reason);
      }
      await this.#writeNumbers(batch.operations);
      await this.#connection.query('INSERT INTO consensus_log (seq, digest, log_time, committed) VALUES (?)', [
        [batch.seq, digest, batch.time, JSON.stringify(committed)]
      ]);
      await this.#writeLastSeq(batch.seq);
      return { state: batch.seq % CHECKPOINT_INTERVAL === 0 ? await this.#keepState() : null, refused };
    });
  }

  /**
   * Keeps a checkpoint that a quorum signed; votes at its place and below are needed no more, nor are older states.
   *
   * @param logKeep  batches below it that stay in the log
   * @param fetching  hashes of the parts of a state that is on its way: they stay
   * @param mostBytes  bytes of all that stay in the log
   */
  async keepStable(
    stable: Stable,
    logKeep: number,
    fetching: readonly string[] = [],
    mostBytes = MOST_LOG_BYTES
  ): Promise<void> {
    await this.#together(async () => {
      await this.#putStable(stable);
      const fetched = (await this.#fetchedPlaces()).slice(-KEPT_FETCHED);
      await this.#forgetBelow(stable.seq, fetched);
      const oldest = stable.seq - KEPT_STATES * CHECKPOINT_INTERVAL;
      await this.#connection.query('DELETE FROM consensus_manifests WHERE seq < ? AND seq NOT IN (?)', [
        oldest,
        [0, ...fetched]
      ]);
      const kept = await rows(this.#connection, 'SELECT manifest FROM consensus_manifests');
      const used = kept.flatMap(({ manifest }) => readManifest(String(manifest))?.chunks ?? []);
      const needed = new Set([...used, ...fetching]);
      await this.#connection.query('DELETE FROM consensus_chunks WHERE hash NOT IN (?)', [['', ...needed]]);
      await this.#removeLog(Math.max(0, stable.seq - logKeep, await this.#measure(stable.seq, mostBytes)));
    });
  }

  /** Notes the bytes of the last batches up to a checkpoint. @returns the place up to which all that follows has so many bytes */
  async #measure(seq: number, mostBytes: number): Promise<number> {
    await this.#connection.query(
      `REPLACE INTO consensus_log_sizes (seq, bytes)
       SELECT ?, COALESCE(SUM(LENGTH(committed)), 0) FROM consensus_log
        WHERE seq <= ? AND seq > GREATEST(? , (SELECT COALESCE(MAX(seq), 0) FROM consensus_log_sizes WHERE seq < ?))`,
      [seq, seq, Math.max(0, seq - MOST_MEASURED), seq]
    );
    const sizes = await rows(this.#connection, 'SELECT seq, bytes FROM consensus_log_sizes ORDER BY seq DESC');
    let left = mostBytes;
    for (const { seq: place, bytes } of sizes) {
      left -= Number(bytes);
      if (left < 0) return Math.min(Number(place), Math.max(0, seq - CHECKPOINT_INTERVAL));
    }
    return 0;
  }

  async #removeLog(upTo: number): Promise<void> {
    await this.#connection.query('DELETE FROM consensus_log WHERE seq <= ? ORDER BY seq LIMIT ?', [upTo, MOST_REMOVED]);
    await this.#connection.query('DELETE FROM consensus_log_sizes WHERE seq < (SELECT MIN(seq) FROM consensus_log)');
  }

  /** Returns the place of the first batch that is kept; null for none. */
  async firstKept(): Promise<number | null> {
    const [first] = await rows(this.#connection, 'SELECT MIN(seq) AS seq FROM consensus_log');
    return first?.['seq'] == null ? null : Number(first['seq']);
  }

  /** Returns the newest checkpoint that a quorum signed, with the state there; null where this hub has none. */
  async stableState(): Promise<{ readonly stable: Stable; readonly text: string } | null> {
    return await this.#stateAt(Number.MAX_SAFE_INTEGER);
  }

  /** Returns the newest of these up to a place. */
  async #stateAt(place: number): Promise<{ readonly stable: Stable; readonly text: string } | null> {
    const [newest] = await rows(
      this.#connection,
      'SELECT stable, manifest FROM consensus_checkpoints JOIN consensus_manifests USING (seq) WHERE seq <= ? ORDER BY seq DESC LIMIT 1',
      [place]
    );
    if (!newest) return null;
    return { stable: JSON.parse(String(newest['stable'])) as Stable, text: String(newest['manifest']) };
  }

  /** Returns the places of signed checkpoints that are the first ones of their time, in order. */
  async #fetchedPlaces(): Promise<readonly number[]> {
    const found = await rows(
      this.#connection,
      `SELECT MIN(seq) AS seq FROM consensus_checkpoints JOIN consensus_manifests USING (seq)
       GROUP BY JSON_VALUE(manifest, '$.time') DIV ? ORDER BY seq`,
      [FETCHED_MS]
    );
    return found.map(({ seq }) => Number(seq));
  }

  /**
   * Returns the state for a hub that lacks the log from a place on: the same for some minutes, from which the log leads on. Null: the log
   * leads on from that place, or no state is so far.
   */
  async stateFor(from: number): Promise<{ readonly stable: Stable; readonly text: string } | null> {
    const place = (await this.#fetchedPlaces()).at(-1);
    const first = (await this.firstKept()) ?? Number.POSITIVE_INFINITY;
    const state = place !== undefined && first <= place + 1 ? await this.#stateAt(place) : await this.stableState();
    return state && state.stable.seq >= from ? state : null;
  }

  /** Returns a part of a state; null where it is kept no more. */
  async chunk(hash: string): Promise<string | null> {
    const [found] = await rows(this.#connection, 'SELECT body FROM consensus_chunks WHERE hash = ?', [hash]);
    return found ? String(found['body']) : null;
  }

  /** Keeps a part of a state that is being fetched: it is found again after a restart. */
  async keepChunk(hash: string, text: string): Promise<void> {
    await this.#connection.query('INSERT IGNORE INTO consensus_chunks (hash, body) VALUES (?)', [[hash, text]]);
  }

  /** Returns which parts of a state are not here, in their order. */
  async missingChunks({ chunks }: Manifest): Promise<readonly string[]> {
    const found = await rows(this.#connection, 'SELECT hash FROM consensus_chunks WHERE hash IN (?)', [
      ['', ...chunks]
    ]);
    const known = new Set(found.map(({ hash }) => String(hash)));
    return [...new Set(chunks)].filter((hash) => !known.has(hash));
  }

  /**
   * Replaces tables, log and numbers by the state of a checkpoint, in one transaction. All its parts are here, and a quorum signed it.
   *
   * @throws {PlatformError} LOG_OUT_OF_ORDER when this database is further, or a part is missing
   */
  async replaceState({ stable, manifest, text }: Offer): Promise<Applied> {
    return this.#together(async () => {
      const refuse = (reason: string) => {
        throw new PlatformError('LOG_OUT_OF_ORDER', { reason });
      };
      const { seq } = await this.applied();
      if (seq >= stable.seq) refuse(`the state of place ${stable.seq} does not follow place ${seq}`);
      const dumped: string[] = [];
      for (const hash of manifest.chunks) {
        const chunk = await this.chunk(hash);
        if (chunk === null || hashOf(chunk) !== hash)
          refuse(`part ${hash} of the state of place ${stable.seq} is missing`);
        else for (const row of rowsOf(chunk)) dumped.push(row);
      }
      await this.#machine.replace(this.#connection, dumped, seq > 0);
      for (const table of ['log', 'log_sizes', 'numbers'])
        await this.#connection.query(`DELETE FROM consensus_${table}`);
      if (manifest.next.size > 0)
        await this.#connection.query('INSERT INTO consensus_numbers (submitter, next) VALUES ?', [[...manifest.next]]);
      await this.#forgetPending(manifest.next);
      await this.#writeManifest(stable.seq, text);
      await this.#writeStable(stable);
      await this.#writeLastSeq(stable.seq);
      return { seq: stable.seq, digest: stable.digest, time: manifest.time, next: manifest.next };
    });
  }

  /** Keeps why this hub votes no more; the first reason stays. */
  async keepHalt(reason: string): Promise<void> {
    await this.#connection.query('INSERT IGNORE INTO consensus_halt (id, reason) VALUES (1, ?)', [reason]);
  }

  /** Keeps two messages of one hub for one place: a hundred of each hub, so that a liar fills no disk. */
  async keepEvidence(first: Signed<Message>, second: Signed<Message>): Promise<void> {
    const place = placeOf(first.message).slice(0, 3).join('/');
    await this.#connection.query(
      `INSERT IGNORE INTO consensus_evidence (against, place, first, second)
       SELECT ?, ?, ?, ? FROM (SELECT COUNT(*) AS kept FROM consensus_evidence WHERE against = ?) AS known WHERE kept < ?`,
      [first.sender, place, JSON.stringify(first), JSON.stringify(second), first.sender, MOST_EVIDENCE]
    );
  }

  /** Returns why this hub votes no more; null when it may. */
  async halt(): Promise<string | null> {
    const [halt] = await rows(this.#connection, 'SELECT reason FROM consensus_halt');
    return halt ? String(halt['reason']) : null;
  }

  /**
   * Reads batches with their commits, in order: at least one where there is one. Lengths are read first, so that an answer of a few
   * kilobytes costs no reading of megabytes.
   *
   * @param from  place of the first one
   */
  async entries(from: number, most: number, mostBytes: number): Promise<Committed[]> {
    const found = await rows(
      this.#connection,
      'SELECT seq, LENGTH(committed) AS bytes FROM consensus_log WHERE seq >= ? ORDER BY seq LIMIT ?',
      [from, most]
    );
    let [last, left] = [0, mostBytes];
    for (const { seq, bytes } of found) {
      left -= Number(bytes);
      if (left < 0 && last > 0) break;
      last = Number(seq);
    }
    return this.#read<Committed>(
      'SELECT committed AS json FROM consensus_log WHERE seq >= ? AND seq <= ? ORDER BY seq',
      [from, last]
    );
  }

  async #carryOut(operation: Operation, batch: Batch): Promise<string | null> {
    await this.#connection.query('SAVEPOINT operation');
    const reason = await this.#machine.apply(this.#connection, operation, batch.time);
    if (reason !== null) await this.#connection.query('ROLLBACK TO SAVEPOINT operation');
    return reason;
  }

  /** Keeps the next number of each submitter; its operations below wait no more. */
  async #writeNumbers(operations: readonly Operation[]): Promise<void> {
    const next = new Map(operations.map(({ submitter, number }) => [submitter, number + 1]));
    if (next.size > 0)
      await this.#connection.query('REPLACE INTO consensus_numbers (submitter, next) VALUES ?', [[...next]]);
    await this.#forgetPending(next);
  }

  async #forgetPending(next: ReadonlyMap<string, number>): Promise<void> {
    for (const [submitter, number] of next)
      await this.#connection.query('DELETE FROM consensus_pending WHERE submitter = ? AND number < ?', [
        submitter,
        number
      ]);
  }

  /** Keeps the state of a checkpoint in parts. @returns its digest: the tables, the clock of the log and the numbers of submitters */
  async #keepState(): Promise<string> {
    const { seq, time, next } = await this.applied();
    const chunks = chunksOf(await this.#machine.dump(this.#connection));
    for (const chunk of chunks) await this.keepChunk(hashOf(chunk), chunk);
    const text = manifestText({ time, next, chunks: chunks.map(hashOf) });
    await this.#writeManifest(seq, text);
    return hashOf(text);
  }

  /** Returns the place of a state that replaced the log; null where none did. */
  async #takenState(): Promise<Applied | null> {
    const taken = await this.stableState();
    const manifest = taken && readManifest(taken.text);
    if (!manifest) return null;
    return { seq: taken.stable.seq, digest: taken.stable.digest, time: manifest.time, next: manifest.next };
  }

  async #writeManifest(seq: number, text: string): Promise<void> {
    await this.#connection.query('REPLACE INTO consensus_manifests (seq, manifest) VALUES (?)', [[seq, text]]);
  }

  async #writeStable(stable: Stable): Promise<void> {
    await this.#putStable(stable);
    await this.#forgetBelow(stable.seq, []);
  }

  async #putStable(stable: Stable): Promise<void> {
    await this.#connection.query('REPLACE INTO consensus_checkpoints (seq, stable) VALUES (?)', [
      [stable.seq, JSON.stringify(stable)]
    ]);
  }

  /** Removes checkpoints below one that is signed, and votes up to there. @param kept  places of those that stay */
  async #forgetBelow(seq: number, kept: readonly number[]): Promise<void> {
    await this.#connection.query('DELETE FROM consensus_checkpoints WHERE seq < ? AND seq NOT IN (?)', [
      seq,
      [0, ...kept]
    ]);
    await this.#connection.query('DELETE FROM consensus_votes WHERE seq > 0 AND seq <= ?', [seq]);
    // It votes in no view below the highest one that it has voted in.
    await this.#connection.query(
      'DELETE FROM consensus_votes WHERE seq = 0 AND view < (SELECT MAX(view) FROM (SELECT view FROM consensus_votes) AS votes)'
    );
  }

  /** Readers of the table see by it that something was written, and services how far a hub is. */
  async #writeLastSeq(seq: number): Promise<void> {
    await this.#connection.query("REPLACE INTO consensus_state (key_name, value) VALUES ('last_seq', ?)", [
      String(seq)
    ]);
  }

  async #read<T>(sql: string, values: readonly unknown[] = []): Promise<T[]> {
    const found = await rows(this.#connection, sql, values);
    return found.map((row) => JSON.parse(String(row['json'])) as T);
  }

  /** Works in one transaction, anew where MariaDB undid it: other writers of this database lock the same rows in another order. */
  async #together<T>(work: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      await this.#connection.query('START TRANSACTION');
      try {
        const answer = await work();
        await this.#connection.query('COMMIT');
        return answer;
      } catch (caught) {
        await this.#connection.query('ROLLBACK').catch(() => undefined); // the connection may be lost; then it is rolled back as well
        this.#machine.undone?.(this.#connection);
        if (!LOCKED.has(Object(caught).errno) || tries === MOST_TRIES) throw caught;
      }
    }
  }
}

/** Returns items in lists of a bounded length, a long one alone. */
function inParts<T>(items: readonly T[], lengthOf: (item: T) => number): T[][] {
  const parts: T[][] = [];
  let length = 0;
  for (const item of items) {
    length += lengthOf(item);
    const last = parts.at(-1);
    if (last && length <= MOST_AT_ONCE) {
      last.push(item);
      continue;
    }
    parts.push([item]);
    length = lengthOf(item);
  }
  return parts;
}

/** Returns a vote as it is stored: of the beginning of a view its number alone, since its proofs may be longer than MariaDB takes. */
function storedText({ signed, prepared }: StoredVote): string {
  const { message } = signed;
  return JSON.stringify({
    signed: message.kind === 'newView' ? { ...signed, message: { ...message, changes: [] } } : signed,
    prepared
  });
}

/** Returns view, place, kind and digest of a message; those without a place or digest have zero and nothing. */
function placeOf(message: Message): [number, number, string, string] {
  const view = 'view' in message ? message.view : 0;
  const seq = 'seq' in message ? message.seq : 0;
  const digest = message.kind === 'checkpoint' ? `${message.state}` : 'digest' in message ? message.digest : '';
  return [view, seq, message.kind, digest];
}
