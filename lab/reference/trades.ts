import { formatAmount } from '../../src/consensus/amount.ts';
import type { Offer, Side, Trade } from '../../src/indexer/state/offer.ts';
import { type ChainKind, type MarketScene, SEASON_BLOCKS, type SourceText } from './chain.ts';
import { addressesOf, signerOf, Writer } from './texts.ts';

const AMOUNTS = ['1', '2', '3', '4', '5', '10', '0.5', '7', '100'];
const SMALL = ['1', '2', '0.5'];
/** From one of these to the next, the time jumps. */
const STEP_BLOCKS = 5;
const STEP_SECONDS = 3_700;
const BLOCK_SECONDS = 600;
/** Newest offers among which most texts choose: what a block has changed, the next ones meet. */
const NEWEST_OFFERS = 8;

/** Chains in which most offers are good, and are then edited, filled, refilled, paid, swept and cancelled. */
export const TRADES: ChainKind = {
  opening: tradeOpening,
  writer: (scene) => new TradeWriter(scene),
  secondsOf: (height, random) => {
    const jitter = random.below(3 * BLOCK_SECONDS) - BLOCK_SECONDS;
    return BLOCK_SECONDS * height + STEP_SECONDS * Math.floor(height / STEP_BLOCKS) + jitter;
  }
};

/** Returns tokens that everybody has many of, and lists. */
function tradeOpening(season: number): readonly SourceText[] {
  const [a, b, c, d, e] = addressesOf(season) as [string, string, string, string, string];
  const [tokenA, tokenB, tokenC] = [`TOKA${season}`, `TOKB${season}`, `TOKC${season}`];
  const share = (tick: string, others: readonly string[]) =>
    `SEND|1|${tick}|${others.map((other) => `1000|${other}`).join('|')}`;
  return [
    [a, `LIST|0|2||${a}|${b}|${c}`],
    [b, `LIST|0|2||${d}`],
    [a, `ISSUE|0|${tokenA}|0|50|1||5000`],
    [b, `ISSUE|0|${tokenB}|0|50|0||5000`],
    [c, `ISSUE|0|${tokenC}|0|50|2||5000`],
    [a, `ISSUE|0|${tokenA}.X|0|0|0||9`],
    [a, `ISSUE|4|${tokenA}|${season * SEASON_BLOCKS + 60}|GAS|0.01`],
    [a, share(tokenA, [b, c, d, e])],
    [b, share(tokenB, [a, c, d, e])],
    [c, share(tokenC, [a, b, d, e])],
    [c, `LIST|0|1||${tokenA}|${tokenC}`]
  ];
}

/** Writes texts about the offers that are live. */
class TradeWriter {
  readonly #scene: MarketScene;
  /** Writes actions of every kind, of which few are good offers. */
  readonly #any: Writer;
  readonly #offers: readonly Offer[];

  constructor(scene: MarketScene) {
    this.#scene = scene;
    this.#any = new Writer(scene);
    this.#offers = scene.offers();
  }

  /** The text of some action. */
  text(source: string): string {
    if (this.#rarely(10)) return this.#any.text(source);
    if (!this.#rarely(4)) return this.#command(source);
    return `BATCH|0|${Array.from({ length: 1 + this.#below(5) }, () => this.#command(source)).join(';')}`;
  }

  /** The address that a payment in the coin goes to: mostly one with a dispenser. */
  payee(): string {
    const sellers = this.#offers.flatMap((offer) =>
      offer.kind === 'dispenser' && offer.get.tick === null ? [offer.getAddress] : []
    );
    return sellers.length === 0 || this.#rarely(6) ? this.#address() : this.#scene.random.one(sellers);
  }

  #command(source: string): string {
    const groups = [
      () => this.#trade(),
      () => this.#counterTrade(),
      () => this.#counterTrade(),
      () => this.#dispenser(),
      () => this.#change(source),
      () => this.#change(source),
      () => this.#payment(),
      () => this.#holding(),
      () => this.#terms(source),
      () => this.#weight(source)
    ];
    return this.#scene.random.one(groups)().join('|');
  }

