import { Books } from './books.ts';
import { COINS, cut, E18, firstOf, memoTests, min, named, readAmount, readWhole } from './fields.ts';
import type { Doing, Lists, Owed, ReferenceTransaction, Side, SideFields, Test, Trade } from './terms.ts';

const TRADE_FIELDS =
  'GIVE_COIN GIVE_TICK GIVE_AMOUNT GIVE_OWNERSHIP GET_COIN GET_TICK GET_AMOUNT GET_OWNERSHIP GET_ADDRESS EXPIRATION ALLOW_LIST BLOCK_LIST MEMO';

/** Least payment that nodes take, in 10^-18 of a BTC. */
const LEAST_PAYMENT = 546n * 10n ** 10n;

/** A quotient of which any rest counts as one more of the last place. */
function cutUp(dividend: bigint, divisor: bigint, places: number): bigint {
  const whole = cut(dividend / divisor, places);
  return whole * divisor === dividend ? whole : whole + 10n ** BigInt(18 - places);
}

function placesOf({ token }: Side): number {
  return token?.decimals ?? 8;
}

/** The rules of ORDER, SWAP and COINPAY. */
export abstract class Offers extends Books {
  protected side(get: (name: string) => string, side: 'GIVE' | 'GET'): SideFields {
    const token = this.tokenOf(get(`${side}_TICK`));
    return {
      coin: get(`${side}_COIN`).toUpperCase(),
      tick: get(`${side}_TICK`),
      token,
      text: get(`${side}_AMOUNT`),
      amount: readAmount(get(`${side}_AMOUNT`), token?.decimals ?? 8),
      mark: get(`${side}_OWNERSHIP`),
      isOwnership: get(`${side}_OWNERSHIP`) === '1'
    };
  }

  protected ownershipTests({ source }: Doing, give: SideFields): Test[] {
    const { isOwnership, token, amount, text } = give;
    return [
      () => isOwnership && token === null && 'GIVE_TICK (native coin has no ownership)',
      () => isOwnership && text !== '' && 'GIVE_AMOUNT (must be empty when GIVE_OWNERSHIP=1)',
      () => isOwnership && token!.owner !== source && 'SOURCE (not GIVE_TICK owner)',
      () => isOwnership && token!.isHeld && 'GIVE_TICK (ownership already escrowed)',
      () => !isOwnership && !amount && 'GIVE_AMOUNT (required and greater than 0 when GIVE_OWNERSHIP=0)'
    ];
  }

  protected termTests(get: (name: string) => string): Test[] {
    const lists = ['ALLOW_LIST', 'BLOCK_LIST'].flatMap((field) => {
      const list = () => this.lists.get(readWhole(get(field)) ?? 0);
      const isNamed = get(field) !== '' && get(field) !== '0';
      return [
        () => isNamed && !list() && (`${field} (unknown)` as const),
        () => isNamed && list()!.type !== 2 && (`${field} (unsupported)` as const)
      ];
    });
    return [
      () => get('EXPIRATION') !== '' && readWhole(get('EXPIRATION'))! <= this.time && 'EXPIRATION (past)',
      ...lists
    ];
  }

  protected expirationTest(get: (name: string) => string): Test {
    return () => get('EXPIRATION') !== '' && readWhole(get('EXPIRATION')) === null && 'EXPIRATION (format)';
  }

