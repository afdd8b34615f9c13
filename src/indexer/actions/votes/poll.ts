import { formatAmount, parseTokenAmount } from '../../../consensus/amount.ts';
import { readGas } from '../../fees/gas-places.ts';
import { defineAction, type Step } from '../../rules/action-definition.ts';
import { lengthOf, orNull, readAmount, readIndex, sourceSleeps, tickColumn, tickUnknown } from '../../rules/checks.ts';
import { MOST_OPTIONS, type Poll, TALLY_MODES, WEIGHT_MODES, WHOLE_SUPPLY } from '../../state/poll.ts';
import type { Token } from '../../state/token.ts';

/** Poll as its text has it; null for badly formed fields. */
interface Asked {
  readonly tick: string;
  readonly token: Token | null;
  readonly endBlock: number | null;
  readonly options: readonly string[];
  readonly maxSelections: number | null;
  readonly tallyMode: Poll['tallyMode'] | null;
  readonly weightMode: Poll['weightMode'] | null;
  readonly quorum: bigint | null;
  readonly minVoters: number | null;
  readonly minBalance: bigint | null;
  /** Share that decides the poll early; 0 where it has none. */
  readonly threshold: bigint | null;
  readonly question: string;
  readonly deposit: bigint | null;
  readonly contract: string;
}

const LONGEST_OPTION = 64;
const LONGEST_QUESTION = 1_000;
/** Blocks of the longest poll: two years of Bitcoin. */
const LONGEST_POLL = 105_120;
const SHARE_PLACES = 18;

function read(step: Step): Asked[] {
  const { action, ledger } = step;
  const { get } = action.fields;
  const token = ledger.token(get('TICK'));
  const options = readOptions(get('OPTIONS'));
  const amount = (field: string, places: number) => (get(field) === '' ? 0n : parseTokenAmount(get(field), places));
  const share = (field: string) => {
    const given = amount(field, SHARE_PLACES);
    return given !== null && given <= WHOLE_SUPPLY ? given : null;
  };
  const most = readIndex(get('MAX_SELECTIONS') || '1');
  return [
    {
      tick: get('TICK'),
      token,
      options,
      endBlock: readIndex(get('END_BLOCK')),
      maxSelections: most !== null && most >= 1 && most <= options.length ? most : null,
      tallyMode: oneOf(TALLY_MODES, get('TALLY_MODE')),
      weightMode: oneOf(WEIGHT_MODES, get('WEIGHT_MODE')),
      quorum: share('QUORUM'),
      minVoters: readIndex(get('MIN_VOTERS') || '0'),
      minBalance: get('MIN_VOTE_BALANCE') === '' ? 0n : readAmount(get('MIN_VOTE_BALANCE'), token),
      threshold: share('DECIDE_THRESHOLD'),
      question: get('QUESTION'),
      deposit: readGas(get('DEPOSIT') || '0', step),
      contract: get('CALLBACK_CONTRACT')
    }
  ];
}

/** Returns the texts between commas, at most one more than a poll may have. */
function readOptions(text: string): string[] {
  return text.split(',', MOST_OPTIONS + 1).map((option) => option.trim());
}

/** Returns whether the options differ, none is too long, and there are not too many. */
function areGood(options: readonly string[]): boolean {
  const areTexts = options.every((option) => option !== '' && lengthOf(option) <= LONGEST_OPTION);
  return areTexts && new Set(options).size === options.length && options.length <= MOST_OPTIONS;
}

/** Returns the mode of that name in any case: the first where the text is empty, null for any other text. */
function oneOf<T extends string>(modes: readonly T[], text: string): T | null {
  const lower = text.toLowerCase();
  return lower === '' ? modes[0]! : (modes.find((mode) => mode === lower) ?? null);
}

