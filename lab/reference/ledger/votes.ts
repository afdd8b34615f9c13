import { E18, firstOf, memoTests, named, points, readAmount, readWhole } from './fields.ts';
import type { Doing, Poll } from './terms.ts';
import { Validators } from './validators.ts';

const POLL_FIELDS =
  'TICK END_BLOCK OPTIONS MAX_SELECTIONS TALLY_MODE WEIGHT_MODE QUORUM MIN_VOTERS MIN_VOTE_BALANCE DECIDE_THRESHOLD QUESTION DEPOSIT CALLBACK_CONTRACT';

/** A square root cut down to a whole number, digit by digit. */
function rootOf(square: bigint): bigint {
  let root = 0n;
  for (let step = 10n ** BigInt(Math.ceil(String(square).length / 2)); step > 0n; step /= 10n)
    while ((root + step) * (root + step) <= square) root += step;
  return root;
}

/** The rules of VOTE. */
export abstract class Votes extends Validators {
  protected poll(doing: Doing): boolean {
    const { source, index } = doing;
    const get = named(POLL_FIELDS, doing.fields);
    const token = this.tokenOf(get('TICK'));
    const end = readWhole(get('END_BLOCK'));
    const options = get('OPTIONS')
      .split(',')
      .map((text) => text.trim());
    const areOptions =
      options.length >= 2 &&
      options.length <= 32 &&
      new Set(options).size === options.length &&
      options.every((text) => points(text) >= 1 && points(text) <= 64);
    const most = get('MAX_SELECTIONS') === '' ? 1 : readWhole(get('MAX_SELECTIONS'));
    const tally = get('TALLY_MODE').toLowerCase() || 'approval';
    const weighing = get('WEIGHT_MODE').toLowerCase() || 'balance';
    const given = (field: string, places: number) => (get(field) === '' ? 0n : readAmount(get(field), places));
    const quorum = given('QUORUM', 18);
    const minVoters = get('MIN_VOTERS') === '' ? 0 : readWhole(get('MIN_VOTERS'));
    const minBalance = given('MIN_VOTE_BALANCE', token?.decimals ?? 18);
    const threshold = given('DECIDE_THRESHOLD', 18);
    const deposit = given('DEPOSIT', 8);
    const refusal = firstOf([
      this.sourceSleeps(doing),
      () => get('TICK') === '' && 'TICK (missing)',
      () => token === null && 'TICK (unknown)',
      () => this.balance(token, source) === 0n && 'SOURCE (must hold TICK to create poll)',
      () => (end === null || end <= this.height) && 'END_BLOCK (must be a future block)',
      () => end! > this.height + 105_120 && 'END_BLOCK (too far)',
      () => options.length < 2 && 'OPTIONS (need at least 2)',
      () => !areOptions && 'OPTIONS (format)',
      () => (most === null || most < 1 || most > options.length) && 'MAX_SELECTIONS (range)',
      () => !['approval', 'split'].includes(tally) && 'TALLY_MODE (value)',
      () => !['balance', 'stake', 'flat', 'quadratic'].includes(weighing) && 'WEIGHT_MODE (value)',
      () => weighing === 'quadratic' && !minBalance && 'quadratic WEIGHT_MODE requires MIN_VOTE_BALANCE > 0',
      () => (quorum === null || quorum > E18) && 'QUORUM (fraction 0-1)',
      () => minVoters === null && 'MIN_VOTERS (non-negative integer)',
      () => minBalance === null && 'MIN_VOTE_BALANCE (non-negative amount)',
      () => (threshold === null || threshold > E18) && 'DECIDE_THRESHOLD (fraction 0-1)',
      () => points(get('QUESTION')) > 1_000 && 'QUESTION (length)',
      () => deposit === null && 'DEPOSIT (non-negative amount)',
      () => get('CALLBACK_CONTRACT') !== '' && 'CALLBACK_CONTRACT (unknown)',
      () => this.balance(this.gas, source) < deposit! && 'insufficient funds (DEPOSIT)'
    ]);
    if (refusal === null) {
      if (deposit! > 0n) {
        this.move(doing, 'debits', this.gas!, source, deposit!);
        this.move(doing, 'escrows', this.gas!, source, deposit!);
      }
      this.polls.push({
        index,
        source,
        token: token!,
        end: end!,
        options: options.length,
        most: most!,
        weighing,
        isSplit: tally === 'split',
        quorum: quorum!,
        minVoters: minVoters!,
        minBalance: minBalance!,
        threshold: threshold! || null,
        deposit: deposit!,
        isOpen: true,
        ballots: new Map(),
        block: 0
      });
    }
    this.name(get('TICK'));
    return this.judge(doing, 'polls', refusal);
  }

