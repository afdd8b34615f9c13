import { byBytes, COINS, DAY, E18, FIATS, firstOf, memoTests, min, named, readAmount, readWhole } from './fields.ts';
import { Offers } from './offers.ts';
import type { Dispenser, Doing, Side, Token } from './terms.ts';

const DISPENSER_FIELDS =
  'GIVE_COIN GIVE_TICK GIVE_AMOUNT GIVE_OWNERSHIP GIVE_ESCROW GET_COIN GET_TICK GET_AMOUNT GET_ADDRESS FIAT_CODE FIAT_AMOUNT ORACLE_ADDRESS EXPIRATION ALLOW_LIST BLOCK_LIST MEMO';

/** The rules of DISPENSER, and payments to one. */
export abstract class Dispensers extends Offers {
  protected dispenser(doing: Doing): boolean {
    const { source, index } = doing;
    const get = named(DISPENSER_FIELDS, doing.fields);
    const [give, getSide] = [this.side(get, 'GIVE'), this.side(get, 'GET')];
    const escrow = get('GIVE_ESCROW') === '' ? 0n : readAmount(get('GIVE_ESCROW'), give.token?.decimals ?? 8);
    const getAddress = get('GET_ADDRESS') || source;
    const fiat = get('FIAT_CODE').toUpperCase();
    const [fiatAmount, oracle] = [get('FIAT_AMOUNT'), get('ORACLE_ADDRESS')];
    const isInBatch = (doing.siblings ?? []).length > 0;
    const isPermitted = () => {
      if (getAddress === source) return true;
      if (isInBatch) return false;
      const choice = this.preferences.get(getAddress)?.dispenser ?? '';
      if (choice !== '') return Number(choice) === 2;
      const first = this.dispensers.find((one) => one.getAddress === getAddress);
      if (first) return first.source === source;
      return !this.addresses.slice(0, this.knownAddresses).includes(getAddress);
    };
    const refusal = firstOf([
      () => !COINS.includes(give.coin) && 'GIVE_COIN (unsupported COIN network)',
      () => !COINS.includes(getSide.coin) && 'GET_COIN (unsupported COIN network)',
      () => give.coin !== 'BTC' && 'GIVE_COIN (network)',
      () => getSide.coin !== 'BTC' && 'GET_COIN (network)',
      () => give.token === null && 'GIVE_TICK (unknown)',
      () => getSide.tick !== '' && getSide.token === null && 'GET_TICK (unknown)',
      () => fiat !== '' && !FIATS.includes(fiat) && 'FIAT_CODE (unsupported FIAT)',
      () =>
        fiat !== '' &&
        oracle === '' &&
        fiatAmount === '' &&
        'FIAT_AMOUNT (required when FIAT_CODE is set without ORACLE_ADDRESS)',
      () => fiat === '' && fiatAmount !== '' && 'FIAT_CODE (required when FIAT_AMOUNT is set)',
      () => fiat === '' && oracle !== '' && 'FIAT_CODE (required when ORACLE_ADDRESS is set)',
      () => oracle !== '' && !this.isAddress(oracle) && 'ORACLE_ADDRESS (format)',
      () => give.text !== '' && give.amount === null && 'GIVE_AMOUNT (format)',
      () => escrow === null && 'GIVE_ESCROW (format)',
      () => !['', '0', '1'].includes(give.mark) && 'GIVE_OWNERSHIP (format)',
      () => give.isOwnership && give.text !== '' && 'GIVE_AMOUNT (must be empty when GIVE_OWNERSHIP=1)',
      () => give.isOwnership && get('GIVE_ESCROW') !== '' && 'GIVE_ESCROW (must be empty when GIVE_OWNERSHIP=1)',
      ...this.ownershipTests(doing, give),
      () => getSide.text !== '' && getSide.amount === null && 'GET_AMOUNT (format)',
      () => !getSide.amount && 'GET_AMOUNT (must be positive)',
      () => !this.isAddress(getAddress) && 'GET_ADDRESS (format)',
      this.expirationTest(get),
      () =>
        fiatAmount !== '' &&
        (!/^[0-9]{1,15}(\.[0-9]{1,2})?$/.test(fiatAmount) || Number(fiatAmount) === 0) &&
        'FIAT_AMOUNT (format)',
      () => oracle !== '' && 'ORACLE_ADDRESS (no effective oracle price)',
      () => fiat !== '' && getSide.tick !== '' && 'FIAT_CODE (no price snapshot in the settlement window)',
      this.sourceSleeps(doing),
      this.tickSleeps(give.token),
      ...memoTests(get('MEMO')),
      () => this.isBarred(give.token!, source) && 'SOURCE (not authorized)',
      () => this.isBarred(give.token!, getAddress) && 'GET_ADDRESS (not authorized)',
      () => !isPermitted() && 'GET_ADDRESS (dispenser not permitted)',
      ...this.termTests(get),
      () => this.balance(give.token, source) < escrow! && 'insufficient funds (GIVE_ESCROW)',
      this.pays(
        doing,
        () => this.offerGas(get, give),
        () => (give.isOwnership ? 0n : this.inGas(give.token, escrow!))
      )
    ]);
    if (refusal === null) {
      const side: Side = {
        token: give.token,
        amount: give.isOwnership ? E18 : give.amount!,
        isOwnership: give.isOwnership
      };
      const left = give.isOwnership ? E18 : escrow!;
      this.hold(doing, { ...side, amount: left });
      this.dispensers.push({
        index,
        source,
        status: 'open',
        give: side,
        getToken: getSide.token,
        getAmount: getSide.amount!,
        getAddress,
        fiat: fiat === '' ? null : { code: fiat, amount: readAmount(fiatAmount, 2)! },
        left,
        refills: 0,
        served: 0,
        refused: 0,
        expiration: this.expirationOf(get),
        closesAt: null,
        restAddress: source,
        lists: [{ from: 0, allow: this.root(get('ALLOW_LIST')), block: this.root(get('BLOCK_LIST')) }]
      });
      this.note(index, 'dispenser_statuses', 'open');
    }
    for (const address of [getAddress, oracle].sort(byBytes)) this.meetIfAddress(address);
    for (const { tick } of [give, getSide]) this.name(tick);
    return this.judge(doing, 'dispensers', refusal);
  }

