import {
  byBytes,
  cut,
  E18,
  firstOf,
  groups,
  groupsAndMemo,
  memoTests,
  named,
  readAmount,
  readWhole
} from './fields.ts';
import { Records } from './records.ts';
import type { Doing, Test } from './terms.ts';

/** The greatest of some amounts, of equal ones the first by address: as many as an action is about. */
function mostOf<T extends { address: string; amount: bigint }>(some: readonly T[]): T[] {
  const compare = (a: T, b: T) =>
    a.amount === b.amount ? byBytes(a.address, b.address) : a.amount < b.amount ? 1 : -1;
  return [...some].sort(compare).slice(0, 100_000);
}

/** The rules of actions about many addresses. */
export abstract class Shares extends Records {
  protected callback(doing: Doing): boolean {
    const { source } = doing;
    const get = named('TICK MEMO', doing.fields);
    const token = this.tokenOf(get('TICK'));
    const paid = token?.callbackTick ?? null;
    const others = () => this.holders(token!).filter(({ address }) => address !== source);
    const holders = () => mostOf(others().filter(({ address }) => !this.isBarred(paid!, address)));
    const share = (held: bigint) => cut((held * token!.callbackAmount!) / E18, paid!.decimals);
    const total = () => holders().reduce((sum, { amount }) => sum + share(amount), 0n);
    const refusal = firstOf([
      () => token === null && 'TICK (unknown)',
      () => paid === null && 'CALLBACK_TICK (unknown)',
      () => token!.locks['CALLBACK'] === true && 'LOCK_CALLBACK',
      () => token!.owner !== source && 'SOURCE (not authorized)',
      () => token!.isHeld && 'TICK (ownership escrowed)',
      () => token!.callbackBlock === null && 'CALLBACK_BLOCK (format)',
      () =>
        (token!.callbackAmount === null || cut(token!.callbackAmount, paid!.decimals) !== token!.callbackAmount) &&
        'CALLBACK_AMOUNT (format)',
      this.sourceSleeps(doing),
      this.tickSleeps(token),
      this.tickSleeps(paid, 'CALLBACK_TICK'),
      () => token!.callbackBlock! > this.height && 'CALLBACK_BLOCK (block index)',
      ...memoTests(get('MEMO')),
      () => others().length > 0 && holders().length === 0 && 'CALLBACK_TICK (holder not authorized)',
      () => this.balance(paid, source) < total() && 'insufficient funds (CALLBACK_TICK)',
      this.pays(
        doing,
        () => this.rules.fees.gas['callback']! + holders().length * this.rules.fees.gas['recipient']!,
        () => this.inGas(paid, total())
      )
    ]);
    if (refusal === null)
      for (const { address, amount } of holders()) {
        this.transfer(doing, token!, address, source, amount);
        if (share(amount) > 0n) this.transfer(doing, paid!, source, address, share(amount));
      }
    this.name(get('TICK'));
    return this.judge(doing, 'callbacks', refusal);
  }

  protected airdrop(doing: Doing): boolean {
    const { source, format, fields } = doing;
    const [first = '', ...others] = fields;
    const texts = [
      groups(fields.slice(0, 4), 4),
      groupsAndMemo(others, 2).map(([tick, amount, memo]) => [tick!, amount!, first, memo!]),
      groupsAndMemo(fields, 3),
      groups(fields, 4)
    ][format]!;
    const verdicts = (texts.length > 0 ? texts : [['', '', '', '']]).map(([tick, text, listText, memo]) => {
      const token = this.tokenOf(tick!);
      const amount = readAmount(text!, token?.decimals ?? 18);
      const list = this.lists.get(readWhole(listText!) ?? 0) ?? null;
      const recipients = () => {
        if (amount === 0n) return []; // who gets nothing has no row
        const all = [...list!.members].flatMap((member) =>
          list!.type === 2 ? member : this.holders(this.tokenOf(member)!).map(({ address }) => address)
        );
        return [...new Set(all)].filter((address) => !this.isBarred(token!, address));
      };
      const refusal = firstOf([
        () => token === null && 'TICK (unknown)',
        () => amount === null && 'AMOUNT (format)',
        () => readWhole(listText!) === null && 'LIST_ACTION_INDEX (format)',
        this.sourceSleeps(doing),
        this.tickSleeps(token),
        ...memoTests(memo!),
        () => list === null && 'LIST (unknown)',
        () => this.isBarred(token!, source) && 'SOURCE (not authorized)',
        () => this.balance(token, source) < amount! && 'insufficient funds',
        () => this.balance(token, source) < amount! * BigInt(recipients().length) && 'insufficient funds (TICK)',
        this.pays(
          doing,
          () => recipients().length * this.rules.fees.gas['recipient']!,
          () => this.inGas(token, amount! * BigInt(recipients().length))
        )
      ]);
      if (refusal === null)
        for (const recipient of recipients()) this.transfer(doing, token!, source, recipient, amount!);
      this.name(tick!);
      return this.judge(doing, 'airdrops', refusal);
    });
    return verdicts.includes(true);
  }

