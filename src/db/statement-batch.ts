import { type Connection, type QueryOptions, refusalOf, type Statements, tagged } from './connection.ts';

/** Statements, and messages of several, are kept below this, far below any `max_allowed_packet`; a row that is longer goes alone. */
const MESSAGE_CHARACTERS = 512 * 1024;
/** MariaDB drops white space before a statement, so that each begins with its tag in the process list. */
const SEPARATOR = ';\n';

type Answer = readonly [result: unknown, fields: unknown];

interface Waiting {
  readonly sql: string;
  /** Settles the caller's promise; null for a statement whose answer nobody awaits. */
  readonly answer: PromiseWithResolvers<Answer> | null;
}

/** Runs a statement whose result nobody needs. In a batch, its failure rejects the next statement that is awaited. */
export async function write(to: Statements, sql: string, values: readonly unknown[] = []): Promise<void> {
  if (to instanceof StatementBatch) await to.add(sql, values);
  else await to.query(sql, values as unknown[]);
}

/**
 * Runs a statement that may fail without ending the transaction; MariaDB has then undone its part of it.
 *
 * @returns the refusal; null when it was carried out
 * @throws whatever the driver throws of a statement before it, and when the connection is lost
 */
export async function attempt(to: Statements, sql: string): Promise<Refusal | null> {
  if (to instanceof StatementBatch) return to.attempt(sql);
  return to.query(sql).then(() => null, refusal);
}

/** MariaDB's error about a statement that it refuses. */
export type Refusal = Error & { readonly errno: number };

function refusal(caught: unknown): Refusal {
  if (refusalOf(caught) === null) throw caught;
  return caught as Refusal;
}

/**
 * The statements of one transaction: those that are only written wait for the next whose answer is needed, and go to MariaDB
 * with it; answers that are asked for at once come at once. None is carried out after one that failed, COMMIT least of all.
 *
 * Its connection must take several statements in one message. End it with `query('COMMIT')`.
 */
export class StatementBatch implements Statements {
  readonly #connection: Connection;
  #waiting: Waiting[] = [];
  #characters = 0;
  /** A flush of the waiting statements is scheduled, behind the callers of this turn of the event loop. */
  #isDue = false;
  /** Settles when every message so far has been answered; messages go one after the other. */
  #sent: Promise<void> = Promise.resolve();
  #fault: { readonly caught: unknown } | null = null;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** @throws whatever the driver throws, of this statement or of one before it */
  readonly query = ((statement: string | QueryOptions, given?: unknown[]) => {
    const { sql, values = given ?? [] } = typeof statement === 'string' ? { sql: statement } : statement;
    const answer = Promise.withResolvers<Answer>();
    this.#enqueue(sql, values as unknown[], answer);
    if (!this.#isDue) queueMicrotask(() => this.#sendNext());
    this.#isDue = true;
    return answer.promise;
  }) as Connection['query'];

  /** Runs a query as `query` does, for an answer that can wait until others are asked for, or this turn of the event loop ends. */
  along(sql: string, values: readonly unknown[]): Promise<Answer> {
    const answer = Promise.withResolvers<Answer>();
    this.#enqueue(sql, values, answer);
    setImmediate(() => this.#sendNext());
    return answer.promise;
  }

  /** The batch, for answers that can wait as those of `along` do. */
  readonly patient: Statements = {
    query: ((statement: string | QueryOptions, given?: unknown[]) => {
      const { sql, values = given ?? [] } = typeof statement === 'string' ? { sql: statement } : statement;
      return this.along(sql, values as unknown[]);
    }) as Connection['query']
  };

  /** Adds a statement. A full message goes out while the caller makes the next one. @throws as `query` */
  async add(sql: string, values: readonly unknown[]): Promise<void> {
    this.#enqueue(sql, values, null);
    if (this.#characters <= MESSAGE_CHARACTERS) return;
    const before = this.#sent;
    this.#sendNext();
    await before;
    if (this.#fault) throw this.#fault.caught;
  }

  /** Runs a statement after all that was said before it. */
  attempt(sql: string): Promise<Refusal | null> {
    const answered = this.#sent
      .then(() => this.#send())
      .then(() => {
        if (this.#fault) throw this.#fault.caught;
        return this.#connection.query({ sql, values: null }).then(() => null, refusal);
      });
    this.#sent = answered.then(
      () => undefined,
      (caught: unknown) => {
        this.#fault ??= { caught };
      }
    );
    return answered;
  }

  #enqueue(sql: string, values: readonly unknown[], answer: Waiting['answer']): void {
    const text = values.length === 0 ? sql : this.#connection.format(sql, values);
    this.#waiting.push({ sql: text, answer });
    this.#characters += text.length;
  }

  #sendNext(): void {
    this.#sent = this.#sent.then(() => this.#send());
  }

  /** Sends all that waits. */
  async #send(): Promise<void> {
    this.#isDue = false;
    const taken = this.#waiting;
    this.#waiting = [];
    this.#characters = 0;
    try {
      if (this.#fault) throw this.#fault.caught;
      for (const message of chunks(taken, ({ sql }) => sql)) {
        const texts = message.map(({ sql }, index) => (index === 0 ? sql : tagged(this.#connection, sql)));
        // Values that are null, and not merely absent: nothing is looked for in the text.
        const answer = await this.#connection.query({ sql: texts.join(SEPARATOR), values: null });
        const [results, fields] = message.length === 1 ? [[answer[0]], [answer[1]]] : answer;
        for (const [index, each] of message.entries())
          each.answer?.resolve([(results as unknown[])[index], fields[index]]);
      }
    } catch (caught) {
      this.#fault ??= { caught };
      for (const { answer } of taken) answer?.reject(caught);
    }
  }
}

/** Cuts a list so that what is printed of each part stays within a message. */
export function* chunks<T>(list: Iterable<T>, textOf: (item: T) => string): Generator<readonly T[]> {
  let part: T[] = [];
  let size = 0;
  for (const item of list) {
    const { length } = textOf(item);
    if (part.length > 0 && size + length > MESSAGE_CHARACTERS) {
      yield part;
      [part, size] = [[], 0];
    }
    part.push(item);
    size += length;
  }
  if (part.length > 0) yield part;
}
