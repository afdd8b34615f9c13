import { writeSync } from 'node:fs';

/** Levels of a guardian's lines, by their numbers in all logs. */
const LEVELS = { error: 50, fatal: 60 } as const;

type Fields = Readonly<Record<string, unknown>>;

/** Log of a guardian: lines as services log them. What writes those takes a guardian half of its memory again. */
export interface GuardianLog {
  error(fields: Fields, message: string): void;
  fatal(fields: Fields, message: string): void;
  /** Returns one whose lines have further fields. */
  child(fields: Fields): GuardianLog;
}

/** Makes a log on standard output: JSON lines, or readable ones on a terminal. @param service name in its lines */
export function guardianLog(service: string, more: Fields = {}): GuardianLog {
  const write = (level: keyof typeof LEVELS, fields: Fields, message: string) => {
    const time = new Date().toISOString();
    const all = { ...more, ...fields };
    const line = process.stdout.isTTY
      ? `[${time.slice(11, 19)}] ${level.toUpperCase()}: ${message} ${JSON.stringify(all)}`
      : JSON.stringify({ level: LEVELS[level], time, service, ...all, msg: message });
    try {
      writeSync(1, `${line}\n`); // the last line before an exit must not be lost
    } catch {} // nobody reads it any more, or the disk is full: a guardian goes on
  };
  return {
    error: (fields, message) => write('error', fields, message),
    fatal: (fields, message) => write('fatal', fields, message),
    child: (fields) => guardianLog(service, { ...more, ...fields })
  };
}