  /** An ORDER or SWAP. */
  #trade(): string[] {
    const { season } = this.#scene;
    const kind = this.#one('ORDER', 'ORDER', 'SWAP');
    const [a, b] = [`TOKA${season}`, `TOKB${season}`];
    const side = (tick: string, amount: string, isOwnership = '') => ['BTC', tick, amount, isOwnership];
    const owned = () => side(this.#one(a, b, `TOKC${season}`, `${a}.X`), '', '1');
    const price = () => side(this.#one('', b), this.#one('1', '2'));
    const terms = () => [this.#payout(), this.#expiration()];
    return this.#scene.random.one([
      () => [
        kind,
        '0',
        ...side(this.#tick(), this.#amount()),
        ...side(this.#tick(), this.#amount()),
        ...terms(),
        ...this.#lists()
      ],
      () => [kind, '0', ...side(a, this.#amount()), ...side(b, this.#amount())],
      () => [kind, '0', ...side(b, this.#amount()), ...side(a, this.#amount())],
      () => [kind, '0', ...side(b, '10'), ...side(a, '10')],
      () => ['ORDER', '0', ...side(a, this.#amount()), ...side('', this.#amount()), ...terms()],
      () => ['ORDER', '0', ...side('', this.#amount()), ...side(a, this.#amount()), ...terms()],
      () => [kind, '0', ...owned(), ...price()],
      () => [kind, '0', ...price(), ...owned()]
    ])();
  }

  /** An ORDER or SWAP that takes all that a live one has left: only its end, its owner or a list may be in the way. */
  #counterTrade(): string[] {
    const trades = this.#offers.filter((offer): offer is Trade => offer.kind === 'order' || offer.kind === 'swap');
    const open = trades.filter(({ status, giveLeft, getLeft }) => status === 'open' && giveLeft > 0n && getLeft > 0n);
    if (open.length === 0) return this.#trade();
    const { kind, give, get, giveLeft, getLeft } = this.#newestOf(open);
    const side = ({ tick, isOwnership }: Side, left: bigint) =>
      isOwnership ? ['BTC', tick ?? '', '', '1'] : ['BTC', tick ?? '', formatAmount(left), ''];
    return [kind.toUpperCase(), '0', ...side(get, getLeft), ...side(give, giveLeft)];
  }

  #dispenser(): string[] {
    const { season } = this.#scene;
    const escrow = this.#one('2', '4', '10', '0', '');
    const price = () => this.#one('', `TOKB${season}`, `TOKA${season}`);
    const noFiat = ['', '', ''];
    return this.#scene.random.one([
      () => [
        ...['DISPENSER', '0', 'BTC', this.#tick(), this.#one(...SMALL), '', escrow],
        ...['BTC', price(), this.#one('1', '2', '3'), this.#payout(), ...noFiat],
        this.#expiration(),
        ...this.#lists()
      ],
      () => ['DISPENSER', '0', 'BTC', this.#tick(), '1', '', '5', 'BTC', '', '1', '', ...noFiat, this.#expiration()],
      () => [
        ...['DISPENSER', '0', 'BTC', this.#one(`TOKB${season}`, `TOKC${season}`, `TOKA${season}.X`), '', '1', ''],
        ...['BTC', this.#one('', `TOKA${season}`), '2', '', ...noFiat, this.#expiration()]
      ]
    ])();
  }

  /** A cancel, an edit or a refill. */
  #change(source: string): string[] {
    const kind = this.#one('ORDER', 'SWAP', 'DISPENSER', 'DISPENSER');
    const offer = this.#offerOf(kind.toLowerCase() as Offer['kind'], source);
    if (this.#rarely(3)) return [kind, '1', offer];
    const terms = [this.#expiration(), this.#editedList(), this.#editedList()];
    if (kind !== 'DISPENSER') return [kind, '2', offer, ...terms];
    return [kind, '2', offer, this.#one('', '1', '2', '0', '3.5'), ...(this.#rarely(2) ? terms : [])];
  }

  /** A payment for an offer. */
  #payment(): string[] {
    const bought = this.#offers.flatMap((offer) => (offer.kind === 'dispenser' && offer.get.tick ? [offer] : []));
    if (bought.length === 0 || this.#rarely(2)) return ['COINPAY', '0', this.#offerOf('coinpay')];
    const { get, getAddress } = this.#newestOf(bought);
    return ['SEND', '0', get.tick!, this.#amount(), getAddress];
  }

  /** Tokens that change hands, come and go. */
  #holding(): string[] {
    const flag = () => this.#one('0', '1');
    const rareFlag = () => this.#one('0', '0', '1');
    return this.#scene.random.one([
      () => ['SEND', '0', this.#tick(), this.#amount(), this.#address()],
      () => ['SWEEP', '0', this.#address(), rareFlag(), rareFlag(), flag(), flag(), flag()],
      () => ['MINT', '0', this.#tick(), this.#amount(), this.#payout()],
      () => ['DESTROY', '0', this.#tick(), this.#amount()],
      () => ['AIRDROP', '0', this.#tick(), this.#one('0', '1', '0.5'), this.#listIndex()],
      () => ['DIVIDEND', '0', this.#tick(), this.#tick(), this.#one('0.1', '0', '1')],
      () => ['CALLBACK', '0', this.#tick()]
    ])();
  }

  /** Lists, preferences, sleep, decimals and owners, which decide later who may trade what. */
  #terms(source: string): string[] {
    const { season, height } = this.#scene;
    return this.#scene.random.one([
      () => [
        ...['ISSUE', '0', `${this.#one('TOKA', 'TOKC')}${season}.${this.#one('X', 'Y')}`, '0', '0'],
        ...[this.#one('0', '1', ''), '', this.#one('', '5'), this.#payout()]
      ],
      () => ['ISSUE', '5', this.#tick(), ...this.#lists()],
      () => [
        ...['ISSUE', '4', this.#tick(), this.#one('', String(height), String(height + 2))],
        ...[this.#one('', `TOKB${season}`, `TOKC${season}`), this.#one('', '0', '1', '0.5')]
      ],
      () => ['LIST', '0', '2', '', this.#address(), this.#address()],
      () => ['LIST', '1', this.#one('1', '2'), this.#listIndex(), '', this.#address(), this.#address()],
      () => ['LIST', '3', this.#listIndex(), this.#address()],
      () => ['ADDRESS', '0', '', this.#one('', '0', '0', '1'), this.#one('', '1', '2')],
      () => ['SLEEP', '1', this.#one('0', '0', String(height + 1)), this.#tick()],
      () => ['SLEEP', '0', this.#one('0', '-0', String(height))],
      () => ['FILE', '0', 'name', 'text', 'about', '', this.#one('', '', this.#tick()), '1'],
      () => ['LINK', '0', 'BTC', this.#someIndex(), 'BTC', this.#someIndex()],
      () => [this.#any.text(source)]
    ])();
  }

  /** Stakes and votes, which count balances that offers hold. */
  #weight(source: string): string[] {
    const { season, height } = this.#scene;
    const key = signerOf(this.#one('A', 'B', 'C', source.charAt(0)), season).pubkey;
    const weighing = this.#one('balance', 'stake', 'flat');
    const question = ['a,b,c', '2', this.#one('approval', 'split'), weighing, '0', '0', '0', this.#one('', '0.3')];
    return this.#scene.random.one([
      () => ['STAKE', this.#one('1', '2', '2'), this.#one('1', '2.5'), key],
      () => ['UNSTAKE', '0', key, this.#one('', '1', '0.5')],
      () => ['DELEGATE', this.#one('0', '2'), key],
      () => ['VOTE', '0', this.#tick(), String(height + 1 + this.#below(5)), ...question, 'q', this.#one('', '0.5')],
      () => ['VOTE', '1', this.#poll(), this.#one('0', '1', '0,1')],
      () => ['VOTE', '3', this.#tick(), this.#payout()]
    ])();
  }

  /** An offer that an address made, mostly. */
  #offerOf(kind: Offer['kind'], source?: string): string {
    const isAny = source === undefined || this.#rarely(6);
    const found = this.#offers.filter(
      (offer) => offer.kind === kind && (isAny || ('source' in offer && offer.source === source))
    );
    return found.length === 0 ? this.#someIndex() : String(this.#newestOf(found).index);
  }

  /** Returns one of some offers, mostly one of the newest. */
  #newestOf<T extends Offer>(offers: readonly T[]): T {
    const newest = offers.toSorted((a, b) => a.index - b.index).slice(-NEWEST_OFFERS);
    return this.#scene.random.one(this.#rarely(4) ? offers : newest);
  }

  /** An action of the recent past. */
  #someIndex(): string {
    return String(this.#scene.recent.length === 0 ? 1 : this.#scene.random.one(this.#scene.recent).index);
  }

  #indexOf(kind: string): string {
    const found = this.#scene.recent.filter(({ name }) => name === kind);
    return found.length === 0 || this.#rarely(8) ? this.#someIndex() : String(this.#scene.random.one(found).index);
  }

  #poll(): string {
    return this.#indexOf('POLL');
  }

  /** A list of addresses, mostly. */
  #listIndex(): string {
    const { lists, random } = this.#scene;
    return lists.length === 0 || this.#rarely(8) ? this.#indexOf('LIST') : String(random.one(lists));
  }

  /** A list of an edit: mostly one that keeps somebody from the offer. */
  #editedList(): string {
    return this.#rarely(2) ? this.#listIndex() : this.#one('', '0');
  }

  /** Lists of an offer: mostly none, so that most offers are for everybody. */
  #lists(): string[] {
    const list = () => (this.#rarely(6) ? this.#listIndex() : this.#one('', '', '', '0'));
    return [list(), list()];
  }

  #expiration(): string {
    const { time } = this.#scene;
    return this.#one('', '', String(time + 600 * (1 + this.#below(30))), String(time + 99_999), '9'.repeat(15));
  }

  #tick(): string {
    const { season } = this.#scene;
    return this.#one(`TOKA${season}`, `TOKB${season}`, `TOKC${season}`, `toka${season}`);
  }

  #amount(): string {
    return this.#one(...AMOUNTS);
  }

  #address(): string {
    return this.#one(...addressesOf(this.#scene.season));
  }

  /** Another address that is paid instead of the source; mostly none, and sometimes one in another spelling. */
  #payout(): string {
    const address = this.#rarely(3) ? this.#address() : '';
    return this.#rarely(6) ? address.toLowerCase() : address;
  }

  #below(limit: number): number {
    return this.#scene.random.below(limit);
  }

  #rarely(times: number): boolean {
    return this.#below(times) === 0;
  }

  #one(...choices: readonly string[]): string {
    return this.#scene.random.one(choices);
  }
}
