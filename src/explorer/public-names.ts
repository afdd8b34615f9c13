import type { ErrorCode } from '../errors.ts';
import type { PublicName } from '../service/errors.ts';

const AWAY: PublicName = { code: 'COIN_NOT_AVAILABLE', status: 503 };
const LATE: PublicName = { code: 'UPSTREAM_ERROR', status: 502 };

/** MariaDB answers, and has not what a statement names, or does not understand it. */
const FAULT: PublicName = { code: 'DB_ERROR', status: 500 };

/** The codes that callers of an explorer know, for those of this system. */
export const PUBLIC_NAMES: Readonly<Partial<Record<ErrorCode, PublicName>>> = {
  REQUEST_INVALID: { code: 'BAD_REQUEST' },
  PARAMETER_MISSING: { code: 'MISSING_PARAMETER' },
  ACTION_INDEX_INVALID: { code: 'INVALID_ACTION_INDEX' },
  BLOCK_INDEX_INVALID: { code: 'INVALID_BLOCK_INDEX' },
  COIN_UNKNOWN: { code: 'UNKNOWN_COIN' },
  RECORD_UNKNOWN: { code: 'NOT_FOUND' },
  CHECKPOINT_UNKNOWN: { code: 'CHECKPOINT_NOT_FOUND' },
  CHECKPOINT_MISSING: { code: 'NO_CHECKPOINT' },
  RANGE_INVALID: { code: 'INVALID_RANGE' },
  STAKES_ELSEWHERE: { code: 'STAKES_BTC_ONLY' },
  INDEXER_UNNAMED: { code: 'INDEXER_NOT_CONFIGURED' },
  INDEXER_UNREACHABLE: LATE,
  INDEXER_LATE: LATE,
  INTERNAL: { code: 'SERVER_ERROR' },
  TABLE_LACKING: FAULT,
  STATEMENT_REFUSED: FAULT,
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
