import { type Html, html } from './html.ts';

/** Outcome of an action: it was carried out, was refused, waits for something, or ended in some other way. */
export type Outcome = 'carried' | 'refused' | 'waiting' | 'ended';

const REFUSED = /^invalid(?:: )?/;

/** Returns the outcome that a status tells. A status that nobody knows is no success. */
export function outcomeOf(status: unknown): Outcome {
  const text = String(status);
  if (text === 'valid') return 'carried';
  if (REFUSED.test(text)) return 'refused';
  return /^pending/.test(text) ? 'waiting' : 'ended';
}

/** Colours of outcomes. */
const STATES: Readonly<Record<Outcome, string>> = {
  carried: 'well',
  refused: 'failed',
  waiting: 'waiting',
  ended: 'unknown'
};

/** Words for kinds of actions that were carried out. */
const CARRIED: Readonly<Record<string, string>> = {
  SEND: 'paid',
  MINT: 'minted',
  ISSUE: 'issued',
  DESTROY: 'destroyed',
  AIRDROP: 'paid',
  DIVIDEND: 'paid',
  SWEEP: 'swept',
  ORDER: 'placed',
  ORDER_CANCEL: 'cancelled',
  ORDER_MATCH: 'traded',
  SWAP: 'offered',
  SWAP_CANCEL: 'cancelled',
  SWAP_MATCH: 'swapped',
  DISPENSER: 'opened',
  DISPENSER_CANCEL: 'cancelled',
  DISPENSE: 'dispensed',
  COINPAY: 'paid',
  BROADCAST: 'published',
  MESSAGE: 'sent',
  FILE: 'stored',
  LIST: 'listed',
  ADDRESS: 'set',
  VOTE: 'voted',
  STAKE: 'staked',
  UNSTAKE: 'unstaked'
};

/** Returns the word for an action that was carried out. */
const wordOf = (kind: unknown): string => CARRIED[String(kind)] ?? 'carried out';

/** Shows a verdict in short: what an action did, or why it was refused. @param isPart whether other legs of it ended otherwise */
export function verdict(kind: unknown, status: string, isPart = false): Html {
  const outcome = outcomeOf(status);
  const text =
    outcome === 'carried'
      ? wordOf(kind)
      : outcome === 'refused'
        ? `${isPart ? 'refused in part' : 'refused'}: ${reasonOf(status)}`
        : laterWord(status);
  return html`<span class="verdict" data-state="${STATES[outcome]}">${text}</span>`;
}

/** Returns the words for a status that is neither success nor refusal. */
const laterWord = (status: string): string =>
  status === 'pending_coinpay' ? 'waits for a payment in coin' : status.replaceAll('_', ' ');

/** Meanings of the reasons that stand behind the name of a field. */
const WHY: Readonly<Record<string, string>> = {
  format: 'is not written as it must be',
  unknown: 'does not exist',
  length: 'is too long or too short',
  limit: 'is above the limit',
  missing: 'is missing',
  null: 'is missing',
  reserved: 'is reserved',
  sleeping: 'sleeps',
  value: 'has a value that is not allowed',
  'not authorized': 'is not allowed to do this',
  'not owner': 'does not own the token',
  'must be positive': 'must be above zero',
  'ownership escrowed': 'has its ownership in escrow',
  'bad address': 'is no address'
};

/** Returns the reason of a refusal in words, without a full stop. */
export function reasonOf(status: string): string {
  const text = status.replace(REFUSED, '');
  const [, lacking] = /^insufficient funds(?: \((\w+)\))?$/.exec(text) ?? [];
  if (lacking !== undefined && lacking !== 'TICK') return `its source does not have enough for the ${wordsOf(lacking)}`;
  if (/^insufficient funds/.test(text)) return 'its source does not have enough';
  const [, field, why = ''] = /^([A-Z][A-Z0-9_]*) \(([^()]+)\)$/.exec(text) ?? [];
  if (field === undefined) return text;
  const named = /^(\w+)_ACTION_INDEX$/.exec(field)?.[1];
  const subject = named === undefined ? `its ${wordsOf(field)}` : `the ${wordsOf(named)} that it names`;
  return WHY[why] === undefined ? `${subject}: ${why.replaceAll('_', ' ')}` : `${subject} ${WHY[why]}`;
}

const wordsOf = (field: string): string =>
  field
    .toLowerCase()
    .replaceAll('_', ' ')
    .replace(/^tick$/, 'token');

/** Says in a sentence how an action ended. @param isPart whether other legs of it ended otherwise */
export function verdictSentence(kind: unknown, status: string, isPart = false): Html {
  const outcome = outcomeOf(status);
  const word = wordOf(kind);
  const text = {
    carried: `${word.charAt(0).toUpperCase()}${word.slice(1)}.`,
    refused: `Refused because ${reasonOf(status)}.`,
    waiting: `Not done yet: it ${laterWord(status)}.`,
    ended: `Ended: ${laterWord(status)}.`
  }[outcome];
  return html`<p class="verdict sentence" data-state="${STATES[outcome]}">${isPart && 'In part: '}${text}</p>`;
}