  protected changeDispenser(doing: Doing): boolean {
    const isCancel = doing.format === 1;
    const names = isCancel ? 'INDEX MEMO' : 'INDEX GIVE_ESCROW EXPIRATION ALLOW_LIST BLOCK_LIST MEMO';
    const get = named(names, doing.fields);
    const one = this.dispensers.find(({ index }) => index === readWhole(get('INDEX')));
    const escrow = get('GIVE_ESCROW') === '' ? 0n : readAmount(get('GIVE_ESCROW'), one?.give.token?.decimals ?? 8);
    const refusal = firstOf([
      () => escrow === null && 'GIVE_ESCROW (format)',
      this.expirationTest(get),
      this.sourceSleeps(doing),
      ...memoTests(get('MEMO')),
      () => !one && 'DISPENSER_ACTION_INDEX (unknown)',
      () => ![one!.source, one!.getAddress].includes(doing.source) && 'SOURCE (not owner)',
      () => one!.status !== 'open' && 'DISPENSER_ACTION_INDEX (dispenser not open)',
      () => one!.give.isOwnership && get('GIVE_ESCROW') !== '' && 'GIVE_ESCROW (must be empty when GIVE_OWNERSHIP=1)',
      () => !isCancel && escrow! > 0n && !this.isExact(one!.give) && 'GIVE_AMOUNT (format)',
      () => escrow! > 0n && one!.refills >= 5 && 'MAX_REFILLS (dispenser refill limit reached)',
      ...this.termTests(get),
      () => this.balance(one!.give.token, doing.source) < escrow! && 'insufficient funds (GIVE_ESCROW)',
      this.pays(
        doing,
        () => this.editGas(get, one!.expiration),
        () => this.inGas(one!.give.token, escrow!)
      )
    ]);
    if (refusal === null && isCancel) this.cancelDispenser(doing, one!, doing.source);
    else if (refusal === null) {
      if (escrow! > 0n) {
        this.hold(doing, { ...one!.give, amount: escrow! });
        one!.left += escrow!;
        one!.refills += 1;
        one!.served = 0;
        one!.refused = 0;
      }
      const end = readWhole(get('EXPIRATION'));
      if (end !== null) one!.expiration = Math.max(end, Math.min(one!.expiration, this.time + 3_600));
      if (get('ALLOW_LIST') !== '' || get('BLOCK_LIST') !== '') {
        const { allow, block } = one!.lists.at(-1)!;
        const list = (field: string, stored: number) => (get(field) === '' ? stored : this.root(get(field)));
        one!.lists.push({
          from: this.time + 3_600,
          allow: list('ALLOW_LIST', allow),
          block: list('BLOCK_LIST', block)
        });
      }
    }
    return this.judge(doing, isCancel ? 'dispenser_cancels' : 'dispenser_edits', refusal);
  }

  protected cancelDispenser(doing: Doing, one: Dispenser, restAddress: string): void {
    Object.assign(one, { status: 'cancelling', closesAt: this.time + 3_600, restAddress });
    this.note(doing.index, 'dispenser_statuses', 'cancelling');
  }

