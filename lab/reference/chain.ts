import { type Limits, NO_LIMITS } from '../../src/coin/limits.ts';
import { FEATURES } from '../../src/coin/profile.ts';
import { parseAmount } from '../../src/consensus/amount.ts';
import type { ChainBlock, ChainTransaction } from '../../src/indexer/block/block.ts';
import type { Rules } from '../../src/indexer/profile/rules.ts';
import type { Offer } from '../../src/indexer/state/offer.ts';
import { TEST_RULES } from '../../test/support/indexer-ledger.ts';
import { priceText } from '../../test/support/indexer-signers.ts';
import { REFERENCE_ACTIONS } from './ledger.ts';
import { Random } from './random.ts';
import { addressesOf, type RecentAction, type Scene, signerOf, Writer } from './texts.ts';

const POOL = 'E999999';

/** A regtest of Bitcoin whose addresses are a capital letter of the first five and the number of a season. */
export const CHAIN_RULES: Rules = {
  ...TEST_RULES,
  rewardPool: POOL,
  isActive: (name) => REFERENCE_ACTIONS.has(name) || FEATURES.some((feature) => feature === name),
  readAddress: (text) => (/^[A-E]\d{1,6}$/.test(text) ? text : undefined)
};

/** The same where actions cost gas, which may be paid in coins. */
export const GAS_RULES: Rules = {
  ...CHAIN_RULES,
  fees: {
    gas: {
      issue: 100_000,
      issueSubtoken: 50_000,
      recipient: 100,
      item: 100,
      sweep: 5_000,
      callback: 5_000,
      offerDay: 550,
      offerOwnership: 50_000,
      listShare: 100_000,
      listEdit: 5_000,
      listItem: 100
    },
    price: '0.00001',
    destination: 'E888888',
    donation: 'D888888'
  }
};

/** Limits that many blocks of a chain meet. */
export const LOW_LIMITS: Limits = {
  parts: 4,
  dispenses: 1,
  emptyDispensers: 1,
  blockUnits: 30,
  wholeList: 2,
  blockListRows: 3
};

/**
 * Returns rules of which those beside the actions begin one after the other. Below that of the spelling an address may
 * have a small letter, and is another than that with the capital one.
 *
 * @param blocks number of blocks within which all begin
 */
export function risingRules(rules: Rules, blocks: number): Rules {
  const names: readonly string[] = FEATURES;
  const startOf = (name: string) => Math.floor(((1 + names.indexOf(name)) * blocks) / (names.length + 1));
  return {
    ...rules,
    isActive: (name, height) => rules.isActive(name, height) && height >= startOf(name),
    limitsAt: (height) => (height >= startOf('LIMITS') ? rules.limitsAt(height) : NO_LIMITS),
    readAddress: (text, coin, height) => {
      const canonical = rules.readAddress(text.toUpperCase(), coin, height);
      return canonical && height >= startOf('CANONICAL_ADDRESSES') ? canonical : canonical && text;
    }
  };
}

/** Beginning of a branch. */
interface BranchPoint {
  /** Height of its first block. */
  readonly height: number;
  readonly recent: readonly RecentAction[];
  /** Returns the newer of the offers that are live. */
  readonly offers: () => readonly Offer[];
  /** Newest lists of addresses, by the actions that made them. */
  readonly lists: readonly number[];
}

/** A scene with offers. */
export type MarketScene = Scene & Pick<BranchPoint, 'offers' | 'lists'>;
/** A text of an action, and the address that sends it. */
export type SourceText = readonly [source: string, text: string];

/** Material that the blocks of a chain are made of. */
export interface ChainKind {
  /** Returns the actions with which a season begins, once there are gas and stakes. */
  readonly opening: (season: number) => readonly SourceText[];
  readonly writer: (scene: MarketScene) => Pick<Writer, 'text' | 'payee'>;
  /** Returns the time of a block, in seconds since that of the first. */
  readonly secondsOf: (height: number, random: Random) => number;
}

/** Blocks of a season. */
export const SEASON_BLOCKS = 120;
/** Block of a season by which the last stakes of the season before count, so that they can end. */
const CLOSING_BLOCK = 6;
const BLOCK_SECONDS = 600;
const FIRST_TIME = 1_700_000_000;
const MOST_TRANSACTIONS = 8;
/** It issues the gas token and gives each season some. */
const BANK = 'A999999';

/** Actions of every kind, valid ones and others. */
export const EVERY_KIND: ChainKind = {
  opening: firstTokens,
  writer: (scene) => new Writer(scene),
  secondsOf: (height, random) => BLOCK_SECONDS * height + random.below(3 * BLOCK_SECONDS) - BLOCK_SECONDS
};

/** Makes blocks of a kind of chain: the same for a seed. */
export class ChainMaker {
  readonly #random: Random;
  readonly #feeDestination: string | undefined;
  readonly #mark: string;
  readonly #kind: ChainKind;
  #blocks = 0;

  /**
   * @param feeDestination  who is paid fees in coins; undefined where nobody is
   * @param mark hexadecimal digit in its hashes by which no other maker has the same
   */
  constructor(seed: number, feeDestination?: string, mark = 'f', kind = EVERY_KIND) {
    this.#random = new Random(seed);
    this.#feeDestination = feeDestination;
    this.#mark = mark;
    this.#kind = kind;
  }

