import { createHash } from 'node:crypto';
import type { AddressVersions } from '../../../src/coin/chains.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { payTo } from '../../../src/coin/script/pay-scripts.ts';

/** An owner of coins. */
export interface Party {
  readonly script: Buffer;
  /** Empty: no address stands for the script. */
  readonly address: string;
}

const LETTERS = [...'ABCDEFGH'];
/** Words that stand for a ticker of the example's own. */
const TICKERS = /\b(TOK[A-D]|PAYT|DIVI|OWND)\b/gi;
/** An address letter that is a whole field. */
const LETTER_FIELDS = /(?<=[|;, ]|^)([A-H])(?=[|;, ]|$)/g;
const KEY = Buffer.from(`21${`02${'11'.repeat(32)}`}ac`, 'hex');

/**
 * Names of one example among many of one ledger: its `TOKA` is `TOKA_n`, its `A` an address that no other example has.
 *
 * The addresses of A to H ascend in the order of their bytes.
 */
export class Names {
  readonly #mark: string;
  readonly #parties = new Map<string, Party>([['nobody', { script: KEY, address: '' }]]);
  readonly #letters = new Map<string, string>();
  /** Action indexes by label. */
  readonly labels = new Map<string, number>();

  constructor(number: number, versions: AddressVersions) {
    this.#mark = `_${number}`;
    const made = LETTERS.map((letter) => {
      const script = payTo({ kind: 'keyHash', bytes: sha256(`${number} ${letter}`).subarray(0, 20) });
      return { script, address: addressOf(script, versions)! };
    }).sort((one, other) => (one.address < other.address ? -1 : 1));
    for (const [place, letter] of LETTERS.entries()) {
      this.#parties.set(letter, made[place]!);
      this.#letters.set(made[place]!.address, letter);
    }
  }

  party(letter: string): Party {
    return this.#parties.get(letter)!;
  }

  /** A key of the example's own, as 64 hex digits. */
  key(name: string): string {
    return sha256(`${this.#mark} key ${name}`).toString('hex');
  }

  /** An example's text as its ledger has it. */
  write(text: string): string {
    return text
      .replaceAll(TICKERS, (ticker) => ticker + this.#mark)
      .replaceAll(LETTER_FIELDS, (letter) => this.party(letter).address);
  }

  /** A ledger's text as its example has it. */
  read(text: string): string {
    let read = text.replaceAll(new RegExp(`${this.#mark}(?!\\d)`, 'g'), '');
    for (const [address, letter] of this.#letters) read = read.replaceAll(address, letter);
    return read;
  }
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();
