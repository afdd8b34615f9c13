import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { partNamed } from '../../installation/open-plan.ts';
import type { Json } from '../../service/life/probe.ts';
import { probeActors } from '../../service/life/probe-actors.ts';
import type { AskedService } from '../asked-services.ts';

/** One line of a log. */
export interface LogLine {
  /** Unix milliseconds. */
  readonly at: number;
  readonly text: string;
  /** The line as it was written, or the entry of the timeline. */
  readonly raw: unknown;
}

/** Bytes of a file that are read at once; of a longer file only its end. */
const MOST_BYTES = 1_048_576;
/** Names of pino's levels. */
const LEVELS: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'WARN',
  50: 'ERROR',
  60: 'FATAL'
};

/** The new lines of the log file of one service of an installation. */
export class FileTail {
  readonly name: string;
  readonly #path: string;
  #offset = -1;
  #rest = '';
  #lastAt = 0;

  /** @param name of UP_SERVICES */
  constructor(directory: string, name: string) {
    this.name = name;
    this.#path = join(directory, 'logs', `${partNamed(name)}.log`);
  }

  get exists(): boolean {
    return existsSync(this.#path);
  }

  /** Returns the whole lines that were written since the last call; at the first the end of the file. */
  async read(): Promise<readonly LogLine[]> {
    const isFirst = this.#offset < 0;
    const lines = (this.#rest + this.#readOn()).split('\n');
    this.#rest = lines.pop() ?? '';
    // The end of a long file begins within a line.
    const whole = isFirst && this.#offset > MOST_BYTES ? lines.slice(1) : lines;
    return whole.filter(Boolean).map((line) => this.#lineOf(line));
  }

  #readOn(): string {
    const file = openSync(this.#path, 'r');
    try {
      const { size } = fstatSync(file);
      if (size < this.#offset) [this.#offset, this.#rest] = [0, '']; // logrotate has truncated it
      const from = Math.max(this.#offset, size - MOST_BYTES, 0);
      const bytes = Buffer.alloc(size - from);
      const length = readSync(file, bytes, 0, bytes.length, from);
      this.#offset = from + length;
      return bytes.toString('utf8', 0, length);
    } finally {
      closeSync(file);
    }
  }

  #lineOf(line: string): LogLine {
    const entry = readEntry(line);
    this.#lastAt = typeof entry?.['time'] === 'number' ? entry['time'] : this.#lastAt;
    const text = entry === null ? line : describeEntry(entry);
    const when = entry === null ? '' : `${new Date(this.#lastAt).toISOString()} `;
    return { at: this.#lastAt, text: `${when}${this.name} ${text}`, raw: entry ?? { service: this.name, line } };
  }
}

/** Returns a line of pino; null for another one, such as the report of a crash. */
function readEntry(line: string): Json | null {
  if (!line.startsWith('{')) return null;
  try {
    return JSON.parse(line) as Json;
  } catch {
    return null;
  }
}

function describeEntry({ level, msg, database, err }: Json): string {
  const cause = (err as { readonly message?: unknown } | undefined)?.message;
  const words = [LEVELS[Number(level)] ?? level, database, msg, cause === undefined ? undefined : `(${cause})`];
  return words.filter((word) => word !== undefined).join(' ');
}

/** The new entries of the timeline of one running service. */
export class TimelineTail {
  readonly name: string;
  readonly #service: AskedService;
  #seq = 0;

  constructor(service: AskedService) {
    this.name = service.name;
    this.#service = service;
  }

  /** @throws {PlatformError} SERVICE_UNREACHABLE, UNAUTHORIZED, SOURCE_REFUSED */
  async read(): Promise<readonly LogLine[]> {
    const lines: LogLine[] = [];
    for (;;) {
      const { entries, seq, hasMore } = await probeActors(this.#service, this.#seq);
      this.#seq = seq < this.#seq ? 0 : seq; // it was restarted
      for (const entry of entries) if (isTold(entry)) lines.push(this.#lineOf(entry));
      if (!hasMore) return lines;
    }
  }

  #lineOf(entry: Json): LogLine {
    const at = Number(entry['at']);
    const { dbType, kind, chain, network } = entry['actor'] as Json;
    const actor = [dbType ?? kind, chain, network].join('/');
    const text = `${new Date(at).toISOString()} ${this.name} ${actor} ${describeEvent(entry)}`;
    return { at, text, raw: { service: this.name, ...entry } };
  }
}

/** Returns whether an event is printed: messages that were answered are too many. */
const isTold = ({ kind, error }: Json) => kind !== 'message' || error !== undefined;

const EVENTS: Readonly<Record<string, (entry: Json) => string>> = {
  transition: ({ machine, event, from, to }) => `${machine}: ${event}: ${from ?? 'begins'} -> ${to}`,
  death: ({ cause, reason }) => `died (${cause}): ${reason}`,
  start: ({ generation }) => `starts (${generation})`,
  message: ({ type, error }) => `message ${type}: ${error}`,
  blocks: ({ direction, first, last }) => `${direction === 'out' ? 'sent' : 'applied'} blocks ${first} to ${last}`
};

const describeEvent = (entry: Json) => EVENTS[String(entry['kind'])]?.(entry) ?? String(entry['kind']);
