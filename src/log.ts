import { isMainThread, threadId } from 'node:worker_threads';
import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino';
import { PlatformError } from './errors.ts';

export type { Logger } from 'pino';

/** Field names whose values never reach a log line, at the top level or one below. */
const SECRET_FIELDS = ['pass', 'password', 'apiKey', 'authorization', 'secret', 'token', 'key', 'x-api-key'];

const redact = { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]), censor: '[redacted]' };

/** Returns the code and the reason of a failure that this system names: its stack is for those who look for a fault of the program. */
function shortOf(caught: unknown): unknown {
  if (!(caught instanceof PlatformError)) return caught instanceof Error ? stdSerializers.err(caught) : caught;
  const { code, message, detail } = caught;
  return { type: 'PlatformError', code, message, detail };
}

/** Returns the options that all loggers share. `LOG_LEVEL=debug` adds stacks. */
const optionsOf = (level: string) => ({
  level,
  redact,
  serializers: { err: ['debug', 'trace'].includes(level) ? stdSerializers.err : shortOf }
});

let terminal: DestinationStream | undefined;

/** Makes later loggers of this thread write lines for people. Their printer is loaded only here. */
export async function logToTerminal(): Promise<void> {
  const { default: pretty } = await import('pino-pretty');
  terminal = pretty({ sync: true, colorize: true, ignore: 'pid,hostname,service', translateTime: 'HH:MM:ss' });
}

/**
 * Creates the process's logger: JSON lines on standard output, readable lines after `logToTerminal`.
 *
 * Writes synchronously, so that the last line before an exit or a thread's death is never lost.
 */
export function createLogger(service: string, level = 'info'): Logger {
  const base = { service, ...(isMainThread ? {} : { thread: threadId }) };
  if (terminal) return pino({ ...optionsOf(level), base }, terminal);
  return pino(
    { ...optionsOf(level), base, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ sync: true, fd: 1 })
  );
}

/** A logger that says nothing, for callers that have no one to tell. */
export const silentLogger: Logger = pino({ level: 'silent' });