  protected trade(kind: 'ORDER' | 'SWAP', doing: Doing): boolean {
    const { source, index } = doing;
    const get = named(TRADE_FIELDS, doing.fields);
    const [give, getSide] = [this.side(get, 'GIVE'), this.side(get, 'GET')];
    const getAddress = this.resolve(get('GET_ADDRESS') || source);
    const mayBeCoin = kind === 'ORDER';
    const refusal = firstOf([
      () => getAddress === null && 'GET_ADDRESS (unresolvable ^id)',
      () => !COINS.includes(give.coin) && 'GIVE_COIN (unsupported COIN network)',
      () => !COINS.includes(getSide.coin) && 'GET_COIN (unsupported COIN network)',
      () => give.coin !== 'BTC' && 'GIVE_COIN (network)',
      () => getSide.coin !== 'BTC' && 'GET_COIN (cross-chain not enabled)',
      () => mayBeCoin && give.tick === '' && getSide.tick === '' && 'cannot trade native coin for native coin',
      () => give.token === null && !(mayBeCoin && give.tick === '') && 'GIVE_TICK (unknown)',
      () => getSide.token === null && !(mayBeCoin && getSide.tick === '') && 'GET_TICK (unknown)',
      () => give.text !== '' && give.amount === null && 'GIVE_AMOUNT (format)',
      () => getSide.text !== '' && getSide.amount === null && 'GET_AMOUNT (format)',
      () => !getSide.isOwnership && !getSide.amount && 'GET_AMOUNT (must be positive)',
      () => !this.isAddress(getAddress!) && 'GET_ADDRESS (format)',
      this.expirationTest(get),
      () => !['', '0', '1'].includes(give.mark) && 'GIVE_OWNERSHIP (format)',
      () => !['', '0', '1'].includes(getSide.mark) && 'GET_OWNERSHIP (format)',
      ...this.ownershipTests(doing, give),
      () => getSide.isOwnership && getSide.token === null && 'GET_TICK (native coin has no ownership)',
      () => getSide.isOwnership && getSide.text !== '' && 'GET_AMOUNT (must be empty when GET_OWNERSHIP=1)',
      this.sourceSleeps(doing),
      this.tickSleeps(give.token),
      ...memoTests(get('MEMO')),
      () => give.token !== null && this.isBarred(give.token, source) && 'SOURCE (not authorized)',
      () => this.isKeptOut(give, getSide, getAddress!) && 'GET_ADDRESS (not authorized)',
      ...this.termTests(get),
      () =>
        give.token !== null &&
        !give.isOwnership &&
        this.balance(give.token, source) < give.amount! &&
        'insufficient funds (GIVE_AMOUNT)',
      this.pays(
        doing,
        () => this.offerGas(get, give),
        () => (give.isOwnership ? 0n : this.inGas(give.token, give.amount!))
      )
    ]);
    if (refusal === null) {
      const side = ({ token, amount, isOwnership }: SideFields): Side => {
        return { token, amount: isOwnership ? E18 : amount!, isOwnership };
      };
      const trade: Trade = {
        kind,
        index,
        source,
        status: 'open',
        give: side(give),
        get: side(getSide),
        giveLeft: side(give).amount,
        getLeft: side(getSide).amount,
        getAddress: getAddress!,
        expiration: this.expirationOf(get),
        restAddress: source,
        allow: this.root(get('ALLOW_LIST')),
        block: this.root(get('BLOCK_LIST'))
      };
      this.trades.push(trade);
      this.hold(doing, trade.give);
      this.note(index, `${kind.toLowerCase()}_statuses`, 'open');
      doing.next.push(() => this.match(trade));
    }
    for (const { tick } of [give, getSide]) this.name(tick);
    this.meetIfAddress(getAddress);
    return this.judge(doing, `${kind.toLowerCase()}s`, refusal);
  }

  protected changeTrade(kind: 'ORDER' | 'SWAP', doing: Doing): boolean {
    const isCancel = doing.format === 1;
    const field = `${kind}_ACTION_INDEX`;
    const get = named(isCancel ? `${field} MEMO` : `${field} EXPIRATION ALLOW_LIST BLOCK_LIST MEMO`, doing.fields);
    const trade = this.trades.find((one) => one.kind === kind && one.index === readWhole(get(field)));
    const refusal = firstOf([
      this.expirationTest(get),
      this.sourceSleeps(doing),
      ...memoTests(get('MEMO')),
      () => !trade && `${field} (unknown)`,
      () => trade!.source !== doing.source && 'SOURCE (not owner)',
      () => trade!.status !== 'open' && `${field} (${kind.toLowerCase()} not open)`,
      ...this.termTests(get),
      this.pays(doing, () => this.editGas(get, trade!.expiration))
    ]);
    if (refusal === null && isCancel) this.endTrade(doing, trade!, 'cancelled', trade!.source);
    else if (refusal === null) {
      if (get('EXPIRATION') !== '') trade!.expiration = readWhole(get('EXPIRATION'))!;
      if (get('ALLOW_LIST') !== '') trade!.allow = this.root(get('ALLOW_LIST'));
      if (get('BLOCK_LIST') !== '') trade!.block = this.root(get('BLOCK_LIST'));
      doing.next.push(() => this.match(trade!));
    }
    return this.judge(doing, `${kind.toLowerCase()}_${isCancel ? 'cancels' : 'edits'}`, refusal);
  }

