import type { Attack } from '../attack.ts';
import { AUTHORITY_ATTACKS } from './authority.ts';
import { COST_ATTACKS } from './cost.ts';
import { DOOR_ATTACKS } from './doors.ts';
import { MONEY_ATTACKS } from './money.ts';
import { NAME_ATTACKS } from './names.ts';
import { NODE_ATTACKS } from './node.ts';

/** Every attack, in the order in which they begin. */
export const ATTACKS: readonly Attack[] = [
  ...NAME_ATTACKS,
  ...AUTHORITY_ATTACKS,
  ...MONEY_ATTACKS,
  ...COST_ATTACKS,
  ...DOOR_ATTACKS,
  ...NODE_ATTACKS
];
