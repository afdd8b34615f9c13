import { DAY, divide, min, readAmount, readWhole, writeAmount } from './fields.ts';
import type {
  Dispenser,
  Doing,
  Fee,
  Lists,
  Movement,
  Owed,
  Poll,
  ReferenceOutput,
  Side,
  SideFields,
  Stake,
  Test,
  Token,
  Trade
} from './terms.ts';

interface ReferenceRules {
  /** An address of BTC; that of another coin in a MESSAGE. */
  readonly isAddress: (text: string, coin: string) => boolean;
  readonly stakeDelay: number;
  readonly unstakeCooldown: number;
  /** The address of the role REWARD. */
  readonly rewardPool: string | undefined;
  readonly fees: {
    /** Gas by the thing that costs it. */
    readonly gas: Readonly<Record<string, number>>;
    /** Price of one gas, in the gas token. */
    readonly price: string;
    /** The addresses of the roles FEE_DESTINATION and DONATE1. */
    readonly destination: string | undefined;
    readonly donation: string | undefined;
  };
}

interface List {
  type: number;
  owner: string;
  members: Set<string>;
}

interface Row {
  action_index: number;
  address: string;
  tick: string;
  amount: bigint;
}

/** The state of the ledger, and what every action reads, moves and pays. */
export abstract class Books {
  protected readonly rules: ReferenceRules;
  protected readonly addresses: string[] = [];
  protected readonly tokens: Token[] = [];
  /** Names by their numbers, as they are spelled; not all have a token. */
  protected readonly tickers: string[] = [];
  protected readonly balances = new Map<string, Map<Token, bigint>>();
  protected readonly lists = new Map<number, List>();
  protected readonly sleeps = new Map<string, number>();
  protected readonly preferences = new Map<string, { fee: number; requiresMemo: boolean; dispenser: string }>();
  protected readonly minted = new Map<string, bigint>();
  /** Valid actions by number, with the token of an ISSUE. */
  protected readonly valid = new Map<number, Token | null>();
  protected readonly trades: Trade[] = [];
  protected readonly dispensers: Dispenser[] = [];
  protected readonly owed: Owed[] = [];
  protected readonly stakes: Stake[] = [];
  protected readonly delegations: Omit<Stake, 'amount'>[] = [];
  /** Block from which on a stake's own key signs no more. */
  protected readonly revoked = new Map<string, number>();
  protected readonly barred = new Set<string>();
  /** The least holding that opens a file of a token. */
  protected readonly gates = new Map<Token, bigint>();
  protected cooling: { index: number; key: string; source: string; amount: bigint; block: number }[] = [];
  protected readonly rounds = new Set<number>();
  /** Valid rounds, the one with the highest number first. */
  protected readonly prices: { round: number; timestamp: number; prices: Map<string, string> }[] = [];
  protected readonly polls: Poll[] = [];
  /** Proxies of holders in votes, by token. */
  protected readonly proxies = new Map<Token, Map<string, string>>();
  /** Earnings that were not claimed. */
  protected readonly unclaimed = new Map<string, bigint>();
  protected readonly spent = new Map<string, bigint>();
  protected readonly times: number[] = [];
  protected lastAction = 0;
  protected lastTransaction = 0;
  /** Number of addresses that earlier blocks met. */
  protected knownAddresses = 0;
  protected previous: ReferenceOutput | null = null;
  // Of the block in work.
  protected height = 0;
  protected time = 0;
  protected verdicts: string[] = [];
  protected fees: string[] = [];
  protected actions: { action_index: number; tx_index: number | null; action: string }[] = [];
  protected moved: Record<Movement, Row[]> = { debits: [], credits: [], escrows: [] };

  constructor(rules: ReferenceRules) {
    this.rules = rules;
  }

  protected begin(action: string, txIndex: number | null): number {
    const action_index = ++this.lastAction;
    this.actions.push({ action_index, tx_index: txIndex, action });
    return action_index;
  }

  /** An action that no text asks for. */
  protected system(name: string, source: string, txIndex: number | null = null): Doing {
    const index = this.begin(name, txIndex);
    return { index, source, format: 0, fields: [], rest: '', txIndex, transaction: null, next: [] };
  }

  /** Notes a status. @returns whether it is valid */
  protected judge({ index }: Doing, table: string, refusal: string | null): boolean {
    this.note(index, table, refusal === null ? 'valid' : `invalid: ${refusal}`);
    return refusal === null;
  }

  protected note(index: number, table: string, status: string): void {
    this.verdicts.push(`${index} ${table} ${status}`);
  }

  protected isAddress(text: string, coin = 'BTC'): boolean {
    return this.rules.isAddress(text, coin);
  }

  /** An address that an action meets gets a number. */
  protected meet(address: string): void {
    if (!this.addresses.includes(address)) this.addresses.push(address);
  }

