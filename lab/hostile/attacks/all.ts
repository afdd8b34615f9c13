import type { Attack } from '../attack.ts';
import { ANSWER_ATTACKS } from './answers.ts';
import { AUTHORITY_ATTACKS } from './authority.ts';
import { COST_ATTACKS } from './cost.ts';
import { DOOR_ATTACKS } from './doors.ts';
import { EXTENSION_ATTACKS } from './extension.ts';
import { HALF_ATTACKS } from './halves.ts';
import { LONG_KEY_ATTACKS } from './long-keys.ts';
import { MANY_COINS_ATTACKS } from './many-coins.ts';
import { MONEY_ATTACKS } from './money.ts';
import { NAME_ATTACKS } from './names.ts';
import { NODE_ATTACKS } from './node.ts';
import { QUOTE_ATTACKS } from './quotes.ts';
import { SPELLING_ATTACKS } from './spellings.ts';
import { TERM_ATTACKS } from './terms.ts';
import { WATCHED_ATTACKS } from './watched.ts';

/** Every attack, in the order in which they begin. */
export const ATTACKS: readonly Attack[] = [
  ...NAME_ATTACKS,
  ...AUTHORITY_ATTACKS,
  ...LONG_KEY_ATTACKS,
  ...SPELLING_ATTACKS,
  ...MONEY_ATTACKS,
  ...HALF_ATTACKS,
  ...QUOTE_ATTACKS,
  ...WATCHED_ATTACKS,
  ...TERM_ATTACKS,
  ...COST_ATTACKS,
  ...DOOR_ATTACKS,
  ...ANSWER_ATTACKS,
  ...MANY_COINS_ATTACKS,
  ...EXTENSION_ATTACKS,
  ...NODE_ATTACKS
];
