import { type Connection, type QueryOptions, tagged } from './connection.ts';

/** What runs statements, in order: a connection each at once, a batch several in one message. */
export type Statements = Pick<Connection, 'query'>;

/** Statements, and messages of several, are kept below this, far below any `max_allowed_packet`; a row that is longer goes alone. */
const MESSAGE_CHARACTERS = 512 * 1024;
/** MariaDB drops white space before a statement, so that each begins with its tag in the process list. */
const SEPARATOR = ';\n';

type Answer = readonly [result: unknown, fields: unknown];

interface Waiting {
  readonly sql: string;
  /** Of a statement whose answer is waited for. */
  readonly answer: PromiseWithResolvers<Answer> | null;
}

/** Runs a statement of which only its failure is of interest: of a batch, whoever waits for the next answer is told of it. */
export async function write(to: Statements, sql: string, values: readonly unknown[] = []): Promise<void> {
  if (to instanceof StatementBatch) await to.add(sql, values);
  else await to.query(sql, values as unknown[]);
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
  /** Of the messages so far, one after the other. */
  #sent: Promise<void> = Promise.resolve();
  #fault: { readonly caught: unknown } | null = null;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** @throws whatever the driver throws, of this statement or of one before it */
  readonly query = ((statement: string | QueryOptions, given?: unknown[]) => {
    const { sql, values = given ?? [] } = typeof statement === 'string' ? { sql: statement } : statement;
    const answer = Promise.withResolvers<Answer>();
    const isFirst = this.#waiting.every((other) => other.answer === null);
    this.#enqueue(sql, values as unknown[], answer);
    if (isFirst) queueMicrotask(() => (this.#sent = this.#sent.then(() => this.#send())));
    return answer.promise;
  }) as Connection['query'];

  /** @throws as `query`, when what waits fills a message */
  async add(sql: string, values: readonly unknown[]): Promise<void> {
    this.#enqueue(sql, values, null);
    if (this.#characters > MESSAGE_CHARACTERS) await this.query('DO 0');
  }

  #enqueue(sql: string, values: readonly unknown[], answer: Waiting['answer']): void {
    const text = values.length === 0 ? sql : this.#connection.format(sql, values);
    this.#waiting.push({ sql: text, answer });
    this.#characters += text.length;
  }

  /** All that waits. */
  async #send(): Promise<void> {
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
export function* chunks<T>(list: readonly T[], textOf: (item: T) => string): Generator<readonly T[]> {
  let from = 0;
  let size = 0;
  for (const [index, item] of list.entries()) {
    const { length } = textOf(item);
    if (index > from && size + length > MESSAGE_CHARACTERS) {
      yield list.slice(from, index);
      from = index;
      size = 0;
    }
    size += length;
  }
  if (from < list.length) yield list.slice(from);
}