  /** Matches a trade until nothing fits it. */
  protected match(taker: Trade): void {
    const canMatch = ({ give, get, getAddress }: Trade) => !this.isKeptOut(give, get, getAddress);
    const isExact = ({ give, get }: Trade) => this.isExact(give) && this.isExact(get);
    while (taker.status === 'open' && isExact(taker) && canMatch(taker)) {
      const isSame = (a: Side, b: Side) => a.token === b.token && a.isOwnership === b.isOwnership;
      const makers = this.trades
        .filter((one) => one.kind === taker.kind && one.status === 'open' && one.source !== taker.source)
        .filter((one) => isSame(one.give, taker.get) && isSame(one.get, taker.give))
        .filter((one) => one.giveLeft > 0n && one.getLeft > 0n)
        .filter((one) => one.give.amount * taker.give.amount >= taker.get.amount * one.get.amount)
        .sort((a, b) => {
          const better = b.give.amount * a.get.amount - a.give.amount * b.get.amount;
          return better === 0n ? a.index - b.index : better < 0n ? -1 : 1;
        });
      const found = makers.find((maker) => {
        if (!canMatch(maker)) this.expireTrade(maker);
        else return isExact(maker) && this.fill(maker, taker) !== null && !this.isApart(maker, taker);
        return false;
      });
      if (!found) return;
      this.settle(found, taker, this.fill(found, taker)!);
    }
  }

  /** Whether the lists of a token bar the receiver. */
  protected isKeptOut(give: Pick<Side, 'token'>, get: Pick<Side, 'token'>, getAddress: string): boolean {
    return [give, get].some(({ token }) => token !== null && this.isBarred(token, getAddress));
  }

  /** Whether an amount has no more places than its token has by now. */
  protected isExact({ token, amount }: Side): boolean {
    return token === null || cut(amount, token.decimals) === amount;
  }

  protected fill(maker: Trade, taker: Trade): { give: bigint; get: bigint } | null {
    if (taker.kind === 'SWAP' || taker.give.isOwnership || taker.get.isOwnership) {
      const isExact = maker.giveLeft === taker.getLeft && maker.getLeft === taker.giveLeft;
      return isExact ? { give: taker.giveLeft, get: taker.getLeft } : null;
    }
    const [givePlaces, getPlaces] = [taker.give, taker.get].map(placesOf) as [number, number];
    const [price, cost] = [maker.give.amount, maker.get.amount];
    const most = cut(min(maker.getLeft, taker.giveLeft), givePlaces);
    const wanted = min(cut(min(maker.giveLeft, taker.getLeft), getPlaces), cut((most * price) / cost, getPlaces));
    const keepsPrice = (give: bigint, get: bigint) =>
      get > 0n && give * taker.get.amount <= get * taker.give.amount && give * price >= get * cost;
    // The side that has fewer units is tried, from the most down.
    const [giveUnit, getUnit] = [givePlaces, getPlaces].map((places) => 10n ** BigInt(18 - places)) as [bigint, bigint];
    if (most / giveUnit < wanted / getUnit) {
      for (let paid = most; paid > 0n; paid -= giveUnit) {
        const get = min(wanted, cut((paid * price) / cost, getPlaces));
        const give = cutUp(get * cost, price, givePlaces);
        if (keepsPrice(give, get)) return { give, get };
      }
    } else {
      for (let get = wanted; get > 0n; get -= getUnit) {
        const give = cutUp(get * cost, price, givePlaces);
        if (keepsPrice(give, get)) return { give, get };
      }
    }
    return null;
  }

  protected isApart(maker: Trade, taker: Trade): boolean {
    const lists: Lists[] = [maker, taker];
    for (const { token } of [taker.give, taker.get]) if (token) lists.push(token);
    return lists.some((one) => [maker, taker].some(({ getAddress }) => this.isBarred(one, getAddress)));
  }

  protected settle(maker: Trade, taker: Trade, { give, get }: { give: bigint; get: bigint }): void {
    const doing = this.system(`${taker.kind}_MATCH`, taker.source);
    const isInstant = taker.give.token !== null && taker.get.token !== null;
    this.note(doing.index, `${taker.kind.toLowerCase()}_matches`, isInstant ? 'valid' : 'pending_coinpay');
    maker.giveLeft -= get;
    maker.getLeft -= give;
    taker.giveLeft -= give;
    taker.getLeft -= get;
    if (isInstant) {
      this.release(doing, taker.give, give, maker.getAddress, maker.getAddress);
      this.release(doing, maker.give, get, taker.getAddress, taker.getAddress);
    } else {
      const [buyer, seller, coins, sold] =
        taker.give.token === null ? [taker, maker, give, get] : [maker, taker, get, give];
      this.note(doing.index, 'coinpay_statuses', 'pending_coinpay');
      this.owed.push({
        index: doing.index,
        status: 'pending_coinpay',
        payee: seller.getAddress,
        coins,
        seller,
        buyer,
        sold: { ...seller.give, amount: sold },
        expiration: this.time + 7_200
      });
    }
    for (const trade of [maker, taker]) this.maybeComplete(doing, trade);
  }