  protected meetIfAddress(text: string | null): void {
    if (text !== null && this.isAddress(text)) this.meet(text);
  }

  /** The address of a field; null for an id that names none. */
  protected resolve(field: string): string | null {
    const [, id] = /^\^([1-9][0-9]{0,14})$/.exec(field) ?? [];
    return id === undefined ? field : (this.addresses[Number(id) - 1] ?? null);
  }

  protected tokenOf(field: string): Token | null {
    const [, id] = /^\^([1-9][0-9]{0,14})$/.exec(field) ?? [];
    const wanted = (id === undefined ? field : this.tickers[Number(id) - 1])?.toLowerCase();
    return this.tokens.find(({ key }) => key === wanted) ?? null;
  }

  /** A name that a row holds gets a number. */
  protected name(field: string): void {
    const isName = field !== '' && !field.startsWith('^') && this.tokenOf(field) === null;
    if (isName && !this.tickers.includes(field) && !this.isTaken(field)) this.tickers.push(field);
  }

  protected isTaken(name: string): boolean {
    const beginning = [...name].slice(0, 200).join('');
    return [...name].length >= 200 && this.tickers.some((tick) => tick.startsWith(beginning));
  }

  protected get gas(): Token | null {
    return this.tokenOf('GAS');
  }

  protected balance(token: Token | null, address: string): bigint {
    return (token && this.balances.get(address)?.get(token)) ?? 0n;
  }

  protected holders(token: Token): { address: string; amount: bigint }[] {
    return [...this.balances.keys()]
      .map((address) => ({ address, amount: this.balance(token, address) }))
      .filter(({ amount }) => amount > 0n);
  }

  protected isAsleep(name: string): boolean {
    const wakes = this.sleeps.get(name);
    return wakes !== undefined && (wakes === -1 || wakes > this.height);
  }

  protected sourceSleeps({ source }: Doing): Test {
    return () => this.isAsleep(`address ${source}`) && 'SOURCE (sleeping)';
  }

  protected tickSleeps(token: Token | null, field = 'TICK'): Test {
    return () => token !== null && this.isAsleep(`tick ${token.tick}`) && `${field} (sleeping)`;
  }

  protected has(list: number, address: string): boolean {
    return this.lists.get(list)?.members.has(address) ?? false;
  }

  protected isBarred({ allow, block }: Lists, address: string): boolean {
    return (allow !== 0 && !this.has(allow, address)) || (block !== 0 && this.has(block, address));
  }

  /** The number of a list's first action; 0 where there is no list. */
  protected root(text: string): number {
    const list = this.lists.get(readWhole(text) ?? 0);
    for (const [index, one] of this.lists) if (one === list) return index;
    return 0;
  }

  protected move(
    { index }: Pick<Doing, 'index'>,
    movement: Movement,
    token: Token,
    address: string,
    amount: bigint
  ): void {
    this.meet(address);
    const rows = this.moved[movement];
    const same = rows.find((row) => row.action_index === index && row.address === address && row.tick === token.tick);
    if (same) same.amount += amount;
    else rows.push({ action_index: index, address, tick: token.tick, amount });
    token.supply += movement === 'debits' ? -amount : amount;
    if (movement === 'escrows') return;
    const all = this.balances.get(address) ?? new Map<Token, bigint>();
    this.balances.set(address, all);
    all.set(token, (all.get(token) ?? 0n) + (movement === 'debits' ? -amount : amount));
  }

  protected transfer(doing: Doing, token: Token, from: string, to: string, amount: bigint): void {
    this.move(doing, 'debits', token, from, amount);
    this.move(doing, 'credits', token, to, amount);
  }

  protected newOwner(doing: Doing, token: Token, owner: string): void {
    const index = this.begin('ISSUE', doing.txIndex);
    this.meet(owner);
    this.note(index, 'issues', 'valid');
    this.valid.set(index, token);
    token.owner = owner;
    token.isHeld = false;
  }

  /** Takes a side of an offer from its source. */
  protected hold(doing: Doing, { token, amount, isOwnership }: Side): void {
    if (token === null || amount === 0n) return;
    if (isOwnership) {
      token.isHeld = true;
      return;
    }
    this.move(doing, 'debits', token, doing.source, amount);
    this.move(doing, 'escrows', token, doing.source, amount);
  }

  /** Hands over what is held. */
  protected release(doing: Doing, { token, isOwnership }: Side, amount: bigint, onRow: string, to: string): void {
    if (token === null || amount === 0n) return;
    if (isOwnership && token.owner === to) token.isHeld = false;
    else if (isOwnership) this.newOwner(doing, token, to);
    else {
      this.move(doing, 'escrows', token, onRow, -amount);
      this.move(doing, 'credits', token, to, amount);
    }
  }

