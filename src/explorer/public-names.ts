import type { ErrorCode } from '../errors.ts';
import type { PublicName } from '../service/errors.ts';

const AWAY: PublicName = { code: 'COIN_NOT_AVAILABLE', status: 503 };
const LATE: PublicName = { code: 'UPSTREAM_ERROR', status: 502 };

/** The codes that callers of an explorer know, for those of this system. */
export const PUBLIC_NAMES: Readonly<Partial<Record<ErrorCode, PublicName>>> = {
  REQUEST_INVALID: { code: 'BAD_REQUEST' },
  PARAMETER_MISSING: { code: 'MISSING_PARAMETER' },
  ACTION_INDEX_INVALID: { code: 'INVALID_ACTION_INDEX' },
  BLOCK_INDEX_INVALID: { code: 'INVALID_BLOCK_INDEX' },
  COIN_UNKNOWN: { code: 'UNKNOWN_COIN' },
  RECORD_UNKNOWN: { code: 'NOT_FOUND' },
  INTERNAL: { code: 'SERVER_ERROR' },
  COIN_NOT_AVAILABLE: AWAY,
  DATABASE_UNAVAILABLE: AWAY,
  DATABASE_REFUSED: AWAY,
  DATABASE_UNUSABLE: AWAY,
  ACTOR_BUSY: AWAY,
  ACTOR_EXITED: AWAY,
  ACTOR_NOT_READY: AWAY,
  ACTOR_TIMEOUT: LATE,
  QUESTION_TOO_HEAVY: LATE
};
