import { EventEmitter } from 'node:events';
import { format, type SqlValue } from 'mysql2';
import { statementsOf } from './dialect.ts';
import type { MemoryServer } from './memory-server.ts';

/** Called once: with the rows, or with the reason why there are none. */
export type Answer = (fault: Error | null, result?: unknown) => void;

/** The fault of a connection that is gone. */
export const lost = (why: string): Error =>
  Object.assign(new Error(why), { code: 'PROTOCOL_CONNECTION_LOST', fatal: true });

type Statement = string | { readonly sql: string; readonly values?: readonly unknown[] | null };

/** A connection of the driver, as far as it is used. */
export class MemoryConnection extends EventEmitter {
  readonly id: number;
  /** The statement that is being run for it, tag included. */
  statement: string | null = null;
  readonly #server: MemoryServer;
  #answer: Answer | null = null;
  #queue: { readonly text: string; readonly answer: Answer }[] = [];
  #fault: Error | null = null;
  /** The parts of the driver that `connect` and `streamRows` reach into. */
  readonly connection = Object.assign(new EventEmitter(), {
    query: (first: Statement, values?: readonly unknown[], answer?: Answer): EventEmitter => {
      const command = new EventEmitter();
      this.#send(first, values, (fault, result) => {
        if (answer) answer(fault, result);
        else if (fault) command.emit('error', fault);
        else for (const row of result as object[]) command.emit('result', row);
        command.emit('end');
      });
      return command;
    },
    stream: { destroy: (fault: Error) => this.#hangUp(fault) }
  });

  constructor(server: MemoryServer, id: number) {
    super();
    this.#server = server;
    this.id = id;
  }

  query(first: Statement, values?: readonly unknown[]): Promise<[unknown, unknown]> {
    const { promise, resolve, reject } = Promise.withResolvers<[unknown, unknown]>();
    this.connection.query(first, values, (fault, result) =>
      fault ? reject(fault) : resolve([result, Array.isArray(result) ? result.map(() => undefined) : undefined])
    );
    return promise;
  }

  format(sql: string, values: readonly unknown[]): string {
    return format(sql, values as SqlValue[]);
  }

  async ping(): Promise<void> {
    await this.query('DO 0');
  }

  destroy(): void {
    this.#hangUp(lost('the connection was ended here'));
  }

  /** From the server's side: whoever waits for an answer learns it. */
  breakOff(fault: Error): void {
    this.#fault ??= fault;
    const answers = [this.#answer, ...this.#queue.map(({ answer }) => answer)];
    this.#answer = null;
    this.#queue = [];
    for (const answer of answers) answer?.(this.#fault);
  }

  /** A statement that runs goes on, and may be committed; its connection ends with it. */
  #hangUp(fault: Error): void {
    if (this.#fault) return;
    this.breakOff(fault);
    this.abandon();
  }

  /** Whoever is at the other end does not listen any more, and does not hang up. */
  silence(): void {
    if (this.#answer) this.#answer = () => undefined;
    this.#queue = [];
  }

  /** Nobody is at the other end any more. */
  abandon(): void {
    this.#fault ??= lost('nobody is here');
    this.#answer = null;
    this.#queue = [];
    if (this.statement === null) this.#server.weather.later(() => this.#server.end(this));
  }

  #send(first: Statement, given: readonly unknown[] | null | undefined, answer: Answer): void {
    const { sql, values = given } = typeof first === 'string' ? { sql: first } : first;
    const fault = this.#fault;
    if (fault) {
      queueMicrotask(() => answer(lost(fault.message)));
      return;
    }
    this.#queue.push({ text: values == null ? sql : this.format(sql, values), answer });
    if (this.#answer === null) this.#next();
  }

  /** One statement after the other, as on the wire. */
  #next(): void {
    const next = this.#queue.shift();
    if (!next) return;
    const { text, answer } = next;
    this.#answer = answer;
    this.#runAll(statementsOf(text), 0, [], (fault, result) => {
      this.statement = null;
      const answer = this.#answer;
      this.#answer = null;
      answer?.(fault, result);
      if (this.#answer === null) this.#next();
    });
  }

  /** The statements of one message, until one fails; whoever sent it may be gone meanwhile. */
  #runAll(texts: readonly string[], index: number, results: readonly unknown[], answer: Answer): void {
    const text = texts[index]!;
    this.statement = text;
    this.#server.weather.later(() => {
      if (!this.#server.isKnown(this)) return;
      const fate = this.#fault ? 'answered' : this.#server.weather.fate(text);
      if (fate === 'lost') {
        this.#end(lost('the connection was lost'));
        return;
      }
      this.#server.run(this, text, (fault, result) => {
        const all = [...results, result];
        if (fate === 'unanswered') this.#end(lost('the answer was lost'));
        else if (fault === null && all.length < texts.length) this.#runAll(texts, index + 1, all, answer);
        else if (this.#fault) this.#end(this.#fault);
        else answer(fault, texts.length === 1 ? result : all);
      });
    });
  }

  #end(fault: Error): void {
    this.statement = null;
    this.#server.end(this);
    this.breakOff(fault);
  }
}