  protected ballot(doing: Doing): boolean {
    const { source } = doing;
    const get = named('POLL_REF BALLOT MEMO', doing.fields);
    const number = readWhole(get('POLL_REF'));
    const poll = this.polls.find(({ index }) => index === number);
    const parts = get('BALLOT')
      .split(',')
      .map((part) => {
        const [option = '', ...rest] = part.trim().split(':');
        const share = rest.length === 0 ? '1' : rest.join(':').trim();
        const isOption = /^[0-9]{1,2}$/.test(option) && (rest.length === 0 || poll?.isSplit === true);
        return { option: isOption ? Number(option) : 99, share: /^[0-9]{1,7}$/.test(share) ? Number(share) : 0 };
      });
    const ballotTests = [
      () => get('BALLOT') === '' && 'BALLOT (empty)',
      () => parts.length > poll!.most && 'BALLOT (exceeds MAX_SELECTIONS)',
      () => parts.some(({ option }) => option >= poll!.options) && 'BALLOT (option index out of range)',
      () => new Set(parts.map(({ option }) => option)).size < parts.length && 'BALLOT (duplicate option)',
      () => parts.some(({ share }) => share === 0 || share > 1_000_000) && 'BALLOT (share must be > 0 in split mode)'
    ];
    const refusal = firstOf([
      this.sourceSleeps(doing),
      () => number === null && 'POLL_REF (format)',
      () => !poll && 'POLL_REF (unknown poll)',
      () => !poll!.isOpen && 'poll closed',
      () => this.balance(poll!.token, source) === 0n && 'SOURCE (must hold TICK to vote)',
      ...ballotTests,
      ...memoTests(get('MEMO'))
    ]);
    if (refusal === null) {
      poll!.ballots.set(source, parts);
      poll!.block = this.height;
    }
    const rows = poll && firstOf(ballotTests) === null ? parts.length : 1;
    for (let row = 0; row < rows; row++) this.judge(doing, 'votes', refusal);
    return refusal === null;
  }

  protected proxy(doing: Doing): boolean {
    const { source } = doing;
    const get = named('TICK DELEGATE_TO MEMO', doing.fields);
    const token = this.tokenOf(get('TICK'));
    const to = this.resolve(get('DELEGATE_TO'));
    const isEnd = to === '' || to === source;
    const refusal = firstOf([
      () => to === null && 'DELEGATE_TO (unresolvable ^id)',
      () => token === null && 'TICK (unknown)',
      () => !isEnd && !this.isAddress(to!) && 'DELEGATE_TO (format)',
      this.sourceSleeps(doing),
      ...memoTests(get('MEMO'))
    ]);
    if (refusal === null) {
      const proxies = this.proxies.get(token!) ?? new Map<string, string>();
      this.proxies.set(token!, proxies);
      if (isEnd) proxies.delete(source);
      else proxies.set(source, to!);
    }
    this.meetIfAddress(to);
    this.name(get('TICK'));
    return this.judge(doing, 'vote_delegations', refusal);
  }

  protected voteOf({ token, minBalance }: Poll, holder: string, weighing: string): bigint {
    const held = this.balance(token, holder);
    if (held === 0n || held < minBalance) return 0n;
    if (weighing === 'flat') return E18;
    if (weighing === 'stake') return this.stakedBy(holder);
    return weighing === 'balance' ? held : rootOf(held * E18);
  }

  protected countVotes(poll: Poll, weighing: string): { options: bigint[]; all: bigint; voters: number } {
    const options = Array.from({ length: poll.options }, () => 0n);
    let [all, voters] = [0n, 0];
    for (const [voter, choices] of poll.ballots) {
      let weight = this.voteOf(poll, voter, weighing);
      for (const [from, to] of this.proxies.get(poll.token) ?? [])
        if (to === voter && !poll.ballots.has(from)) weight += this.voteOf(poll, from, weighing);
      if (weight === 0n) continue;
      all += weight;
      voters += 1;
      const shares = BigInt(choices.reduce((sum, { share }) => sum + share, 0));
      for (const { option, share } of choices)
        options[option]! += poll.isSplit ? (weight * BigInt(share)) / shares : weight;
    }
    return { options, all, voters };
  }

  protected maybeClose(poll: Poll): void {
    const isEnd = poll.end <= this.height;
    if (!isEnd && (poll.threshold === null || poll.block !== this.height)) return;
    const { options, all, voters } = this.countVotes(poll, poll.weighing);
    const held = this.countVotes(poll, 'balance');
    const isShare = (amount: bigint, share: bigint) => amount * E18 >= share * poll.token.supply;
    const leader = options.indexOf(options.reduce((best, weight) => (weight > best ? weight : best), 0n));
    const isGood = all > 0n && isShare(held.all, poll.quorum) && voters >= poll.minVoters;
    if (!isEnd && !(isGood && isShare(held.options[leader]!, poll.threshold!))) return;
    const doing = this.system('VOTE', poll.source);
    for (const _ of options) this.note(doing.index, 'poll_results', 'valid');
    poll.isOpen = false;
    if (poll.deposit === 0n) return;
    this.move(doing, 'escrows', this.gas!, poll.source, -poll.deposit);
    const to = isGood ? poll.source : this.rules.rewardPool;
    if (to !== undefined) this.move(doing, 'credits', this.gas!, to, poll.deposit);
  }
}
