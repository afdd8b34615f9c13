import type { ErrorCode } from '../errors.ts';

/** Exit codes from sysexits(3). For codes 64 to 78 another start of the same command would not help. */
export const EXIT = {
  usage: 64,
  data: 65,
  unavailable: 69,
  software: 70,
  system: 71,
  create: 73,
  io: 74,
  permission: 77,
  config: 78
} as const;

/** Lines on the exit codes of all commands. */
export const EXIT_LINES: readonly string[] = [
  'Exit codes: 0 done; 1 failed; 64 usage, 65 data, 69 unavailable, 70 software, 71 system, 73 cannot create, 74 I/O, 77 permission,',
  '78 configuration: from 64 to 78 another start does not help.'
];

/** Exit codes by error. An error without a row ends the process with 1: another start may help. */
const EXIT_CODES: Partial<Record<ErrorCode, number>> = {
  COMMAND_INVALID: EXIT.usage,
  REQUEST_INVALID: EXIT.usage,
  DATABASE_UNUSABLE: EXIT.data,
  MIGRATION_CHANGED: EXIT.data,
  MIGRATION_REFUSED: EXIT.unavailable,
  REPLICA_FOREIGN: EXIT.data,
  INPUT_INVALID: EXIT.data,
  HUB_UNREACHABLE: EXIT.unavailable,
  DATABASE_UNAVAILABLE: EXIT.unavailable,
  DATABASE_UNKNOWN: EXIT.unavailable,
  SOURCE_UNREACHABLE: EXIT.unavailable,
  SERVICE_UNREACHABLE: EXIT.unavailable,
  NODE_UNREACHABLE: EXIT.unavailable,
  PREREQUISITE_MISSING: EXIT.unavailable,
  PROCESS_EXITED: EXIT.software,
  PORT_IN_USE: EXIT.system,
  STATE_UNUSABLE: EXIT.create,
  STATE_LOCKED: EXIT.create,
  TEMP_UNUSABLE: EXIT.create,
  DISK_FULL: EXIT.io,
  DATABASE_REFUSED: EXIT.permission,
  UNAUTHORIZED: EXIT.permission,
  CONFIG_INVALID: EXIT.config,
  NODE_MISMATCH: EXIT.config
};

/** Returns the exit code for an error that ended a command. */
export function exitCodeOf(code: ErrorCode): number {
  return EXIT_CODES[code] ?? 1;
}
