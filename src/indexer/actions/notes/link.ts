import { COINS } from '../../profile/rules.ts';
import { type Check, defineAction, type Step } from '../../rules/action-definition.ts';
import { MEMO_CHECKS, orNull, readIndex, sourceSleeps } from '../../rules/checks.ts';
import { MAPPED } from '../../state/effects.ts';
import type { PastAction } from '../../state/facts.ts';
import type { Token } from '../../state/token.ts';

interface End {
  readonly coin: string;
  readonly actionIndex: string;
}

interface Link {
  readonly ends: readonly [End, End];
  readonly memo: string;
}

function read({ action: { fields } }: Step): Link[] {
  const end = (number: 1 | 2): End => ({
    coin: fields.get(`COIN${number}`).toUpperCase(),
    actionIndex: fields.get(`COIN${number}_ACTION_INDEX`)
  });
  return [{ ends: [end(1), end(2)], memo: fields.get('MEMO') }];
}

/** Returns one check for each end, in turn. */
function bothEnds(status: (name: string) => string, fails: (end: End, step: Step) => boolean): Check<Link>[] {
  return [0, 1].map((place) => [status(`COIN${place + 1}`), ({ ends }, step) => fails(ends[place]!, step)]);
}

/** Returns the valid action of this chain that an end of a link names; null for none. */
function pastOf({ coin, actionIndex }: End, { ledger, rules }: Step): PastAction | null {
  return coin === rules.coin ? ledger.get('past', String(Number(actionIndex))) : null;
}

/** Returns the token that a link is for, where its second end is an ISSUE of this chain. */
function linkedToken({ ends }: Link, step: Step): Token | null {
  const past = pastOf(ends[1], step);
  return past?.tick == null ? null : step.ledger.token(past.tick);
}

/** Gives a token the file that its owner links to an ISSUE of it, in either order. */
function mapFile({ ends }: Link, step: Step): void {
  const { action, ledger } = step;
  for (const [file, issue] of [ends, [ends[1], ends[0]] as const]) {
    const tick = pastOf(issue, step)?.tick ?? null;
    const token = tick === null ? null : ledger.token(tick);
    if (pastOf(file, step)?.name !== 'FILE' || token?.owner !== action.source) continue;
    const mapping = { action_index: readIndex(file.actionIndex), type_id: MAPPED.ticker, id: token.id };
    ledger.record('mappings_files', mapping);
  }
}

/** Links two actions, on one chain or two. */
export const LINK = defineAction<Link>({
  name: 'LINK',
  table: 'links',
  formats: { 0: 'COIN1|COIN1_ACTION_INDEX|COIN2|COIN2_ACTION_INDEX|MEMO' },
  read,
  checks: [
    ...bothEnds(
      (name) => `${name} (unsupported COIN network)`,
      ({ coin }) => !COINS.has(coin)
    ),
    ...bothEnds(
      (name) => `${name}_ACTION_INDEX (format)`,
      ({ actionIndex }) => readIndex(actionIndex) === null
    ),
    sourceSleeps,
    ...bothEnds(
      (name) => `${name}_ACTION_INDEX (status)`,
      ({ coin, actionIndex }, { ledger, rules }) =>
        coin === rules.coin && ledger.get('past', String(Number(actionIndex))) === null
    ),
    [
      'SOURCE (not authorized)',
      (link, step) => (linkedToken(link, step)?.owner ?? step.action.source) !== step.action.source
    ],
    ['TICK (ownership escrowed)', (link, step) => linkedToken(link, step)?.escrowActionIndex != null],
    ...MEMO_CHECKS
  ],
  row: ({ ends: [first, second], memo }) => ({
    coin1_id: COINS.has(first.coin) ? first.coin : null,
    coin1_action_index: readIndex(first.actionIndex),
    coin2_id: COINS.has(second.coin) ? second.coin : null,
    coin2_action_index: readIndex(second.actionIndex),
    memo_id: orNull(memo)
  }),
  apply: mapFile
});