  protected endDispenser(one: Dispenser, action: 'DISPENSER_EXPIRE' | 'DISPENSER_CLOSE', status: string): void {
    if (!['open', 'cancelling'].includes(one.status)) return;
    const isExpired = action === 'DISPENSER_EXPIRE';
    const doing = this.system(action, one.source);
    this.note(doing.index, isExpired ? 'dispenser_expires' : 'dispenser_closes', isExpired ? 'valid' : status);
    this.release(doing, one.give, one.left, one.restAddress, one.restAddress);
    one.status = status;
    this.note(doing.index, 'dispenser_statuses', status);
  }

  /**
   * Returns the number of fills that a payment buys, and the cost of some of them; null where the coin has no price in the
   * currency.
   */
  protected bought(one: Dispenser, paid: bigint): { fills: bigint; cost: (fills: bigint) => bigint } | null {
    const { fiat, getAmount } = one;
    if (fiat === null) return { fills: paid / getAmount, cost: (fills) => fills * getAmount };
    const prices = this.prices
      .filter(({ timestamp }) => timestamp >= this.time - DAY)
      .flatMap(({ prices }) => prices.get(`BTC/${fiat.code}`) ?? [])
      .map((text) => readAmount(text, 8)!);
    if (prices.length === 0) return null;
    for (const price of prices) {
      const fills = (paid * price) / (fiat.amount * E18);
      const cost = (some: bigint) => {
        const exact = some * fiat.amount * E18;
        const step = price * 10n ** 10n;
        return (exact / step + (exact % step > 0n ? 1n : 0n)) * 10n ** 10n;
      };
      if (fills > 0n) return { fills, cost };
    }
    return { fills: 0n, cost: () => 0n };
  }

  /** Serves a payment at one dispenser after the other. */
  protected dispense(
    payer: string,
    payee: string,
    token: Token | null,
    paid: bigint,
    asked: { after: Dispenser | null; dispensers: number; metEmpty: boolean },
    txIndex: number | null
  ): void {
    if (payer === payee) return;
    const isEmpty = ({ left, give }: Dispenser) => left < give.amount;
    const isOwn = ({ source, getAddress }: Dispenser) => source === getAddress;
    // Those of the paid address come first.
    const one = [...this.dispensers.filter(isOwn), ...this.dispensers.filter((each) => !isOwn(each))].find(
      (dispenser) =>
        (asked.after === null ||
          (isOwn(dispenser) === isOwn(asked.after) ? dispenser.index > asked.after.index : isOwn(asked.after))) &&
        !(asked.metEmpty && isEmpty(dispenser)) &&
        ['open', 'cancelling'].includes(dispenser.status) &&
        dispenser.getAddress === payee &&
        dispenser.getToken === token &&
        dispenser.getAmount <= paid
    );
    if (!one) return;
    const bought = this.bought(one, paid);
    const doing = this.system('DISPENSE', payer, txIndex);
    const fills = bought === null ? 0n : min(bought.fills, one.left / one.give.amount);
    const own = one.lists.findLast(({ from }) => from <= this.time)!;
    const lists = [
      ...(token ? [['GET_TOKEN', token] as const] : []),
      ['GIVE_TOKEN', one.give.token!] as const,
      ['dispenser', own] as const
    ];
    const parties = [
      ['DESTINATION', payer],
      ['GET_ADDRESS', payee]
    ] as const;
    const metEmpty = asked.metEmpty || isEmpty(one);
    const refusal = firstOf([
      () => asked.dispensers >= 250 && 'DISPENSE (limit)',
      () => bought === null && 'no matching oracle price',
      () => fills === 0n && 'insufficient funds',
      ...lists.flatMap(([name, { allow, block }]) => [
        ...parties.map(
          ([party, address]) =>
            () =>
              allow !== 0 && !this.has(allow, address) && (`${party} (${name} allow list)` as const)
        ),
        ...parties.map(
          ([party, address]) =>
            () =>
              block !== 0 && this.has(block, address) && (`${party} (${name} block list)` as const)
        )
      ])
    ]);
    this.judge(doing, 'dispenses', refusal);
    let left = paid;
    if (refusal === null) {
      left -= bought!.cost(fills);
      const given = fills * one.give.amount;
      this.release(doing, one.give, given, payer, payer);
      one.left -= given;
      one.served += 1;
      if (one.left < one.give.amount) this.endDispenser(one, 'DISPENSER_CLOSE', 'empty');
      else if (one.served + one.refused >= 1_000) this.endDispenser(one, 'DISPENSER_CLOSE', 'max_dispenses_reached');
    } else {
      one.refused += 1;
      if (one.served + one.refused >= 1_000) this.endDispenser(one, 'DISPENSER_CLOSE', 'max_dispenses_reached');
    }
    if (asked.dispensers >= 250) return;
    this.dispense(payer, payee, token, left, { after: one, dispensers: asked.dispensers + 1, metEmpty }, txIndex);
  }
}
