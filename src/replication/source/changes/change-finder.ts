import type { Statements } from '../../../db/connection.ts';
import type { SourceLayout } from '../../tables/source-layout.ts';
import { lookAtCorrelated } from './correlated.ts';
import type { LoggedChanges, TableFound } from './found-changes.ts';
import {
  beginLook,
  type Look,
  lookAround,
  lookAtWhole,
  noteLastIds,
  requireLearned,
  requireUnknown
} from './looking.ts';
import type { OwnValues } from './own-rows.ts';
import { reachesEnd, type Span } from './spans.ts';
import type { TableFacts } from './table-facts.ts';
import type { TableWatch } from './table-watch.ts';
import { ChangeTaker, groupRoom, type NamedRows } from './taking.ts';
import type { TouchedKeys } from './touch-rules.ts';

/** A look at all rows of a larger table may outlast the limit of its statement. */
const MAX_WHOLE_ROWS = 2_000_000;
/** A group looks at all rows of an altered table up to this many; of a larger one, blocks do not wait for that. */
const MAX_ALTERED_ROWS = 200_000;

/** The rows of a group, and the state of its tables. */
interface GroupFacts {
  readonly watches: ReadonlyMap<string, TableWatch>;
  readonly facts: ReadonlyMap<string, TableFacts>;
  /** UPDATE_TIME of `blocks` as it was with the group before; null: not known. */
  readonly before: string | null;
  /** Values of the group's own blocks. */
  readonly own: OwnValues;
  /** By table: own values whose rows were broadcast before. */
  readonly stale: ReadonlyMap<string, readonly Span[]>;
  /** Tables with rows in the group's own blocks. */
  readonly withRows: ReadonlySet<string>;
  /** Keys that the group's rows name; it learns those of the older rows that are sent. */
  readonly touched: TouchedKeys;
  /** The rows that changed, as the binary log names them; null: they are looked for. */
  readonly logged: LoggedChanges | null;
  /** By table: values that are sent once more, for subscribers without amendments. */
  readonly again: ReadonlyMap<string, readonly Span[]>;
  /** Every subscriber takes amendments. */
  readonly isAmended: boolean;
}

/** Finds what changed since the last broadcast beyond the rows of the new blocks. All reads are of one snapshot. */
export async function findChanges(
  statements: Statements,
  layout: SourceLayout,
  { watches, facts, before, own, stale, withRows, touched, logged, again, isAmended }: GroupFacts
): Promise<{
  readonly tables: ReadonlyMap<string, TableFound>;
  readonly gaps: readonly string[];
  readonly unlooked: ReadonlySet<string>;
}> {
  const gaps: string[] = [];
  const looks = layout.plans.flatMap((plan) => {
    const watch = watches.get(plan.name);
    if (!watch) return [];
    const values = watch.ranging.column === null ? [] : own.of(plan);
    const known = { facts: facts.get(plan.name), before, stale: stale.get(plan.name) ?? [] };
    // Rows of lookup tables that the log names travel by their ids.
    const ofLog = plan.class === 'lookup' ? [] : (logged?.spans(plan.name) ?? []);
    const named = [...ofLog, ...(again.get(plan.name) ?? [])];
    return [beginLook({ plan, watch, own: values, ...known }, named)];
  });
  if (logged) {
    await noteLastIds(
      statements,
      looks.filter(({ plan }) => logged.has(plan.name))
    );
    const whole = looks.filter(({ plan }) => logged.isWhole(plan.name));
    // Where nothing is known of any table, the unknown rows are too many to be sent.
    if (!logged.isAll) for (const look of whole) requireLearned(look);
    const isBounded = ({ facts: known }: Look) => (known?.rows ?? 0) <= MAX_WHOLE_ROWS;
    for (const look of whole.filter(isBounded)) {
      await lookAtWhole(statements, look);
      const { unknownSpans, learned } = look.watch;
      if (!logged.isAll) requireUnknown(look);
      else if (unknownSpans.length + learned.length > 0) gaps.push(unknownGap(look.plan.name));
    }
    const altered = looks.filter(({ plan: { name } }) => logged.isAltered(name) && !logged.isWhole(name));
    for (const look of altered.filter(({ facts: known }) => (known?.rows ?? 0) <= MAX_ALTERED_ROWS)) {
      await lookAtWhole(statements, look);
      // Rows of which nobody knows what was broadcast are not sent for it: the look after the block learns them, and replicas compare.
      look.notes.isWhole = look.watch.unknownSpans.length === 0;
    }
    for (const { plan, watch } of altered) if (watch.learned.length > 0) gaps.push(unknownGap(plan.name));
    // Larger tables get the look of a group without a log, and amendments bring the rest.
    const large = whole.filter((look) => !isBounded(look));
    await lookAround(statements, large, withRows, new Set(touched.rules.map(({ plan }) => plan)));
    if (logged.isAll) for (const { plan } of large) gaps.push(unknownGap(plan.name));
  } else {
    await lookAround(statements, looks, withRows, new Set(touched.rules.map(({ plan }) => plan)));
    await lookAtCorrelated(statements, looks);
  }
  const taker = new ChangeTaker(statements, layout.dbType, { room: groupRoom(looks, isAmended) });
  const found = new Map<string, TableFound>();
  const take = async (look: Look, named?: NamedRows) => {
    const change = named ? await taker.takeNamed(look, named, touched) : await taker.take(look, touched);
    if (change) found.set(look.plan.name, change);
  };
  // Scoped tables first: their rows name the keys to look up in the others.
  for (const look of looks) if (look.plan.scope !== null) await take(look);
  const others = looks.filter(({ plan }) => plan.scope === null);
  const named = await Promise.all(others.map((look) => taker.readNamed(look, touched)));
  for (const [index, look] of others.entries()) await take(look, named[index]);
  const isUnlooked = ({ plan: { name }, watch, own, notes }: Look) =>
    own.some(reachesEnd) || // rows of other blocks may stand at the same value
    (!notes.isWhole &&
      (notes.isLooked ||
        logged?.isWhole(name) ||
        logged?.isAltered(name) ||
        !(watch.isLooked || (logged && watch.isTakenBack))));
  return { tables: found, gaps, unlooked: new Set(looks.filter(isUnlooked).map(({ plan }) => plan.name)) };
}

function unknownGap(table: string): string {
  return `table ${table}: what changed in its older rows is not known: replicas find the difference by digest`;
}