  protected isAwaited(trade: Trade): boolean {
    return this.owed.some(
      ({ status, seller, buyer }) => status === 'pending_coinpay' && (seller === trade || buyer === trade)
    );
  }

  protected setStatus(doing: Doing, trade: Trade, status: string): void {
    trade.status = status;
    this.note(doing.index, `${trade.kind.toLowerCase()}_statuses`, status);
  }

  protected maybeComplete(doing: Doing, trade: Trade): void {
    if (this.isAwaited(trade)) return;
    if (trade.status === 'cancelling') this.setStatus(doing, trade, 'cancelled');
    else if (trade.status === 'expiring') this.setStatus(doing, trade, 'expired');
    else if (trade.status === 'open' && this.isUsedUp(trade)) {
      this.release(doing, trade.give, trade.giveLeft, trade.source, trade.source);
      this.setStatus(doing, trade, 'complete');
    }
  }

  /** Whether nothing is left of a side, or what it still gets pays for no unit of what it gives. */
  protected isUsedUp({ give, get, giveLeft, getLeft }: Trade): boolean {
    if (giveLeft <= 0n || getLeft <= 0n) return true;
    return cut((getLeft * give.amount) / get.amount, placesOf(give)) === 0n;
  }

  protected endTrade(doing: Doing, trade: Trade, ending: 'cancelled' | 'expired', to: string): void {
    trade.restAddress = to;
    this.release(doing, trade.give, trade.giveLeft, trade.source, to);
    const pending = ending === 'cancelled' ? 'cancelling' : 'expiring';
    this.setStatus(doing, trade, this.isAwaited(trade) ? pending : ending);
  }

  protected expireTrade(trade: Trade): void {
    if (trade.status !== 'open') return;
    const doing = this.system(`${trade.kind}_EXPIRE`, trade.source);
    this.note(doing.index, `${trade.kind.toLowerCase()}_expires`, 'valid');
    this.endTrade(doing, trade, 'expired', trade.source);
  }

  protected coinpay(match: number | null, transaction: ReferenceTransaction, txIndex: number): void {
    for (const { vout, address, amount } of transaction.outputs ?? []) {
      const output = `${transaction.hash} ${vout}`;
      const spent = this.spent.get(output) ?? 0n;
      const owed = this.owed.find(({ index, status }) => index === match && status === 'pending_coinpay');
      if (owed?.payee !== address || amount - spent < owed.coins) continue;
      this.spent.set(output, spent + owed.coins);
      const doing = this.system('COINPAY', transaction.source, txIndex);
      const isLate = this.time >= owed.expiration;
      this.judge(doing, 'coinpays', isLate ? 'COINPAY obligation expired' : null);
      if (isLate) return;
      this.release(doing, owed.sold, owed.sold.amount, owed.seller.source, owed.buyer.getAddress);
      this.finishOwed(doing, owed, 'fulfilled');
      return;
    }
  }

  protected expireOwed(owed: Owed): void {
    if (owed.status !== 'pending_coinpay') return;
    const { source, restAddress } = owed.seller;
    const doing = this.system('COINPAY_EXPIRE', source);
    this.note(doing.index, 'coinpay_expires', 'valid');
    this.release(doing, owed.sold, owed.sold.amount, source, restAddress);
    owed.buyer.giveLeft += owed.coins;
    owed.buyer.getLeft += owed.sold.amount;
    this.finishOwed(doing, owed, 'expired');
    const isPayable = owed.coins >= LEAST_PAYMENT;
    if (isPayable && owed.buyer.status === 'open') this.endTrade(doing, owed.buyer, 'expired', owed.buyer.source);
  }

  protected finishOwed(doing: Doing, owed: Owed, status: string): void {
    owed.status = status;
    this.note(doing.index, 'coinpay_statuses', status);
    for (const trade of [owed.seller, owed.buyer]) this.maybeComplete(doing, trade);
  }
}
