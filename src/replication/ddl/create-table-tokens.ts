import { IDENTIFIER_PATTERN } from '../../wire/data/schema.ts';

type TokenKind = 'name' | 'text' | 'number' | 'word' | 'symbol' | 'end';

/** One token of a CREATE TABLE text. */
export interface Token {
  readonly kind: TokenKind;
  /** Words in lower case, names without their quotes, everything else as it stands. */
  readonly text: string;
  /** As it stands. */
  readonly source: string;
}

const NAME = new RegExp(IDENTIFIER_PATTERN);
/** Longer than any table that MariaDB takes. */
const MAX_CHARACTERS = 2 ** 20;
const MAX_DEPTH = 64;

/**
 * White space, and the comment by which MariaDB prints a compressed column. Older servers execute that comment; it is about storage
 * only.
 */
const SPACE = /(?:\s|\/\*M?!100301 COMPRESSED\*\/)+/y;
const TOKEN =
  /`((?:[^`]|``)*)`|('(?:[^'\\]|''|\\.)*')|(\d+(?:\.\d+)?(?:e[+-]?\d+)?)|([A-Za-z_][A-Za-z0-9_]*)|([(),=.-])/suy;
/** Symbols inside parentheses that are skipped as a whole: any operator, but no comment and no end of a statement. */
const INSIDE = /[-+*/%<>=!|&^~:.,@?[\]{}]/y;

/** The tokens of one CREATE TABLE text, one ahead. Comments, other quotes and semicolons are refused wherever they stand. */
export class CreateTableTokens {
  readonly #text: string;
  /** Refuses the text with a reason; throws what the constructor was given. */
  readonly refuse: (reason: string) => never;
  #at = 0;
  /** Start of the current token. */
  #from = 0;
  #ahead: Token;

  /** @param refuse called with the reason; throws */
  constructor(text: string, refuse: (reason: string) => never) {
    this.#text = text;
    this.refuse = refuse;
    if (text.length > MAX_CHARACTERS) refuse(`it is longer than ${MAX_CHARACTERS} characters`);
    this.#ahead = this.#scan();
  }

  peek(): Token {
    return this.#ahead;
  }

  next(): Token {
    const token = this.#ahead;
    this.#ahead = this.#scan();
    return token;
  }

  /** Takes a word or symbol if it is the next. */
  take(text: string): boolean {
    const { kind } = this.#ahead;
    if ((kind !== 'word' && kind !== 'symbol') || this.#ahead.text !== text) return false;
    this.next();
    return true;
  }

  expect(text: string): void {
    if (!this.take(text)) this.refuse(`${this.shown()} stands where ${text.toUpperCase()} is expected`);
  }

  /** Takes the name of a table, column, key or constraint. */
  name(): string {
    const { text } = this.#of('name', 'a quoted name');
    if (!NAME.test(text))
      this.refuse(`name ${JSON.stringify(text.slice(0, 80))} holds other characters than [A-Za-z0-9_]`);
    return text;
  }

  /** Takes a word and returns it in lower case. */
  word(): string {
    return this.#of('word', 'a word').text;
  }

  /** Takes a quoted text and returns it with its quotes. */
  quotedText(): string {
    return this.#of('text', 'a quoted text').text;
  }

  number(): string {
    return this.#of('number', 'a number').text;
  }

  /** Takes the text between a pair of parentheses, unchanged. */
  parenthesized(): string {
    if (this.#ahead.text !== '(' || this.#ahead.kind !== 'symbol')
      this.refuse(`${this.shown()} stands where ( is expected`);
    const from = this.#at;
    let depth = 1;
    while (depth > 0) {
      const token = this.#scan(INSIDE);
      if (token.kind === 'end') this.refuse('a parenthesis is not closed');
      if (token.kind !== 'symbol') continue;
      if (token.text === '(' && ++depth > MAX_DEPTH) this.refuse('too many parentheses within each other');
      if (token.text === ')') depth--;
    }
    const inside = this.#text.slice(from, this.#at - 1).trim();
    this.#ahead = this.#scan();
    return inside;
  }

  /** Returns the next token, for a message. */
  shown(): string {
    return this.#ahead.kind === 'end' ? 'its end' : JSON.stringify(this.#text.slice(this.#from, this.#from + 40));
  }

  #of(kind: TokenKind, what: string): Token {
    if (this.#ahead.kind !== kind) this.refuse(`${this.shown()} stands where ${what} is expected`);
    return this.next();
  }

  #scan(further?: RegExp): Token {
    SPACE.lastIndex = this.#at;
    if (SPACE.test(this.#text)) this.#at = SPACE.lastIndex;
    this.#from = this.#at;
    if (this.#at >= this.#text.length) return { kind: 'end', text: '', source: '' };
    const two = this.#text.slice(this.#at, this.#at + 2);
    if (two === '/*' || two === '--' || two[0] === '#') this.refuse(`it holds a comment, ${this.#excerpt()}`);
    if (two[0] === ';') this.refuse('it holds a semicolon: one statement is expected');
    TOKEN.lastIndex = this.#at;
    const [source, name, text, number, word, symbol] = TOKEN.exec(this.#text) ?? [];
    if (source === undefined) return this.#other(further);
    this.#at = TOKEN.lastIndex;
    if (name !== undefined) return { kind: 'name', text: name.replaceAll('``', '`'), source };
    if (text !== undefined) return { kind: 'text', text, source };
    if (number !== undefined) return { kind: 'number', text: number, source };
    if (word !== undefined) return { kind: 'word', text: word.toLowerCase(), source };
    return { kind: 'symbol', text: symbol!, source };
  }

  #other(further: RegExp | undefined): Token {
    if (further) {
      further.lastIndex = this.#at;
      if (further.test(this.#text)) {
        const source = this.#text[this.#at++]!;
        return { kind: 'symbol', text: source, source };
      }
    }
    return this.refuse(`it holds ${this.#excerpt()}, which stands in no definition that is taken`);
  }

  #excerpt(): string {
    return JSON.stringify(this.#text.slice(this.#at, this.#at + 20));
  }
}
