import { formatAmount, parseTokenAmount } from '../../../consensus/amount.ts';
import { MOST_OPTIONS, OPEN_POLLS, type Poll, TALLY_MODES, WEIGHT_MODES } from '../../polls/poll.ts';
import { defineAction, type Step } from '../../rules/action-definition.ts';
import { lengthOf, orNull, readAmount, readIndex, sourceSleeps, tickUnknown } from '../../rules/checks.ts';
import type { Token } from '../../state/token.ts';

/** A poll as its text says it; null for what is badly formed. */
interface Asked {
  readonly token: Token | null;
  readonly endBlock: number | null;
  readonly options: readonly string[] | null;
  readonly maxSelections: number | null;
  readonly tallyMode: Poll['tallyMode'] | null;
  readonly weightMode: Poll['weightMode'] | null;
  readonly quorum: bigint | null;
  readonly minVoters: number | null;
  readonly minBalance: bigint | null;
  readonly threshold: bigint | null;
  readonly hasThreshold: boolean;
  readonly question: string;
  readonly deposit: bigint | null;
  readonly contract: string;
}

const LONGEST_OPTION = 64;
const LONGEST_QUESTION = 1_000;
/** Two years of Bitcoin. */
const LONGEST_POLL = 105_120;
const GAS_PLACES = 8;
const WEIGHT_PLACES = 18;

function read({ action, ledger }: Step): Asked[] {
  const { get } = action.fields;
  const token = ledger.token(get('TICK'));
  const options = readOptions(get('OPTIONS'));
  const amount = (field: string, places: number) => (get(field) === '' ? 0n : parseTokenAmount(get(field), places));
  const most = readIndex(get('MAX_SELECTIONS') || '1');
  return [
    {
      token,
      options,
      endBlock: readIndex(get('END_BLOCK')),
      maxSelections: most !== null && most >= 1 && most <= (options?.length ?? 0) ? most : null,
      tallyMode: oneOf(TALLY_MODES, get('TALLY_MODE')),
      weightMode: oneOf(WEIGHT_MODES, get('WEIGHT_MODE')),
      quorum: amount('QUORUM', WEIGHT_PLACES),
      minVoters: readIndex(get('MIN_VOTERS') || '0'),
      minBalance: get('MIN_VOTE_BALANCE') === '' ? 0n : readAmount(get('MIN_VOTE_BALANCE'), token),
      threshold: amount('DECIDE_THRESHOLD', WEIGHT_PLACES),
      hasThreshold: get('DECIDE_THRESHOLD') !== '',
      question: get('QUESTION'),
      deposit: amount('DEPOSIT', GAS_PLACES),
      contract: get('CALLBACK_CONTRACT')
    }
  ];
}

/** Two options or more, each another text; null for any other list. */
function readOptions(text: string): string[] | null {
  const options = text.split(',', MOST_OPTIONS + 1).map((option) => option.trim());
  const isGood = options.every((option) => option !== '' && lengthOf(option) <= LONGEST_OPTION);
  const isDistinct = new Set(options).size === options.length;
  return isGood && isDistinct && options.length >= 2 && options.length <= MOST_OPTIONS ? options : null;
}

/** The mode of that name in any case; the first where there is none, null for another text. */
function oneOf<T extends string>(modes: readonly T[], text: string): T | null {
  const lower = text.toLowerCase();
  return lower === '' ? modes[0]! : (modes.find((mode) => mode === lower) ?? null);
}

/** Asks the holders of a token. */
export const POLL = defineAction<Asked>({
  name: 'VOTE',
  table: 'polls',
  formats: {
    0: 'TICK|END_BLOCK|OPTIONS|MAX_SELECTIONS|TALLY_MODE|WEIGHT_MODE|QUORUM|MIN_VOTERS|MIN_VOTE_BALANCE|DECIDE_THRESHOLD|QUESTION|DEPOSIT|CALLBACK_CONTRACT|CALLBACK_METHOD|CALLBACK_PARAMS|CALLBACK_ON|GAS_ESCROW|CALLBACK_DELAY_BLOCKS'
  },
  read,
  checks: [
    tickUnknown,
    ['END_BLOCK (format)', ({ endBlock }) => endBlock === null],
    ['OPTIONS (format)', ({ options }) => options === null],
    ['MAX_SELECTIONS (format)', ({ maxSelections }) => maxSelections === null],
    ['TALLY_MODE (format)', ({ tallyMode }) => tallyMode === null],
    ['WEIGHT_MODE (format)', ({ weightMode }) => weightMode === null],
    ['QUORUM (format)', ({ quorum }) => quorum === null],
    ['MIN_VOTERS (format)', ({ minVoters }) => minVoters === null],
    ['MIN_VOTE_BALANCE (format)', ({ minBalance }) => minBalance === null],
    ['DECIDE_THRESHOLD (format)', ({ threshold, hasThreshold }) => hasThreshold && !threshold],
    ['QUESTION (length)', ({ question }) => lengthOf(question) > LONGEST_QUESTION],
    ['DEPOSIT (format)', ({ deposit }) => deposit === null],
    ['CALLBACK_CONTRACT (unknown)', ({ contract }) => contract !== ''],
    sourceSleeps,
    [
      'END_BLOCK (block index)',
      ({ endBlock }, { action: { block } }) => endBlock! <= block.height || endBlock! > block.height + LONGEST_POLL
    ],
    ['insufficient funds (TICK)', ({ token }, { action, ledger }) => ledger.balance(token!.tick, action.source) === 0n],
    [
      'insufficient funds (DEPOSIT)',
      ({ deposit }, { action, ledger, rules }) => ledger.balance(rules.gasTick, action.source) < deposit!
    ]
  ],
  row: (asked, { action }) => {
    const amount = (value: bigint | null) => (value === null ? null : formatAmount(value));
    return {
      block_index: action.block.height,
      tick_id: asked.token?.tick ?? null,
      end_block: asked.endBlock,
      options: asked.options && JSON.stringify(asked.options),
      max_selections: asked.maxSelections,
      tally_mode: asked.tallyMode,
      weight_mode: asked.weightMode,
      quorum: amount(asked.quorum),
      min_voters: asked.minVoters,
      min_vote_balance: amount(asked.minBalance),
      decide_threshold: asked.hasThreshold ? amount(asked.threshold) : null,
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
      ...{ index, source, deposit, isOpen: true, lastBallot: 0 },
      tick: asked.token!.tick,
      endBlock: asked.endBlock!,
      options: asked.options!.length,
      maxSelections: asked.maxSelections!,
      tallyMode: asked.tallyMode!,
      weightMode: asked.weightMode!,
      quorum: asked.quorum!,
      minVoters: asked.minVoters!,
      minBalance: asked.minBalance!,
      threshold: asked.hasThreshold ? asked.threshold! : null
    });
    ledger.set('openPolls', OPEN_POLLS, [...ledger.get('openPolls', OPEN_POLLS), index]);
  }
});