  /** The next block of a branch. Blocks of two branches never have equal hashes. */
  block({ height, recent, offers, lists }: BranchPoint): ChainBlock {
    this.#blocks += 1;
    const time = FIRST_TIME + this.#kind.secondsOf(height, this.#random);
    const season = Math.floor(height / SEASON_BLOCKS);
    const scene: MarketScene = { random: this.#random, season, height, time, recent, offers, lists };
    const texts = this.#textsAt(height % SEASON_BLOCKS, scene);
    const transactions = texts.map(([source, text], place): ChainTransaction => {
      const content = contentOf(text, season);
      return { hash: this.#hash(place + 1), source, fee: place * 10, ...content, outputs: this.#withFee(content) };
    });
    return { height, time, hash: this.#hash(0), transactions };
  }

  #textsAt(place: number, scene: MarketScene): readonly SourceText[] {
    if (place === 0) return [...firstHoldings(scene.season), ...this.#kind.opening(scene.season)];
    if (place === CLOSING_BLOCK && scene.season > 0) return closing(scene.season - 1);
    return [...this.#prices(scene), ...this.#texts(scene)];
  }

  /** Returns prices of the coin and the gas token, now and then; some rounds come late. */
  #prices({ season, height, time }: Scene): readonly SourceText[] {
    if (this.#random.below(3) > 0) return [];
    const pairs: (readonly [pair: string, price: string])[] = [
      ['GAS/USD', this.#random.one(['2', '0.3'])],
      ['BTC/USD', this.#random.one(['60000.5', '3', '2.7'])]
    ];
    if (this.#random.below(4) === 0) pairs.push(['BTC/EUR', this.#random.one(['1.1', '7'])]);
    const timestamp = time - this.#random.one([0, 0, 0, 86_000, 90_000]);
    const signers = ['A', 'B', 'C'].map((letter) => signerOf(letter, season));
    return [[`A${season}`, priceText({ round: height * 10 + 11, height: height - 1, timestamp, pairs }, signers)]];
  }

  #texts(scene: MarketScene): SourceText[] {
    const writer = this.#kind.writer(scene);
    const addresses = addressesOf(scene.season);
    return Array.from({ length: this.#random.below(MOST_TRANSACTIONS + 1) }, () => {
      const source = this.#random.one(addresses);
      const isPayment = this.#random.below(6) === 0;
      const amount = this.#random.one(['0', '1', '2', '4', '20']);
      return [source, isPayment ? `PAY|${writer.payee()}|${amount}` : writer.text(source)] as const;
    });
  }

  /** Its outputs, and sometimes one that pays the fee. */
  #withFee({
    data,
    outputs = []
  }: Pick<ChainTransaction, 'data' | 'outputs'>): NonNullable<ChainTransaction['outputs']> {
    if (this.#feeDestination === undefined || data === '' || this.#random.below(2) > 0) return outputs;
    const amount = parseAmount(this.#random.one(['0', '0.5', '10', '10']))!;
    return [...outputs, { vout: outputs.length, address: this.#feeDestination, amount }];
  }

  #hash(place: number): string {
    return `${this.#blocks}${this.#mark}${place}`.padStart(64, '0');
  }
}

/** Returns gas and stakes of a season. */
function firstHoldings(season: number): SourceText[] {
  const [a, b, , , e] = addressesOf(season);
  const gas = [
    ...(season === 0 ? [[BANK, 'ISSUE|0|GAS|0|0|8||1000000000'] as const] : []),
    [BANK, `SEND|1|GAS|20000|${a}|6000|${b}|3000|C${season}|5|${e}|20|${POOL}`] as const
  ];
  const stakes = [
    [a!, `STAKE|1|3000|${signerOf('A', season).pubkey}`],
    [b!, `STAKE|1|1500|${signerOf('B', season).pubkey}`],
    [`C${season}`, `STAKE|1|1000|${signerOf('C', season).pubkey}`]
  ] as const;
  return [...gas, ...stakes];
}

/** Returns tokens and lists of a season. */
function firstTokens(season: number): SourceText[] {
  const [a, b] = addressesOf(season);
  return [
    [a!, `ISSUE|0|TOKA${season}|0|50|2||500`],
    [b!, `ISSUE|0|TOKB${season}|0|20|0||500`],
    [a!, `ISSUE|4|TOKA${season}|${season * SEASON_BLOCKS + 60}|GAS|0.01`],
    [a!, `LIST|0|2||${addressesOf(season).join('|')}`],
    [b!, `LIST|0|1||TOKA${season}`],
    [b!, `SEND|1|TOKB${season}|100|${a}|50|C${season}|hello`],
    [a!, `SEND|1|TOKA${season}|100|${b}|50|D${season}`]
  ];
}

/** A little later the stakes of the season before end, so that those who sign now are most. */
function closing(season: number): SourceText[] {
  return ['A', 'B', 'C'].flatMap((staker) =>
    ['A', 'B', 'C', 'D', 'E', 'a'].map(
      (letter) => [`${staker}${season}`, `UNSTAKE|0|${signerOf(letter, season).pubkey}`] as const
    )
  );
}

/** `PAY|address|amount` is a payment alone; a COINPAY pays everybody. */
function contentOf(text: string, season: number): Pick<ChainTransaction, 'data' | 'outputs'> {
  const [name, to = '', amount = ''] = text.split('|');
  if (name === 'PAY') return { data: '', outputs: [{ vout: 0, address: to, amount: parseAmount(amount)! }] };
  if (!text.includes('COINPAY')) return { data: text };
  const outputs = addressesOf(season).map((address, vout) => ({ vout, address, amount: parseAmount('10')! }));
  return { data: text, outputs };
}
