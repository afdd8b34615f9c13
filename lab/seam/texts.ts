import type { MemoryLedger } from '../../test/support/indexer-ledger.ts';
import type { Random } from '../reference/random.ts';
import { OWNERS } from './chain.ts';

const COIN = 'LTC';
/** Prices of one fill. */
export const PRICES = ['0.00001', '0.00002', '0.0000700'];
const HOUR_S = 3_600;

/** Actions around dispensers and payments, in spellings that a ledger takes, and some that it refuses. */
export class SeamTexts {
  readonly #random: Random;
  readonly #ledger: MemoryLedger;

  constructor(random: Random, ledger: MemoryLedger) {
    this.#random = random;
    this.#ledger = ledger;
  }

  /** @param now  the median time */
  action(now: number): string {
    const random = this.#random;
    if (random.below(4) === 0)
      return `BATCH|${this.#version('0')}|${Array.from({ length: 1 + random.below(3) }, () => this.#command(now)).join(';')}`;
    const text = this.#command(now);
    return random.below(3) === 0 ? this.#odd(text) : text;
  }

  #command(now: number): string {
    const kinds = [
      this.#open,
      this.#open,
      this.#open,
      this.#edit,
      this.#edit,
      this.#cancel,
      this.#order,
      this.#order,
      this.#pay,
      this.#pay,
      this.#other
    ];
    return this.#random.one(kinds).call(this, now);
  }

  #open(now: number): string {
    const random = this.#random;
    const coin = () => this.#often(COIN, ['ltc', ` ${COIN} `, 'BTC']);
    const till = random.one(['', '', '', '', '', '', ...OWNERS.flatMap(({ spellings }) => spellings)]);
    const term = this.#often('', [` ${now + random.below(6 * HOUR_S)} `, String(now + 1), String(now), '1', 'soon'], 2);
    const give = [this.#often('TOKA', ['TOKB', 'NONE', 'toka']), this.#often('1', ['2', '0', 'x', '']), ''];
    const get = [coin(), this.#often('', ['TOKB', 'NONE']), random.one(PRICES), this.#often(till, ['nowhere'])];
    const fiat = this.#often('', ['USD', 'usd', 'EUR', 'XXX'], 3);
    const price = fiat === '' ? '' : this.#often('0.02', ['0.01', '0.07', '0', ''], 3);
    const terms = [this.#often('5', ['1', '', '1000']), ...get, fiat, price, '', term];
    return ['DISPENSER', this.#version('0'), coin(), ...give, ...terms].join('|');
  }

  #edit(now: number): string {
    const random = this.#random;
    const term = this.#often(String(now + 1 + random.below(12 * HOUR_S)), ['', ` ${now + 60}`, '1', String(now)], 2);
    return ['DISPENSER', this.#version('2'), this.#offer('dispenser'), this.#often('', ['2', 'x']), term].join('|');
  }

  #cancel(): string {
    return ['DISPENSER', this.#version('1'), this.#offer('dispenser')].join('|');
  }

  #order(): string {
    const sides = this.#random.one([
      [COIN, 'TOKA', '1', '', COIN, '', '0.00001'],
      [COIN, '', '0.00001', '', COIN, 'TOKA', '1']
    ]);
    return ['ORDER', '0', ...sides].join('|');
  }

  #pay(): string {
    return ['COINPAY', this.#version('0'), this.#offer('coinpay')].join('|');
  }

  #other(): string {
    const random = this.#random;
    const to = random.one(random.one(OWNERS).spellings);
    return random.one([
      `SEND|0|TOKA|1|${to}`,
      `SWEEP|0|${to}|1|0|0|0|1`,
      'ADDRESS|0|||2',
      'ADDRESS|0|||2',
      'ADDRESS|0|||1',
      `MINT|0|TOKA|50`,
      `LIST|0|2||${to}`,
      'ISSUE|0|TOKA||||||||||||||||1',
      'BROADCAST|0|x'
    ]);
  }

  #offer(kind: 'dispenser' | 'coinpay'): string {
    const indexes = this.#ledger.offers.filter((offer) => offer.kind === kind).map(({ index }) => index);
    return String(indexes.length > 0 && this.#random.below(8) > 0 ? this.#random.one(indexes) : this.#random.below(99));
  }

  #version(version: string): string {
    const zeros = version === '0' ? ['', ' '] : [];
    return this.#often(version, [`0${version}`, `"${version}"`, ` ${version}`, ...zeros, '9'], 2);
  }

  /** The first, or once in a number of times another. */
  #often(usual: string, others: readonly string[], once = 6): string {
    return this.#random.below(once) === 0 ? this.#random.one(others) : usual;
  }

  #odd(text: string): string {
    const [name = '', ...fields] = text.split('|');
    const spaced = fields.map((field) => (this.#random.below(2) === 0 ? ` ${field}\t` : field));
    return [this.#random.one([name.toLowerCase(), ` ${name}`, `${name} `, name]), ...spaced].join('|');
  }
}