  protected dividend(doing: Doing): boolean {
    const { source } = doing;
    const get = named('TICK DIVIDEND_TICK AMOUNT MEMO', doing.fields);
    const [token, paid] = [this.tokenOf(get('TICK')), this.tokenOf(get('DIVIDEND_TICK'))];
    const amount = readAmount(get('AMOUNT'), paid?.decimals ?? 18);
    const shares = () =>
      mostOf(
        this.holders(token!)
          .filter(({ address }) => address !== source && !this.isBarred(paid!, address))
          .map((held) => ({ address: held.address, amount: cut((held.amount * amount!) / E18, paid!.decimals) }))
          .filter((share) => share.amount > 0n)
      );
    const total = () => shares().reduce((sum, share) => sum + share.amount, 0n);
    const refusal = firstOf([
      () => token === null && 'TICK (unknown)',
      () => paid === null && 'DIVIDEND_TICK (unknown)',
      () => amount === null && 'AMOUNT (format)',
      this.sourceSleeps(doing),
      this.tickSleeps(token),
      this.tickSleeps(paid, 'DIVIDEND_TICK'),
      ...memoTests(get('MEMO')),
      () => this.balance(paid, source) < total() && 'insufficient funds (TICK)',
      this.pays(
        doing,
        () => shares().length * this.rules.fees.gas['recipient']!,
        () => this.inGas(paid, total())
      )
    ]);
    if (refusal === null)
      for (const { address, amount: share } of shares()) this.transfer(doing, paid!, source, address, share);
    for (const field of ['TICK', 'DIVIDEND_TICK']) this.name(get(field));
    return this.judge(doing, 'dividends', refusal);
  }

  protected sweep(doing: Doing): boolean {
    const { source } = doing;
    const get = named('DESTINATION BALANCES OWNERSHIPS ORDERS SWAPS DISPENSERS MEMO', doing.fields);
    const to = this.resolve(get('DESTINATION'));
    const flag = (name: string) => get(name) || (['BALANCES', 'OWNERSHIPS'].includes(name) ? '1' : '0');
    const format = (name: string, shown: string) => () => !['0', '1'].includes(flag(name)) && `${shown} (format)`;
    const items = () => {
      const count = (name: string, all: readonly unknown[]) => (flag(name) === '1' ? all.length : 0);
      const isOpen = (one: { source: string; status: string }) => one.source === source && one.status === 'open';
      const trades = (kind: string) => this.trades.filter((one) => one.kind === kind && isOpen(one));
      const owned = this.tokens.filter(({ owner, isHeld }) => owner === source && !isHeld);
      return (
        count(
          'BALANCES',
          this.tokens.filter((token) => this.balance(token, source) > 0n)
        ) +
        count('OWNERSHIPS', owned) +
        count('ORDERS', trades('ORDER')) +
        count('SWAPS', trades('SWAP')) +
        count('DISPENSERS', this.dispensers.filter(isOpen))
      );
    };
    const refusal = firstOf([
      () => to === null && 'DESTINATION (unresolvable ^id)',
      () => to === '' && 'DESTINATION (null)',
      () => !this.isAddress(to!) && 'DESTINATION (format)',
      format('BALANCES', 'BALANCES'),
      format('OWNERSHIPS', 'OWNERSHIP'),
      format('ORDERS', 'ORDERS'),
      format('SWAPS', 'SWAPS'),
      format('DISPENSERS', 'DISPENSERS'),
      this.sourceSleeps(doing),
      ...memoTests(get('MEMO')),
      this.pays(doing, () => this.rules.fees.gas['sweep']! + items() * this.rules.fees.gas['item']!)
    ] as Test[]);
    if (refusal === null) {
      const isOwn = (one: { source: string; status: string }) => one.source === source && one.status === 'open';
      for (const kind of ['ORDER', 'SWAP'])
        if (flag(`${kind}S`) === '1')
          for (const trade of this.trades.filter((one) => one.kind === kind && isOwn(one)))
            this.endTrade(doing, trade, 'cancelled', to!);
      if (flag('DISPENSERS') === '1')
        for (const one of this.dispensers.filter(isOwn)) this.cancelDispenser(doing, one, to!);
      if (flag('BALANCES') === '1')
        for (const token of this.tokens) {
          const amount = this.balance(token, source);
          if (amount > 0n) this.transfer(doing, token, source, to!, amount);
        }
      if (flag('OWNERSHIPS') === '1') {
        const own = this.tokens.filter(({ owner, isHeld }) => owner === source && !isHeld);
        for (const token of own.sort((a, b) => byBytes(a.tick, b.tick))) this.newOwner(doing, token, to!);
      }
    }
    this.meetIfAddress(to);
    return this.judge(doing, 'sweeps', refusal);
  }
}
