import type { Random } from '../../../lab/reference/random.ts';
import { ATTACKER, KEY, type Prepared, repeat } from './prepared.ts';
import { addressOf } from './scale.ts';

const HOLDER = addressOf('H', 1);

/** Texts that make much work for their bytes, as who writes them knows the ledger; each begins with the name of its action. */
export const PIECES: Readonly<Record<string, (prepared: Prepared, random: Random) => string>> = {
  'ADDRESS of nothing': () => 'ADDRESS|0|',
  'AIRDROP to a list': ({ lists }) => `AIRDROP|0|DUST|1|${lists[0]}`,
  'AIRDROP of nothing': ({ lists }) => `AIRDROP|0|DUST|0|${lists[0]}`,
  'AIRDROP to holders': ({ lists }) => `AIRDROP|0|DUST|1|${lists.at(-1)}`,
  'AIRDROP in many parts': ({ lists }) => `AIRDROP|1|${lists[0]}${'|DUST|1'.repeat(20)}`,
  'AIRDROP without the funds': ({ lists }) => `AIRDROP|0|DUST|99999999999|${lists[0]}`,
  ATTEST: () => `ATTEST|1|1|2|x|ok||1|${KEY}|${KEY}${KEY}`,
  BROADCAST: () => 'BROADCAST|0|x',
  CALLBACK: () => 'CALLBACK|0|CALL',
  'COINPAY of a match': ({ matches }, random) => `COINPAY|0|${one(matches, random)}`,
  COLLECT: () => 'COLLECT|0',
  DELEGATE: (_, random) => `DELEGATE|0|${random.below(9_999_999).toString(16).padStart(64, 'd')}`,
  DESTROY: () => 'DESTROY|0|DUST|1',
  'DESTROY in many parts': (_, random) => `DESTROY|2${repeat(9, () => `|DUST|1|${random.below(99)}`).join('')}`,
  'DISPENSER that is empty': () => 'DISPENSER|0|BTC|DUST|1|0||BTC||1',
  'DISPENSER with one fill': () => 'DISPENSER|0|BTC|DUST|1|0|1|BTC|PAYT|1',
  'DISPENSER that is cancelled': ({ dispensers }, random) => `DISPENSER|1|${one(dispensers, random)}`,
  'DISPENSER that is edited': ({ dispensers }, random) => `DISPENSER|2|${one(dispensers, random)}|1`,
  DIVIDEND: () => 'DIVIDEND|0|HELD|DUST|1',
  'DIVIDEND without the funds': () => 'DIVIDEND|0|HELD|DUST|99999999999',
  FILE: () => 'FILE|0',
  'FILE with a gate': () => `FILE|0||||DUST|1|${KEY}|1`,
  'ISSUE of a new token': (_, random) => `ISSUE|0|N${random.below(999_999)}`,
  'ISSUE of a sub-token': (_, random) => `ISSUE|0|DUST.${random.below(999_999)}|||||1|^7|^8`,
  'ISSUE that edits': () => 'ISSUE|1|DUST|x',
  LINK: ({ files, issues }) => `LINK|0|BTC|${files[0]}|BTC|${issues[0]}`,
  'LIST of nothing': () => 'LIST',
  'LIST that is edited': ({ lists }, random) =>
    `LIST|1|${1 + random.below(2)}|${random.one(lists)}||${addressOf('H', random.below(999))}`,
  'LIST of ids': (_, random) => `LIST|0|2||${repeat(20, () => `^${1 + random.below(99)}`).join('|')}`,
  'LIST of new addresses': (_, random) =>
    `LIST|0|2||${repeat(20, () => `${addressOf('Z', random.below(99_999))}`).join('|')}`,
  'LIST of no addresses': (_, random) => `LIST|0|2||${repeat(20, () => random.below(1_296).toString(36)).join('|')}`,
  MESSAGE: () => `MESSAGE|3|BTC|${HOLDER}|x`,
  'MINT to another': () => 'MINT|0|DUST|1|^7',
  'ORDER that takes others': () => 'ORDER|0|BTC|PAYT|40|0|BTC|DUST|40',
  'ORDER that nobody takes': () => 'ORDER|0|BTC|DUST|1|0|BTC||9',
  'ORDER that is cancelled': ({ orders }, random) => `ORDER|1|${one(orders, random)}`,
  'ORDER that is edited': ({ orders }, random) => `ORDER|2|${one(orders, random)}||0`,
  'PRICE of a token': () => 'PRICE|1|BTC|DUST|USD|1|0',
  'PRICE of a round': () => `PRICE|0|1|1|1|1|BTC/USD|1|1|${KEY}|${KEY}${KEY}`,
  'SEND to dispensers': () => `SEND|0|PAYT|300|${ATTACKER}`,
  'SEND of one unit': (_, random) => `SEND|0|DUST|1|${addressOf('H', random.below(20_000))}`,
  'SEND to new addresses': (_, random) =>
    `SEND|1|DUST${repeat(9, () => `|1|${addressOf('Z', random.below(99_999))}`).join('')}`,
  'SEND of nothing': () => 'SEND',
  SLASH: () => `SLASH|0|price|${KEY}|x|${KEY}${KEY}|y|${KEY}${KEY}`,
  'SLEEP that is refused': () => 'SLEEP|0|x',
  'SLEEP of a token': () => 'SLEEP|1|1|HELD',
  'STAKE more': () => `STAKE|2|1|${KEY}`,
  'SWAP that nobody takes': () => 'SWAP|0|BTC|DUST|1|0|BTC|PAYT|9',
  'SWAP that is cancelled': ({ orders }, random) => `SWAP|1|${one(orders, random)}`,
  'SWEEP to itself': () => `SWEEP|0|${ATTACKER}|1|0`,
  'SWEEP of everything': () => `SWEEP|0|${ATTACKER}|1|0|1|1|1`,
  'SWEEP of very many tokens': () => `SWEEP|0|${ATTACKER}|0|1`,
  UNSTAKE: () => `UNSTAKE|0|${KEY}|1`,
  'VOTE for a poll': (_, random) => `VOTE|0|HELD|99999|a,b|1|approval|balance|0|0|0|1|${random.below(99)}`,
  'VOTE in a poll': ({ polls }, random) => `VOTE|1|${one(polls, random)}|0`,
  'VOTE in the poll of all': ({ polls }) => `VOTE|1|${polls[0]}|0`,
  'VOTE by another': () => 'VOTE|3|HELD|^7'
};
export type Piece = keyof typeof PIECES;

/** One of the numbers, or one that is no action. */
function one(indexes: readonly number[], random: Random): number {
  return indexes.length === 0 ? 0 : random.one(indexes);
}
