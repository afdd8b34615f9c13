import { priceText, slotMessage, type TestSigner, testSigner } from '../../test/support/indexer-signers.ts';
import type { Random } from './random.ts';

/** An action of the recent past. */
export interface RecentAction {
  readonly index: number;
  readonly name: string;
  readonly source: string;
}

/** Names that a text may use. Each season has addresses, tokens and keys of its own, so that no chain runs dry. */
export interface Scene {
  readonly random: Random;
  readonly season: number;
  readonly height: number;
  /** Epoch seconds. */
  readonly time: number;
  readonly recent: readonly RecentAction[];
}

/** Addresses of a season. */
export function addressesOf(season: number): string[] {
  return ['A', 'B', 'C', 'D', 'E'].map((letter) => `${letter}${season}`);
}

const signers = new Map<string, TestSigner>();

/** The key of a letter in a season. */
export function signerOf(letter: string, season: number): TestSigner {
  const name = `${letter}${season}`;
  const known = signers.get(name) ?? testSigner(name);
  signers.set(name, known);
  return known;
}

const AMOUNTS = ['1', '2', '3', '0.5', '2.5', '10', '4', '7.25'];
const ODD_AMOUNTS = [
  '0',
  '',
  '-1',
  '+2',
  '1e3',
  '0.001',
  '.5',
  '5.',
  '１',
  '100000',
  '0.0000000000000000001',
  '9'.repeat(41)
];
const MEMOS = ['', '', '', 'hi', 'm'.repeat(250), 'm'.repeat(251), '𝟙'.repeat(250)];
const BENT = [
  '',
  '0',
  '1',
  '2',
  '3',
  '-1',
  'x',
  '01',
  '^1',
  '^x',
  'BTC',
  'LTC',
  'USD',
  'all',
  '1.5',
  '1.505',
  'a;b',
  '１',
  'm'.repeat(251),
  '9'.repeat(41),
  `1${'0'.repeat(22)}`,
  `${'0'.repeat(17)}1`,
  '1700000000',
  'A0'
];
const PRICES = ['1', '2', '3.5', '4', '5', '10'];

/** Makes fields and texts: most are well formed, some are not. */
export class Writer {
  readonly #scene: Scene;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** The text of some action. */
  text(source: string): string {
    if (!this.#rarely(12)) return this.#maybeBent(this.#command(source));
    const count = this.#rarely(40) ? 251 : this.#random.below(5);
    const commands = Array.from({ length: count }, () => this.#maybeBent(this.#command(source)));
    return `BATCH|0|${commands.join(';')}`;
  }

  /** The text, or sometimes one with a wrong field. */
  #maybeBent(text: string): string {
    if (!this.#rarely(4)) return text;
    const fields = text.split('|');
    const last = Math.min(fields.length, 20);
    fields[1 + this.#random.below(last)] = this.#random.one(BENT);
    return Array.from(fields, (field) => field ?? '').join('|');
  }

  /** The token that an address issued, mostly. */
  #own(source: string): string {
    if (this.#rarely(4)) return this.#tick();
    const names: Readonly<Record<string, string>> = { A: 'TOKA', B: 'TOKB' };
    return `${names[source.charAt(0)] ?? 'TOKC'}${this.#scene.season}`;
  }

  /** The number of a list, none, or `0`. */
  #list(source: string): string {
    return this.#rarely(2) ? this.#index('LIST', source) : this.#one('', '0');
  }

  get #random(): Random {
    return this.#scene.random;
  }

  #rarely(times: number): boolean {
    return this.#random.below(times) === 0;
  }

