import { connect, createServer, type Socket } from 'node:net';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { atEnd } from './cleanup.ts';

const COM_QUERY = 3;
const HEADER_BYTES = 4;
const ERROR_MARK = 0xff;
const INFILE_MARK = 0xfb;
/** Separator of statements in one message: each begins with the tag of its connection. */
const BETWEEN_STATEMENTS = /;\n(?=\/\* platform )/;
/** After this error the transaction is gone at the server; after the others only the statement is. */
const DEADLOCK = 1213;

/** Fate of one statement. */
export interface Fault {
  /** Not sent at all, or carried out by the server before its answer is lost. */
  readonly when: 'before' | 'after';
  /** The number that the client is told; null cuts the connection. */
  readonly errno: number | null;
}

/**
 * A connection between a client and the real MariaDB that loses, refuses or misreports one statement.
 *
 * It knows of the protocol where a packet ends, which one is a statement, and what an error looks like.
 */
export class FaultyLink {
  readonly #server: Omit<DatabaseCoordinates, 'name'>;
  readonly #sockets = new Set<Socket>();
  #left = 0;
  #fault: Fault | null = null;
  #refusal: number | null = null;
  port = 0;
  /** Text of every statement since `watch`. */
  statements: string[] = [];
  /** Connections since `watch`. */
  connections = 0;
  /** Statements that met a fault. */
  faults = 0;

  private constructor(server: Omit<DatabaseCoordinates, 'name'>) {
    this.#server = server;
  }

  static async open(server: Omit<DatabaseCoordinates, 'name'>): Promise<FaultyLink> {
    const link = new FaultyLink(server);
    const listener = createServer((client) => link.#join(client));
    const { promise, resolve } = Promise.withResolvers<void>();
    listener.listen(0, '127.0.0.1', resolve);
    await promise;
    link.port = (listener.address() as { port: number }).port;
    atEnd(async () => {
      for (const socket of link.#sockets) socket.destroy();
      listener.close();
    });
    return link;
  }

  /** The same database, through this link. */
  through(to: DatabaseCoordinates): DatabaseCoordinates {
    return { host: '127.0.0.1', port: this.port, user: to.user, pass: to.pass, name: to.name };
  }

  /** Forgets what went by, and lets everything pass. */
  watch(): void {
    this.statements = [];
    this.connections = 0;
    this.#fault = null;
  }

  /** From now on the nth statement, counted over all connections from 1, meets this fault; those after it pass. */
  fail(nth: number, fault: Fault): void {
    this.watch();
    this.#left = nth;
    this.#fault = fault;
  }

  /** The next connection is answered by an error instead of a greeting. */
  refuseNext(errno: number): void {
    this.#refusal = errno;
  }

  #join(client: Socket): void {
    this.connections++;
    if (this.#refusal !== null) {
      client.end(errorPacket(0, this.#refusal));
      this.#refusal = null;
      return;
    }
    const server = connect(this.#server.port, this.#server.host);
    const both = [client, server];
    const cut = () => {
      for (const socket of both) socket.destroy();
      for (const socket of both) this.#sockets.delete(socket);
    };
    for (const socket of both) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', cut);
      socket.on('close', cut);
    }
    /** The fault that the answer under way meets. */
    let pending: Fault | null = null;
    let lost = false;
    let cutsAtError = false;
    const strike = (sequence: number, { errno }: Fault) => {
      if (errno === null) return cut();
      lost = true;
      client.write(errorPacket(sequence, errno));
    };
    onPackets(client, (packet) => {
      const isStatement = packet[3] === 0 && packet[HEADER_BYTES] === COM_QUERY;
      if (packet[3] === 0) lost = false;
      const texts = isStatement ? packet.toString('utf8', HEADER_BYTES + 1).split(BETWEEN_STATEMENTS) : [];
      const faults = texts.map((text) => this.#meet(text));
      const nth = faults.findIndex((each) => each !== null);
      const fault = faults[nth] ?? null;
      if (fault && texts.length > 1) {
        cutsAtError = fault.errno === null;
        server.write(statementPacket(failing(texts, nth, fault)));
        return;
      }
      if (fault?.when === 'before') {
        if (fault.errno !== DEADLOCK) return strike(1, fault);
        server.write(statementPacket('ROLLBACK'));
      } else server.write(packet);
      if (fault) pending = fault;
    });
    onPackets(server, (packet) => {
      if (cutsAtError && packet[HEADER_BYTES] === ERROR_MARK) return cut();
      const isRequestForRows = packet[HEADER_BYTES] === INFILE_MARK && pending?.when === 'after';
      if (pending && !isRequestForRows) {
        const fault = pending;
        pending = null;
        strike(packet[3]!, fault);
      } else if (!lost) client.write(packet);
    });
  }

  #meet(statement: string): Fault | null {
    this.statements.push(statement);
    if (!this.#fault || --this.#left !== 0) return null;
    const fault = this.#fault;
    this.#fault = null;
    this.faults++;
    return fault;
  }
}

/** The statements of a message up to the one that meets a fault, and that fault as MariaDB itself reports it. */
function failing(texts: readonly string[], nth: number, { when, errno }: Fault): string {
  const carriedOut = texts.slice(0, when === 'before' ? nth : nth + 1);
  if (when === 'before' && errno === DEADLOCK) carriedOut.push('ROLLBACK');
  const signal = `SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = ${errno ?? 2013}, MESSAGE_TEXT = 'error ${errno} of a test'`;
  return [...carriedOut, signal].join(';\n');
}

function onPackets(socket: Socket, take: (packet: Buffer) => void): void {
  let held: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    while (held.length >= HEADER_BYTES) {
      const end = HEADER_BYTES + held.readUIntLE(0, 3);
      if (held.length < end) return;
      const packet = held.subarray(0, end);
      held = held.subarray(end);
      take(packet);
    }
  });
}

function framed(sequence: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUIntLE(payload.length, 0, 3);
  header[3] = sequence;
  return Buffer.concat([header, payload]);
}

function errorPacket(sequence: number, errno: number): Buffer {
  const head = Buffer.from([ERROR_MARK, errno & 255, errno >> 8]);
  return framed(sequence, Buffer.concat([head, Buffer.from(`#HY000error ${errno} of a test`)]));
}

function statementPacket(text: string): Buffer {
  return framed(0, Buffer.concat([Buffer.from([COM_QUERY]), Buffer.from(text)]));
}
