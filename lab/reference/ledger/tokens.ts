import { Dispensers } from './dispensers.ts';
import {
  COINS,
  cut,
  divide,
  E18,
  firstOf,
  groups,
  groupsAndMemo,
  memoTests,
  NONE_ASKED,
  named,
  parse,
  points,
  readAmount,
  readWhole
} from './fields.ts';
import type { Doing, Test, Token } from './terms.ts';

const MOST_UNITS = 10n ** 36n * E18;

const HIGHEST_CAP = 10n ** 21n * E18;

const FUTURE_COINS =
  'ADA ALGO APT ARB ATOM AVAX BASE BCH BNB BSV BTG CRO DASH DGB DOT EOS ETC ETH FIL FIRO GRS HBAR HOOD HYPE ICP INJ KAS MNT NEAR NEO NMC OP POL PPC RVN SEI SOL STX SUI TIA TON TRX VET VTC XCP XDP XEC XLM XMR XRP XTZ ZEC ZK'.split(
    ' '
  );

const LOCKS = 'MAX_SUPPLY MAX_MINT DESCRIPTION SLEEP CALLBACK MINT MINT_SUPPLY'.split(' ');

const CLASSES = ['transfer', 'trade', 'burn', 'mint', 'stake', 'ownership', 'all'];

const ISSUE_FIELDS = [
  'TICK MAX_SUPPLY MAX_MINT DECIMALS DESCRIPTION MINT_SUPPLY TRANSFER TRANSFER_SUPPLY LOCK_MAX_SUPPLY LOCK_MAX_MINT LOCK_DESCRIPTION LOCK_SLEEP LOCK_CALLBACK CALLBACK_BLOCK CALLBACK_TICK CALLBACK_AMOUNT ALLOW_LIST BLOCK_LIST MINT_ADDRESS_MAX MINT_START_BLOCK MINT_STOP_BLOCK LOCK_MINT LOCK_MINT_SUPPLY MEMO',
  'TICK DESCRIPTION MEMO',
  'TICK MAX_MINT MINT_SUPPLY TRANSFER_SUPPLY MINT_ADDRESS_MAX MINT_START_BLOCK MINT_STOP_BLOCK MEMO',
  'TICK LOCK_MAX_SUPPLY LOCK_MAX_MINT LOCK_DESCRIPTION LOCK_SLEEP LOCK_CALLBACK LOCK_MINT LOCK_MINT_SUPPLY MEMO',
  'TICK CALLBACK_BLOCK CALLBACK_TICK CALLBACK_AMOUNT MEMO',
  'TICK ALLOW_LIST BLOCK_LIST MEMO',
  'TICK CONTROLLER ACTION_CLASS COOLDOWN_BLOCKS UNBIND MEMO'
];

/** A cap rounded to places; one that was given is at least the smallest unit. */
function capIn(cap: bigint, places: number): bigint {
  const rounded = divide(cap, 1n, places);
  return cap > 0n && rounded === 0n ? 10n ** BigInt(18 - places) : rounded;
}