  #one(...choices: readonly string[]): string {
    return this.#random.one(choices);
  }

  #address(): string {
    if (this.#rarely(15)) return this.#one('bad', '', '^1', '^9999999', `^${this.#random.below(40)}`, 'a0', 'F0');
    return this.#random.one(addressesOf(this.#scene.season));
  }

  #tick(): string {
    const { season } = this.#scene;
    if (this.#rarely(12))
      return this.#one('NOPE', '', '^1', `^${this.#random.below(60)}`, '^9999999', `toka${season}`, 'GAS');
    return this.#one(
      `TOKA${season}`,
      `TOKA${season}`,
      `TOKB${season}`,
      `TOKB${season}`,
      `TOKA${season}.X`,
      `TOKC${season}`
    );
  }

  #amount(): string {
    return this.#random.one(this.#rarely(10) ? ODD_AMOUNTS : AMOUNTS);
  }

  #memo(): string {
    return this.#random.one(MEMOS);
  }

  #flag(): string {
    return this.#one('', '', '0', '1', '1', 'x');
  }

  #height(): string {
    const { height } = this.#scene;
    return this.#one(
      '',
      '0',
      '-1',
      'soon',
      '1.5',
      String(height),
      String(height + 1),
      String(height + 3),
      String(height - 2)
    );
  }

  #expiration(): string {
    const { time } = this.#scene;
    return this.#one('', '', String(time + 2_000), String(time + 9_000), String(time), '5', 'soon', '1'.repeat(16));
  }

  /** An action of a kind, mostly one of a source; sometimes just a number. */
  #index(names: string, source?: string): string {
    const kinds = names.split(' ');
    const found = this.#scene.recent.filter(
      ({ name, source: own }) => kinds.includes(name) && (source === undefined || own === source)
    );
    if (found.length > 0 && !this.#rarely(8)) return String(this.#random.one(found).index);
    const last = this.#scene.recent.at(-1)?.index ?? 1;
    return this.#one('0', '', 'x', String(last), String(Math.max(1, last - this.#random.below(30))), '9999999');
  }

  #lists(source: string): string[] {
    const list = () => (this.#rarely(6) ? this.#index('LIST', source) : this.#one('', '', '', '', '0'));
    return [list(), list()];
  }

  /** The key of an address, mostly. */
  #key(address: string): string {
    const { season } = this.#scene;
    const letter = this.#rarely(8) ? this.#one('a', 'B') : address.charAt(0);
    return this.#rarely(12) ? this.#one('', 'x', 'a'.repeat(63)) : signerOf(letter, season).pubkey;
  }

  #command(source: string): string {
    const groups = [
      () => this.#token(source),
      () => this.#movement(source),
      () => this.#movement(source),
      () => this.#record(source),
      () => this.#offer(source),
      () => this.#offer(source),
      () => this.#stake(source),
      () => (this.#rarely(2) ? this.#validator(source) : this.#stake(source)),
      () => this.#vote(source),
      () => this.#nonsense()
    ];
    return this.#random.one(groups)();
  }

  #token(source: string): string {
    const { season } = this.#scene;
    const cap = () => this.#one('', '', '', '100000', '0', '500', '5', '1e3', '600');
    const lock = () => (this.#rarely(12) ? this.#one('0', '1', 'x') : '');
    const fields = this.#random.one([
      () => [
        'ISSUE',
        '0',
        this.#own(source),
        cap(),
        cap(),
        this.#one('', '', '0', '2', '18', '19', 'x'),
        this.#memo(),
        this.#amount(),
        this.#rarely(9) ? this.#address() : '',
        this.#rarely(5) ? this.#address() : ''
      ],
      () => [
        'ISSUE',
        '0',
        this.#one(`TOKC${season}`, `TOKA${season}.X`, `TOKB${season}.Y.Z`, `NEW${season}_`),
        '1000',
        '50',
        '2',
        '',
        '20'
      ],
      () => [
        'ISSUE',
        this.#one('1', ''),
        this.#own(source),
        this.#one('about', 'x'.repeat(249), 'x'.repeat(250), ''),
        this.#memo()
      ],
      () => [
        'ISSUE',
        '2',
        this.#own(source),
        cap(),
        this.#amount(),
        this.#address(),
        cap(),
        this.#height(),
        this.#height(),
        this.#memo()
      ],
      () => ['ISSUE', '3', this.#own(source), ...Array.from({ length: 7 }, lock), this.#memo()],
      () => ['ISSUE', '4', this.#own(source), this.#height(), this.#own(source), this.#amount(), this.#memo()],
      () => ['ISSUE', '5', this.#own(source), this.#list(source), this.#list(source), this.#memo()],
      () => ['ISSUE', '6', this.#own(source), this.#address(), this.#one('all', 'x'), '', this.#flag()],
      () => [
        'ISSUE',
        '0',
        this.#one('.AB', 'AB.', 'btc', 'gas', 'ABC', 'A BCD', '^x', '^1.A', 'NOPE.A', 'é', 'x'.repeat(251), '')
      ],
      () => ['CALLBACK', '0', this.#own(source), this.#memo()],
      () => ['CALLBACK', '0', source.startsWith('A') ? `TOKA${season}` : this.#own(source)]
    ])();
    return fields.join('|');
  }

  #movement(source: string): string {
    const leg = () => [this.#amount(), this.#address()];
    const many = <T>(make: () => readonly T[]) => Array.from({ length: 1 + this.#random.below(3) }, make).flat();
    const memo = () => (this.#rarely(3) ? [this.#memo()] : []);
    const fields = this.#random.one([
      () => ['MINT', '0', this.#tick(), this.#amount(), ...(this.#rarely(2) ? [this.#address(), this.#memo()] : [])],
      () => ['SEND', '0', this.#tick(), ...leg(), ...memo()],
      () => ['SEND', this.#tick(), ...leg()],
      () => ['SEND', '1', this.#tick(), ...many(leg), ...memo()],
      () => ['SEND', '2', ...many(() => [this.#tick(), ...leg()]), ...memo()],
      () => ['SEND', '3', ...many(() => [this.#tick(), ...leg(), this.#memo()])],
      () => ['DESTROY', '0', this.#tick(), this.#amount(), this.#memo()],
      () => ['DESTROY', '1', ...many(() => [this.#tick(), this.#amount()]), ...memo()],
      () => ['DESTROY', '2', ...many(() => [this.#tick(), this.#amount(), this.#memo()])],
      () => ['AIRDROP', '0', this.#tick(), this.#amount(), this.#index('LIST'), this.#memo()],
      () => ['AIRDROP', this.#one('1', '2', '3'), this.#tick(), this.#amount(), this.#index('LIST'), this.#memo()],
      () => ['DIVIDEND', '0', this.#tick(), this.#tick(), this.#one('1', '0.1', '0.01', '2', '', 'x'), this.#memo()],
      () => ['SWEEP', '0', this.#address(), ...Array.from({ length: 5 }, () => this.#flag()), this.#memo()],
      () => ['SEND', '0', this.#one('^1', `TOKB${this.#scene.season}`), this.#one('4', '8', '10'), this.#address()]
    ])();
    // A sweep takes everything: few of them.
    return fields[0] === 'SWEEP' && !this.#rarely(4) ? `MINT|0|${this.#tick()}|5|${source}` : fields.join('|');
  }

  #record(source: string): string {
    const coin = () => this.#one('BTC', 'LTC', 'XYZ', 'btc');
    const fields = this.#random.one([
      () => [
        'BROADCAST',
        '0',
        this.#memo(),
        this.#one('', '1.5', '-2', '1e3', '1'.repeat(26), 'x'),
        this.#one('', '0.5', '-1', 'x')
      ],
      () => ['BROADCAST', '3', this.#index('BROADCAST', source), this.#one('1', '2', ''), this.#memo()],
      () => ['BROADCAST', this.#one('1', '2', '4'), this.#index('BROADCAST', source), this.#memo()],
      () => [
        'ADDRESS',
        '0',
        this.#one('', '0', '1', '2', '3'),
        this.#one('', '0', '0', '1', '01', 'x'),
        this.#one('', '0', '1', '2', '02', '3'),
        this.#memo()
      ],
      () => [
        'LIST',
        '0',
        '2',
        this.#memo(),
        ...Array.from({ length: 1 + this.#random.below(4) }, () => this.#address())
      ],
      () => ['LIST', '0', this.#one('1', '2', '3', ''), '', this.#tick(), this.#address(), this.#tick()],
      () => [
        'LIST',
        '1',
        this.#one('1', '2', '3'),
        this.#index('LIST', source),
        this.#memo(),
        this.#address(),
        this.#tick()
      ],
      () => ['LIST', '3', this.#index('LIST', source), this.#address(), this.#memo()],
      () => ['ADDRESS', '1', this.#one('', 'C1'), this.#one('all', 'x'), '', this.#one('', '1')],
      () => ['SLEEP', '1', String(this.#scene.height + 2), this.#own(source)],
      () => ['SLEEP', '0', this.#one(this.#height(), String(this.#scene.height + 2)), this.#memo()],
      () => ['SLEEP', '1', this.#height(), this.#tick(), this.#memo()],
      () => [
        'LINK',
        '0',
        coin(),
        this.#index('BROADCAST ISSUE', source),
        coin(),
        this.#index('FILE LIST', source),
        this.#memo()
      ],
      () => ['MESSAGE', '3', coin(), this.#address(), this.#memo()],
      () => [
        'MESSAGE',
        this.#one('0', '1', '2'),
        coin(),
        this.#address(),
        this.#one('', '1', '2', '3', '4', 'x'),
        this.#one('', 'key')
      ],
      () => [
        'FILE',
        '0',
        this.#memo(),
        this.#one('', 'text/plain', 'x'.repeat(256)),
        this.#memo(),
        this.#memo(),
        ...(this.#rarely(4)
          ? [this.#tick(), '1', 'aB'.repeat(32), this.#one('400', '2.5', '0400', '')]
          : [this.#one('', '', this.#tick()), this.#one('', '1')])
      ]
    ])();
    // Who sleeps for ever does nothing more.
    return /^SLEEP\|\d\|-1/.test(fields.join('|')) && !this.#rarely(6) ? 'BROADCAST|0|awake' : fields.join('|');
  }

  #offer(source: string): string {
    const { season } = this.#scene;
    const [a, b] = [`TOKA${season}`, `TOKB${season}`];
    const own = source.startsWith('B') ? b : a;
    const other = own === a ? b : a;
    const kind = this.#one('ORDER', 'ORDER', 'SWAP');
    const made = `${kind} ${kind}_EDIT`;
    const price = () => (this.#rarely(12) ? this.#amount() : this.#random.one(PRICES));
    const even = () => this.#one('2', '4');
    const ownership = () => this.#one('', '0', '0', '1');
    const coin = () => (this.#rarely(12) ? this.#one('LTC', 'x') : 'BTC');
    const side = () => [coin(), this.#one(a, b, '', this.#tick()), price(), ownership()];
    const terms = () => [this.#expiration(), ...this.#lists(source), this.#memo()];
    const fields = this.#random.one([
      () => [kind, '0', ...side(), ...side(), this.#address(), ...terms()],
      () => [kind, '0', 'BTC', a, price(), '', 'BTC', b, price(), '', '', this.#expiration()],
      () => [kind, '0', 'BTC', b, price(), '0', 'BTC', a, price()],
      () => [kind, '0', 'BTC', a, even(), '', 'BTC', b, even()],
      () => [kind, '0', 'BTC', b, even(), '', 'BTC', a, even()],
      () => ['ORDER', '0', 'BTC', '', price(), '', 'BTC', a, price()],
      () => ['ORDER', '0', 'BTC', a, price(), '', 'BTC', '', price(), '', '', this.#expiration()],
      () => [kind, '0', 'BTC', own, '', '1', 'BTC', other, even()],
      () => [kind, '0', 'BTC', other, even(), '', 'BTC', own, '', '1'],
      () => [kind, '0', 'BTC', b, even(), '', 'BTC', a, '', '1'],
      () => [kind, '1', this.#index(made, source), this.#memo()],
      () => [kind, '2', this.#index(made, source), ...terms()],
      () => this.#dispenser(own, other, source),
      () => this.#dispenser(own, '', source),
      () => ['DISPENSER', '0', 'BTC', own, '', '1', '', 'BTC', other, price()],
      () => ['DISPENSER', '1', this.#index('DISPENSER', source), this.#memo()],
      () => [
        'DISPENSER',
        '2',
        this.#index('DISPENSER', source),
        this.#one('', '2', '4', 'x'),
        this.#one('', this.#expiration()),
        ...this.#lists(source)
      ],
      () => ['COINPAY', '0', this.#index('ORDER_MATCH')],
      () => ['COINPAY', '0', this.#index('ORDER_MATCH')],
      () => ['SEND', '0', this.#one(a, b), this.#one('4', '8', '10'), this.#sourceOf('DISPENSER')]
    ])();
    return fields.join('|');
  }

  #dispenser(give: string, get: string, source: string): string[] {
    const address = this.#rarely(4) ? this.#address() : '';
    const fiat = this.#rarely(3)
      ? [
          this.#rarely(8) ? this.#one('x', '') : this.#one('USD', 'USD', 'usd', 'EUR'),
          this.#rarely(8) ? this.#one('0', '', '1.505') : this.#one('1.50', '3', '60000'),
          this.#rarely(8) ? this.#address() : ''
        ]
      : ['', '', ''];
    return [
      'DISPENSER',
      '0',
      'BTC',
      give,
      this.#one('1', '2'),
      this.#one('', '0'),
      this.#one('10', '4', '3', ''),
      'BTC',
      fiat[0] === '' || this.#rarely(8) ? get : '',
      fiat[0] === '' ? this.#one('2', '4', '1') : this.#one('0.00000001', '0.00000001', '2', ''),
      address,
      ...fiat,
      this.#expiration(),
      ...this.#lists(source),
      this.#memo()
    ];
  }

  /** Whoever made one of the recent actions of a kind. */
  #sourceOf(name: string): string {
    const found = this.#scene.recent.filter((action) => action.name === name);
    return found.length > 0 ? this.#random.one(found).source : this.#address();
  }

  /** The address that a payment in the coin goes to. */
  payee(): string {
    return this.#rarely(3) ? this.#address() : this.#sourceOf('DISPENSER');
  }

  #stake(source: string): string {
    const amount = () => this.#one('5', '2.5', '1000', '1500', '600', '0', '1.123456789', '1');
    const fields = this.#random.one([
      () => ['STAKE', '1', amount(), this.#key(source)],
      () => ['STAKE', this.#one('1', '2', '2', '3'), amount(), this.#key(source)],
      () => ['UNSTAKE', '0', this.#key(source), this.#rarely(6) ? '' : this.#one('2', '20', '100', '5', '0', 'x')],
      () => ['UNSTAKE', this.#rarely(6) ? '0' : '1', this.#key(source)],
      () => ['DELEGATE', '0', this.#key(this.#one('C', 'D'))],
      () => ['DELEGATE', this.#one('2', '2', '1'), this.#key(this.#one('A', 'C', 'D'))],
      () => ['COLLECT', '0', this.#one('', '', this.#amount(), '3.33333333')]
    ])();
    return fields.join('|');
  }

  #validator(source: string): string {
    const { season, height } = this.#scene;
    const letters = ['A', 'B', 'C', 'D'].filter(() => !this.#rarely(5));
    const pair = () => [this.#one('BTC/USD', 'LTC/USD', 'DOGEEUR'), this.#one('60000.5', '90', '0.1')] as const;
    const round = { round: height * 10 + this.#random.below(12), height: height - this.#random.below(3) };
    const fields = this.#random.one([
      () => [
        priceText(
          { ...round, pairs: this.#rarely(3) ? [pair(), pair()] : [pair()] },
          letters.map((letter) => signerOf(letter, season))
        )
      ],
      () => [
        priceText(
          {
            ...round,
            timestamp: this.#scene.time - this.#random.below(2_000),
            pairs: [
              ['GAS/USD', this.#one('2', '0.3')],
              ['BTC/USD', this.#one('60000.5', '3')]
            ]
          },
          ['A', 'B', 'C'].map((letter) => signerOf(letter, season))
        )
      ],
      () => [
        priceText(
          { ...round, pairs: [pair()] },
          ['A', 'B', 'C'].map((letter) => signerOf(letter, season))
        )
      ],
      () => ['PRICE', '1', this.#one('BTC', 'BTC', 'btc', 'LTC', 'x'), this.#tick(), this.#fiat(), ...this.#value()],
      () => ['PRICE', this.#one('0', '1', '2'), this.#height(), this.#height(), this.#height(), this.#amount()],
      () => [this.#slash(source)],
      () => [
        'ATTEST',
        this.#one('1', '1', '1', '0'),
        this.#key(source),
        this.#one('http', 'x y', 'dns:1'),
        this.#memo(),
        this.#one('ok', 'OK', 'timeout', 'expired'),
        this.#memo(),
        this.#one('1', '2', '0'),
        this.#key(source),
        'ab'.repeat(64)
      ]
    ])();
    return fields.join('|');
  }

  #fiat(): string {
    return this.#one('USD', 'eur', 'USD', 'XXX', '');
  }

  #value(): string[] {
    return [this.#one('1.5', '2', '0', 'x', '1.123456789'), this.#one('', '0.1', '-1'), this.#memo()];
  }

  #newestPoll(): string {
    const found = this.#scene.recent.findLast(({ name }) => name === 'POLL');
    return found && !this.#rarely(6) ? String(found.index) : this.#index('POLL');
  }

  #vote(source: string): string {
    const { height } = this.#scene;
    const options = () => this.#one('yes,no', 'red,green,blue', 'a, b ,c,d', 'a,a', 'one', '', 'x,');
    const weighing = () => this.#one('', 'balance', 'stake', 'FLAT', 'quadratic', 'flat', 'time_weighted');
    const end = () => this.#one(String(height + 2), String(height + 5), String(height + 9), this.#height());
    const ballot = () => this.#one('0', '1', '0,1', '0:3,1:1', '2', '1:7', '1,0', '3', '', '0:0', 'x', '0,0', '0:1:1');
    const fields = this.#random.one([
      () => [
        'VOTE',
        '0',
        this.#own(source),
        end(),
        options(),
        this.#one('', '1', '2', '2', '9', '0'),
        this.#one('', 'approval', 'split', 'SPLIT', 'x'),
        weighing(),
        this.#one('', '', '1', '100', 'x'),
        this.#one('', '', '1', '2', 'x'),
        this.#one('', '', '1', '0.5', '-1'),
        this.#one('', '', '1', '50', '0', 'x'),
        this.#memo(),
        this.#one('', '1', '2.5', '0.123456789', '99999'),
        this.#rarely(12) ? 'C' : ''
      ],
      () => ['VOTE', '0', this.#own(source), String(height + 25), 'a,b,c', '2', this.#one('split', ''), weighing()],
      () => ['VOTE', '1', this.#newestPoll(), ballot(), this.#memo()],
      () => ['VOTE', '1', this.#newestPoll(), ballot()],
      () => ['VOTE', '1', this.#newestPoll(), ballot()],
      () => ['VOTE', this.#one('3', '3', '3', '2'), this.#tick(), this.#rarely(4) ? '' : this.#address(), this.#memo()]
    ])();
    return fields.join('|');
  }

  /** A proof of two messages; mostly one that proves nothing. */
  #slash(source: string): string {
    const { season, height } = this.#scene;
    const letter = this.#rarely(3) ? this.#one('A', 'B', 'C', 'D') : source.charAt(0);
    const offender = signerOf(letter, season);
    const isGood = this.#rarely(3);
    const slot = () =>
      isGood ? 'EQUIV|oracle|1|0||' : `EQUIV|${this.#one('oracle', 'attest')}|1|${this.#one('0', '1')}||`;
    const at = () => (isGood ? height - 1 : height - this.#random.below(5) + 1);
    const message = (n: number) =>
      slotMessage(
        isGood ? offender : signerOf(this.#one(letter, letter, 'D'), season),
        { btc_block_height: at(), n: isGood ? n : this.#random.below(2) },
        slot()
      );
    const capability = isGood ? 'price' : this.#one('price', 'price', 'attestation', 'full_node', 'x');
    return ['SLASH', '0', capability, offender.pubkey, ...message(1), ...message(2)].join('|');
  }

  #nonsense(): string {
    return this.#one(
      'NONSENSE|0',
      'VOTE|0|x',
      'send|0|GAS|1|A0',
      ' TRANSFER | 0 |GAS|1|A0',
      'SEND',
      'MINT|"0"|GAS|1',
      'DROP|0',
      'ISSUE|256|ABCD',
      'MINT|1|GAS|1',
      'COINPAY|1|5',
      'BATCH|0|',
      'BATCH|1|x',
      'BATCH|0|MESSAGE|2|BTC|B0|key;SEND|0|TOKA0|1|B0',
      'BATCH|0|BET|0|x;TRANSFER|0|TOKA|1|A;XCALL|0;MSG|3|BTC|B|hi',
      'MSG|3|BTC|A0|hi',
      'EXECUTE|0',
      '||||',
      '\u0000'
    );
  }
}