/** Opens a poll among the holders of a token. */
export const POLL = defineAction<Asked>({
  name: 'VOTE',
  table: 'polls',
  formats: {
    0: 'TICK|END_BLOCK|OPTIONS|MAX_SELECTIONS|TALLY_MODE|WEIGHT_MODE|QUORUM|MIN_VOTERS|MIN_VOTE_BALANCE|DECIDE_THRESHOLD|QUESTION|DEPOSIT|CALLBACK_CONTRACT|CALLBACK_METHOD|CALLBACK_PARAMS|CALLBACK_ON|GAS_ESCROW|CALLBACK_DELAY_BLOCKS'
  },
  read,
  checks: [
    sourceSleeps,
    ['TICK (missing)', ({ tick }) => tick === ''],
    tickUnknown,
    [
      'SOURCE (must hold TICK to create poll)',
      ({ token }, { action, ledger }) => ledger.balance(token!.tick, action.source) === 0n
    ],
    [
      'END_BLOCK (must be a future block)',
      ({ endBlock }, { action: { block } }) => endBlock === null || endBlock <= block.height
    ],
    ['END_BLOCK (too far)', ({ endBlock }, { action: { block } }) => endBlock! > block.height + LONGEST_POLL],
    ['OPTIONS (need at least 2)', ({ options }) => options.length < 2],
    ['OPTIONS (format)', ({ options }) => !areGood(options)],
    ['MAX_SELECTIONS (range)', ({ maxSelections }) => maxSelections === null],
    ['TALLY_MODE (value)', ({ tallyMode }) => tallyMode === null],
    ['WEIGHT_MODE (value)', ({ weightMode }) => weightMode === null],
    [
      'quadratic WEIGHT_MODE requires MIN_VOTE_BALANCE > 0',
      ({ weightMode, minBalance }) => weightMode === 'quadratic' && !minBalance
    ],
    ['QUORUM (fraction 0-1)', ({ quorum }) => quorum === null],
    ['MIN_VOTERS (non-negative integer)', ({ minVoters }) => minVoters === null],
    ['MIN_VOTE_BALANCE (non-negative amount)', ({ minBalance }) => minBalance === null],
    ['DECIDE_THRESHOLD (fraction 0-1)', ({ threshold }) => threshold === null],
    ['QUESTION (length)', ({ question }) => lengthOf(question) > LONGEST_QUESTION],
    ['DEPOSIT (non-negative amount)', ({ deposit }) => deposit === null],
    ['CALLBACK_CONTRACT (unknown)', ({ contract }) => contract !== ''],
    [
      'insufficient funds (DEPOSIT)',
      ({ deposit }, { action, ledger, rules }) => ledger.balance(rules.gasTick, action.source) < deposit!
    ]
  ],
  row: (asked, step) => {
    const { action } = step;
    const amount = (value: bigint | null) => (value === null ? null : formatAmount(value));
    return {
      block_index: action.block.height,
      tick_id: tickColumn(step, asked.tick, asked.token),
      end_block: asked.endBlock,
      options: asked.options.length >= 2 && areGood(asked.options) ? JSON.stringify(asked.options) : null,
      max_selections: asked.maxSelections,
      tally_mode: asked.tallyMode,
      weight_mode: asked.weightMode,
      quorum: amount(asked.quorum),
      min_voters: asked.minVoters,
      min_vote_balance: amount(asked.minBalance),
      decide_threshold: asked.threshold ? amount(asked.threshold) : null,
      question: orNull(asked.question),
      deposit_amount: amount(asked.deposit),
      deposit_address_id: asked.deposit ? action.source : null
    };
  },
  apply: (asked, { action, ledger, rules }) => {
    const { index, source } = action;
    const deposit = asked.deposit!;
    const gas = ledger.token(rules.gasTick);
    if (gas !== null && deposit > 0n) {
      ledger.debit(gas, source, deposit);
      ledger.escrow(gas, source, deposit);
    }
    ledger.set('poll', String(index), {
      index,
      source,
      deposit,
      isOpen: true,
      lastBallot: 0,
      tick: asked.token!.tick,
      endBlock: asked.endBlock!,
      options: asked.options.length,
      maxSelections: asked.maxSelections!,
      tallyMode: asked.tallyMode!,
      weightMode: asked.weightMode!,
      quorum: asked.quorum!,
      minVoters: asked.minVoters!,
      minBalance: asked.minBalance!,
      threshold: asked.threshold! || null
    });
  }
});