/** The rules of actions about one token and its holder. */
export abstract class Tokens extends Dispensers {
  protected issue(doing: Doing): boolean {
    const { source, format } = doing;
    const get = named(ISSUE_FIELDS[format]!, doing.fields);
    const name = get('TICK');
    const token = this.tokenOf(name);
    const parent = this.tokenOf(name.slice(0, Math.max(0, name.lastIndexOf('.'))));
    const isChild = token === null && name.includes('.');
    const decimals = get('DECIMALS') === '' ? (token?.decimals ?? 0) : readWhole(get('DECIMALS'));
    const places = decimals === null || decimals > 18 ? 18 : decimals;
    const given = <T>(field: string, read: (text: string) => T) => (get(field) === '' ? undefined : read(get(field)));
    const units = (text: string) => readAmount(text, places);
    const maxSupply = given('MAX_SUPPLY', units);
    const maxMint = given('MAX_MINT', units);
    const mintSupply = given('MINT_SUPPLY', units);
    const addressMax = given('MINT_ADDRESS_MAX', units);
    const mintStart = given('MINT_START_BLOCK', readWhole);
    const mintStop = given('MINT_STOP_BLOCK', readWhole);
    const callbackBlock = given('CALLBACK_BLOCK', readWhole);
    const callbackTick =
      get('CALLBACK_TICK') === '' ? (token?.callbackTick ?? null) : this.tokenOf(get('CALLBACK_TICK'));
    const callbackAmount = given('CALLBACK_AMOUNT', (text) => readAmount(text, callbackTick?.decimals ?? 18));
    const transfer = this.resolve(get('TRANSFER'));
    const resolved = this.resolve(get('TRANSFER_SUPPLY'));
    const transferSupply = resolved === source ? '' : resolved;
    const supply = token?.supply ?? 0n;
    const cap = maxSupply ?? token?.maxSupply ?? 0n;
    const isOver = (amount: bigint | null | undefined) => (amount ?? 0n) > (cap === 0n ? MOST_UNITS : cap);
    const isGas = name.toUpperCase() === 'GAS';
    const isBad = (address: string | null) => address !== '' && !this.isAddress(address!);
    const isLocked = (lock: string) => token?.locks[lock] === true;
    const isRounded = (amount: bigint) => cut(amount, decimals!) !== amount;
    const differs = (value: unknown, stored: unknown) =>
      token !== null && value !== undefined && value !== null && value !== stored;
    const terms = [
      ['CALLBACK_BLOCK', differs(callbackBlock, token?.callbackBlock)],
      ['CALLBACK_TICK', differs(callbackTick, token?.callbackTick)],
      ['CALLBACK_AMOUNT', differs(callbackAmount, token?.callbackAmount)]
    ] as const;
    const isDistributed = () => token!.supply !== this.balance(token, token!.owner);
    const isBadList = (field: string) => {
      if (get(field) === '' || readWhole(get(field)) === 0) return false;
      return this.lists.get(readWhole(get(field)) ?? 0)?.type !== 2;
    };
    const isPast = (block: number | null | undefined) => (block ?? 0) > 0 && block! < this.height;
    const refusal = firstOf([
      () => transfer === null && 'TRANSFER (unresolvable ^id)',
      () => transferSupply === null && 'TRANSFER_SUPPLY (unresolvable ^id)',
      () => name === '' && 'TICK (null)',
      () => /^\.|\.$/.test(name) && 'TICK (period)',
      () => isChild && parent === null && 'TICK (parent unknown)',
      () => isChild && parent!.owner !== source && 'TICK (parent issued by another address)',
      () => isChild && parent!.isHeld && 'TICK (parent ownership escrowed)',
      () => !/^[A-Za-z0-9~!@#$%^&*()_+\-={}[\]:<>.?]*$/.test(name) && 'TICK (character)',
      () => /^\^/.test(name) && !/^\^[0-9.]+$/.test(name) && 'TICK (id)',
      () => /^\^.*\./.test(name) && 'TICK (caret dot)',
      () => token === null && name.startsWith('^') && 'TICK (unresolvable ^id)',
      () => name.length > 250 && 'TICK (length)',
      () =>
        (COINS.includes(name.toUpperCase()) || (token === null && FUTURE_COINS.includes(name.toUpperCase()))) &&
        'TICK (reserved)',
      () => token === null && !isGas && !name.includes('.') && name.length < 4 && 'TICK (length)',
      () => maxSupply === null && 'MAX_SUPPLY (format)',
      () => maxMint === null && 'MAX_MINT (format)',
      () => mintSupply === null && 'MINT_SUPPLY (format)',
      () => get('CALLBACK_TICK') !== '' && callbackTick === null && 'CALLBACK_TICK (unknown)',
      () => callbackAmount === null && 'CALLBACK_AMOUNT (format)',
      () => callbackBlock === null && 'CALLBACK_BLOCK (format)',
      () => addressMax === null && 'MINT_ADDRESS_MAX (format)',
      () => mintStart === null && 'MINT_START_BLOCK (format)',
      () => mintStop === null && 'MINT_STOP_BLOCK (format)',
      ...LOCKS.map((lock) => () => !['', '0', '1'].includes(get(`LOCK_${lock}`)) && `LOCK_${lock} (format)`),
      this.sourceSleeps(doing),
      () => token !== null && token.owner !== source && 'issued by another address',
      () => token?.isHeld === true && 'TICK (ownership escrowed)',
      ...LOCKS.map((lock) => () => isLocked(lock) && get(`LOCK_${lock}`) === '0' && `LOCK_${lock} (locked)`),
      () => (maxSupply ?? 0n) > HIGHEST_CAP && 'MAX_SUPPLY (min/max)',
      () => (maxSupply ?? 0n) > 0n && maxSupply! < supply && 'MAX_SUPPLY < SUPPLY',
      () => get('LOCK_MAX_SUPPLY') === '1' && cap === 0n && 'LOCK_MAX_SUPPLY (no max supply)',
      () => (decimals === null || decimals > 18) && 'DECIMALS (min/max)',
      () => supply > 0n && decimals !== token!.decimals && 'DECIMALS (locked)',
      () => isBad(transfer) && 'TRANSFER (bad address)',
      () => isBad(transferSupply) && 'TRANSFER_SUPPLY (bad address)',
      () => isLocked('MINT_SUPPLY') && (mintSupply ?? 0n) > 0n && 'MINT_SUPPLY (locked)',
      () => isOver(mintSupply) && 'MINT_SUPPLY > MAX_SUPPLY',
      () => mintSupply !== undefined && isOver(mintSupply! + supply) && 'MINT_SUPPLY exceeds MAX_SUPPLY',
      () => isOver(addressMax) && 'MINT_ADDRESS_MAX > MAX_SUPPLY',
      () => {
        if (addressMax === undefined && maxMint === undefined) return false;
        const most = addressMax ?? token?.addressMax ?? 0n;
        return most > 0n && most < (maxMint ?? token?.maxMint ?? 0n) && 'MINT_ADDRESS_MAX < MAX_MINT';
      },
      () =>
        isLocked('MAX_SUPPLY') &&
        (differs(maxSupply, token!.maxSupply) || isRounded(token!.maxSupply)) &&
        'MAX_SUPPLY (locked)',
      () =>
        isLocked('MAX_MINT') && (differs(maxMint, token!.maxMint) || isRounded(token!.maxMint)) && 'MAX_MINT (locked)',
      () => points(get('DESCRIPTION')) > 249 && 'DESCRIPTION (length)',
      () =>
        isLocked('DESCRIPTION') &&
        get('DESCRIPTION') !== '' &&
        get('DESCRIPTION') !== token!.description &&
        'DESCRIPTION (locked)',
      ...terms.map(
        ([field, isChange]) =>
          () =>
            isLocked('CALLBACK') && isChange && (`${field} (locked)` as const)
      ),
      () =>
        token !== null && callbackBlock !== undefined && callbackBlock! < this.height && 'CALLBACK_BLOCK (block index)',
      ...terms.map(
        ([field, isChange]) =>
          () =>
            isChange && isDistributed() && (`${field} (supply distributed)` as const)
      ),
      () => isBadList('ALLOW_LIST') && 'ALLOW_LIST (bad list)',
      () => isBadList('BLOCK_LIST') && 'BLOCK_LIST (bad list)',
      ...(format === 6
        ? [
            () => get('CONTROLLER') !== '' && 'CONTROLLER (unknown)',
            () => token === null && 'TICK (unknown)',
            ...this.controllerTests(get)
          ]
        : []),
      () => isPast(mintStart) && 'MINT_START_BLOCK < BLOCK_INDEX',
      () => isPast(mintStop) && 'MINT_STOP_BLOCK < BLOCK_INDEX',
      () => {
        const stop = mintStop ?? token?.mintStop ?? 0;
        return stop > 0 && stop < (mintStart ?? token?.mintStart ?? 0) && 'MINT_STOP_BLOCK < MINT_START_BLOCK';
      },
      () => {
        return (
          token === null && !this.tickers.includes(name) && this.isTaken(name) && 'TICK (first 200 characters taken)'
        );
      },
      ...memoTests(get('MEMO')),
      this.pays(doing, () => {
        const isFree = token !== null || name.toLowerCase() === 'gas';
        return isFree ? 0 : this.rules.fees.gas[name.includes('.') ? 'issueSubtoken' : 'issue']!;
      })
    ] as Test[]);
    if (refusal === null) {
      const issued = token ?? this.newToken(name, source);
      const list = (field: string, stored: number) => (get(field) === '' ? stored : this.root(get(field)));
      const locks = Object.fromEntries(LOCKS.map((lock) => [lock, isLocked(lock) || get(`LOCK_${lock}`) === '1']));
      Object.assign(issued, {
        owner: transfer === '' ? issued.owner : transfer,
        decimals,
        maxSupply: capIn(maxSupply ?? issued.maxSupply, decimals!),
        maxMint: capIn(maxMint ?? issued.maxMint, decimals!),
        addressMax: capIn(addressMax ?? issued.addressMax, decimals!),
        description: get('DESCRIPTION') || issued.description,
        callbackBlock: callbackBlock ?? issued.callbackBlock,
        callbackTick: callbackTick ?? issued.callbackTick,
        callbackAmount: callbackAmount ?? issued.callbackAmount,
        mintStart: mintStart ?? issued.mintStart,
        mintStop: mintStop ?? issued.mintStop,
        allow: list('ALLOW_LIST', issued.allow),
        block: list('BLOCK_LIST', issued.block),
        locks
      });
      this.valid.set(doing.index, issued);
      if (mintSupply) {
        this.move(doing, 'credits', issued, source, mintSupply);
        if (transferSupply) this.transfer(doing, issued, source, transferSupply, mintSupply);
      }
    }
    this.name(get('CALLBACK_TICK'));
    this.name(name);
    this.meetIfAddress(transfer);
    this.meetIfAddress(transferSupply);
    return this.judge(doing, 'issues', refusal);
  }

  protected controllerTests(get: (name: string) => string): Test[] {
    return [
      () => !CLASSES.includes(get('ACTION_CLASS').toLowerCase()) && 'ACTION_CLASS (unknown)',
      () => get('UNBIND') === '1' && 'ACTION_CLASS (not bound)',
      () => get('CONTROLLER') === '' && 'CONTROLLER (null)'
    ];
  }

  protected newToken(tick: string, owner: string): Token {
    this.name(tick);
    const token: Token = {
      tick,
      key: tick.toLowerCase(),
      owner,
      decimals: 0,
      supply: 0n,
      maxSupply: 0n,
      maxMint: 0n,
      addressMax: 0n,
      description: '',
      callbackBlock: null,
      callbackTick: null,
      callbackAmount: null,
      allow: 0,
      block: 0,
      mintStart: 0,
      mintStop: 0,
      isHeld: false,
      locks: {}
    };
    this.tokens.push(token);
    return token;
  }

  protected mint(doing: Doing): boolean {
    const { source } = doing;
    const get = named('TICK AMOUNT DESTINATION MEMO', doing.fields);
    const token = this.tokenOf(get('TICK'));
    const amount = readAmount(get('AMOUNT'), token?.decimals ?? 18);
    const resolved = this.resolve(get('DESTINATION'));
    const to = resolved === source ? '' : resolved;
    const key = `${token?.tick} ${source}`;
    const minted = this.minted.get(key) ?? 0n;
    const refusal = firstOf([
      () => to === null && 'DESTINATION (unresolvable ^id)',
      () => token === null && 'TICK (unknown)',
      () => token!.locks['MINT'] === true && 'LOCK_MINT',
      () => amount === null && 'AMOUNT (format)',
      () => to !== '' && !this.isAddress(to!) && 'DESTINATION (format)',
      this.sourceSleeps(doing),
      this.tickSleeps(token),
      ...memoTests(get('MEMO')),
      () => token!.maxMint > 0n && amount! > token!.maxMint && 'AMOUNT > MAX_MINT',
      () => token!.supply + amount! > (token!.maxSupply || MOST_UNITS) && 'mint exceeds MAX_SUPPLY',
      () => this.isBarred(token!, source) && 'SOURCE (not authorized)',
      () => to !== '' && this.isBarred(token!, to!) && 'DESTINATION (not authorized)',
      () => token!.addressMax > 0n && minted + amount! > token!.addressMax && 'mint exceeds MINT_ADDRESS_MAX',
      () => this.height < token!.mintStart && 'MINT_START_BLOCK',
      () => token!.mintStop > 0 && this.height > token!.mintStop && 'MINT_STOP_BLOCK'
    ]);
    if (refusal === null) {
      this.move(doing, 'credits', token!, source, amount!);
      if (to) this.transfer(doing, token!, source, to, amount!);
      this.minted.set(key, minted + amount!);
    }
    this.meetIfAddress(to);
    this.name(get('TICK'));
    return this.judge(doing, 'mints', refusal);
  }

  protected send(doing: Doing): boolean {
    const { source, format, fields } = doing;
    const [first = '', ...others] = fields;
    const texts = {
      0: groups(fields.slice(0, 4), 4),
      1: groupsAndMemo(others, 2).map((group) => [first, ...group]),
      2: groupsAndMemo(fields, 3),
      3: groups(fields, 4)
    }[format]!;
    const legs: {
      tick: string;
      token: Token | null;
      key: string | null;
      amount: bigint | null;
      to: string;
      memo: string;
    }[] = [];
    for (const [tick, text, to, memo] of texts.length > 0 ? texts : [['', '', '', '']]) {
      const token = this.tokenOf(tick!);
      const amount = readAmount(text!, token?.decimals ?? 18);
      const key = amount === null ? null : `${(token?.tick ?? tick!).toLowerCase()} ${to}`;
      const same = legs.find((leg) => key !== null && leg.key === key);
      if (same) Object.assign(same, { amount: same.amount! + amount!, memo });
      else legs.push({ tick: tick!, token, key, amount, to: to!, memo: memo! });
    }
    const before = legs.map(({ token, to }) => (token === null ? 0n : this.balance(token, to)));
    const isHanded = (to: string) =>
      (doing.siblings ?? []).some((text) => {
        const { name, format, fields } = parse(text);
        return name === 'MESSAGE' && format === 2 && this.resolve(fields[1] ?? '') === to;
      });
    const verdicts = legs.map(({ tick, token, amount, to, memo }, place) => {
      const refusal = firstOf([
        () => token === null && 'TICK (unknown)',
        () => amount === null && 'AMOUNT (format)',
        () => !this.isAddress(to) && 'DESTINATION (format)',
        this.sourceSleeps(doing),
        this.tickSleeps(token),
        () => this.isBarred(token!, source) && 'SOURCE (not authorized)',
        () => this.isBarred(token!, to) && 'DESTINATION (not authorized)',
        ...memoTests(memo),
        () => memo === '' && this.preferences.get(to)?.requiresMemo === true && 'MEMO (required)',
        () => this.balance(token, source) < amount! && 'insufficient funds',
        () => {
          const gate = this.gates.get(token!);
          const opens = gate !== undefined && before[place]! + amount! >= gate;
          return opens && !isHanded(to) && 'gated token transfer requires key handoff message';
        }
      ]);
      if (refusal === null) {
        this.transfer(doing, token!, source, to, amount!);
        doing.next.push(() => this.dispense(source, to, token, amount!, NONE_ASKED, doing.txIndex));
      }
      this.name(tick);
      this.meetIfAddress(to);
      return this.judge(doing, 'sends', refusal);
    });
    return verdicts.includes(true);
  }

  protected destroy(doing: Doing): boolean {
    const { source, format, fields } = doing;
    const texts = [groups(fields.slice(0, 3), 3), groupsAndMemo(fields, 2), groups(fields, 3)][format]!;
    const legs: { tick: string; token: Token | null; key: string | null; amount: bigint | null; memo: string }[] = [];
    for (const [tick, text, memo] of texts.length > 0 ? texts : [['', '', '']]) {
      const token = this.tokenOf(tick!);
      const amount = readAmount(text!, token?.decimals ?? 18);
      const key = amount === null ? null : `${(token?.tick ?? tick!).toLowerCase()} ${memo}`;
      const same = legs.find((leg) => key !== null && leg.key === key);
      if (same) same.amount! += amount!;
      else legs.push({ tick: tick!, token, key, amount, memo: memo! });
    }
    const verdicts = legs.map(({ tick, token, amount, memo }) => {
      const refusal = firstOf([
        () => token === null && 'TICK (unknown)',
        () => amount === null && 'AMOUNT (format)',
        this.sourceSleeps(doing),
        this.tickSleeps(token),
        ...memoTests(memo),
        () => this.isBarred(token!, source) && 'SOURCE (not authorized)',
        () => this.balance(token, source) < amount! && 'insufficient funds'
      ]);
      if (refusal === null) this.move(doing, 'debits', token!, source, amount!);
      this.name(tick);
      return this.judge(doing, 'destroys', refusal);
    });
    return verdicts.includes(true);
  }
}