  /** The fee of some gas. */
  protected feeOf(gas: number): bigint {
    return divide(BigInt(gas) * readAmount(this.rules.fees.price, 18)!, 1n, 8);
  }

  protected feeOutput({ transaction }: Doing) {
    return transaction?.outputs?.find(({ address }) => address === this.rules.fees.destination);
  }

  /** Takes the gas of a part that is valid otherwise, and says why it cannot. @param spends units of the gas token that the part takes */
  protected pays(doing: Doing, gas: () => number, spends: () => bigint = () => 0n): Test {
    return () => {
      const cost = gas();
      const amount = this.feeOf(cost);
      if (amount === 0n) return false;
      const output = this.feeOutput(doing);
      if (!output) return this.payGas(doing, cost, amount, spends());
      if (output.amount === 0n) return 'fee output has zero value';
      const newest = this.prices[0];
      const current = newest !== undefined && this.time - newest.timestamp <= 1_800 ? newest : null;
      const [gasPrice, coinPrice] = ['GAS', 'BTC'].map((name) => current?.prices.get(`${name}/USD`));
      for (const [name, price] of [
        ['GAS', gasPrice],
        ['BTC', coinPrice]
      ])
        if (price === undefined) return `no current oracle price for ${name}/USD (missing or stale beyond 1800s)`;
      // Of the fee in the gas token by the prices of both, to 18 places, then to 8.
      const exact = divide((amount * readAmount(gasPrice!, 8)!) / 1n, readAmount(coinPrice!, 8)!, 18);
      const due = divide(exact, 1n, 8);
      const least = divide((due * 95n) / 100n, 1n, 8);
      const key = `${doing.transaction!.hash} ${output.vout}`;
      const left = output.amount - (this.spent.get(key) ?? 0n);
      if (left < least) {
        const [a, b, c] = [left, due, least].map(writeAmount);
        return `insufficient native coin fee (paid: ${a}, expected: ${b}, min: ${c})`;
      }
      const used = min(left, due);
      this.spent.set(key, (this.spent.get(key) ?? 0n) + used);
      this.meet(output.address);
      this.addFee(doing, { gas: cost, amount, coins: used, round: current!.round });
      return false;
    };
  }

  protected payGas(doing: Doing, gas: number, amount: bigint, spends: bigint): string | false {
    const { source } = doing;
    if (this.balance(this.gas, source) < amount + spends) return 'insufficient funds (FEE)';
    this.move(doing, 'debits', this.gas!, source, amount);
    const { donation } = this.rules.fees;
    if (donation !== undefined && this.preferences.get(source)?.fee !== 1)
      this.move(doing, 'credits', this.gas!, donation, amount);
    this.addFee(doing, { gas, amount, coins: null, round: null });
    return false;
  }

  protected addFee(doing: Doing, { gas, amount, coins, round }: Fee): void {
    const { fee } = doing;
    doing.fee = {
      gas: gas + (fee?.gas ?? 0),
      amount: amount + (fee?.amount ?? 0n),
      coins: coins === null ? null : coins + (fee?.coins ?? 0n),
      round
    };
  }

  protected noteFee({ index, fee }: Doing): void {
    if (!fee) return;
    this.note(index, 'fees', 'valid');
    const coins = fee.coins === null ? null : writeAmount(fee.coins);
    this.fees.push(`fees ${index} ${fee.gas} ${writeAmount(fee.amount)} ${coins} ${fee.round}`);
  }

  /** Units of the gas token that a part takes. */
  protected inGas(token: Token | null, amount: bigint): bigint {
    return token !== null && token === this.gas ? amount : 0n;
  }

  /** Gas of an offer: for days beyond ninety, to the nearest, and for an ownership. */
  protected offerGas(get: (name: string) => string, { isOwnership }: SideFields): number {
    const { gas } = this.rules.fees;
    const days = Math.round((this.expirationOf(get) - this.time) / DAY);
    return Math.max(0, days - 90) * gas['offerDay']! + (isOwnership ? gas['offerOwnership']! : 0);
  }

  /** Gas of an edit: for days beyond ninety that the offer did not have. */
  protected editGas(get: (name: string) => string, before: number): number {
    if (get('EXPIRATION') === '') return 0;
    const [then, now] = [before, readWhole(get('EXPIRATION'))!].map((end) =>
      Math.max(0, Math.round((end - this.time) / DAY) - 90)
    ) as [number, number];
    return Math.max(0, now - then) * this.rules.fees.gas['offerDay']!;
  }

  protected expirationOf(get: (name: string) => string): number {
    return get('EXPIRATION') === '' ? this.time + 90 * DAY : readWhole(get('EXPIRATION'))!;
  }
}
