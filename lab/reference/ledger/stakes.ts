import { CAPABILITIES, E18, firstOf, named, readAmount } from './fields.ts';
import { Shares } from './many.ts';
import type { Doing, Stake, Test } from './terms.ts';

/** The rules of STAKE, UNSTAKE, DELEGATE and COLLECT. */
export abstract class Stakes extends Shares {
  protected keyTests(text: string): Test[] {
    return [
      () => text === '' && 'SIGNING_PUBKEY (required)',
      () => !/^[0-9a-f]{64}$/i.test(text) && 'SIGNING_PUBKEY (format)'
    ];
  }

  /** Stakes of a key that count and have no end. */
  protected open(key: string): Stake[] {
    if (this.barred.has(key)) return [];
    return this.stakes.filter((one) => one.key === key && one.from <= this.height && one.to === null);
  }

  protected isStaked(key: string): boolean {
    const isOpen = this.stakes.some((one) => one.key === key && one.to === null);
    const cools = this.cooling.some((one) => one.key === key && one.block > this.height);
    return isOpen || cools || this.revoked.has(key) || this.barred.has(key);
  }

  protected isDelegated(key: string): boolean {
    return this.delegations.some((one) => one.key === key && (one.to === null || one.to > this.height));
  }

  protected counts({ from, to }: { from: number; to: number | null }, height = this.height): boolean {
    return from <= height && (to === null || to > height);
  }

  protected stakedBy(source: string, height = this.height): bigint {
    const own = this.stakes.filter((one) => one.source === source && this.counts(one, height));
    return own.reduce((sum, { amount }) => sum + amount, 0n);
  }

  protected hasStake(source: string): boolean {
    return this.stakedBy(source) > 0n;
  }

  /** Returns the staker behind a key in a block, with the weight; null where there is none. */
  protected behind(key: string, height: number): { key: string; source: string; weight: bigint } | null {
    if (this.barred.has(key)) return null;
    const delegation = this.delegations.find((one) => one.key === key && this.counts(one, height));
    if (delegation) return { key, source: delegation.source, weight: this.stakedBy(delegation.source, height) };
    const own = this.stakes.filter((one) => one.key === key && this.counts(one, height));
    if (own.length === 0 || (this.revoked.get(key) ?? Infinity) <= height) return null;
    return { key, source: own[0]!.source, weight: own.reduce((sum, { amount }) => sum + amount, 0n) };
  }

  /** The keys of a capability in a block. */
  protected capable(capability: string, height: number) {
    const keys = new Set([...this.stakes, ...this.delegations].map(({ key }) => key));
    return [...keys]
      .sort()
      .flatMap((key) => this.behind(key, height) ?? [])
      .filter(({ weight }) => weight >= CAPABILITIES[capability]! * E18);
  }

  protected stake(doing: Doing): boolean {
    const { source } = doing;
    const get = named('AMOUNT SIGNING_PUBKEY', doing.fields);
    const amount = readAmount(get('AMOUNT'), 8);
    const key = get('SIGNING_PUBKEY').toLowerCase();
    const isNew = doing.format === 1;
    const refusal = firstOf([
      () => amount === null && 'AMOUNT (format)',
      () => amount === 0n && 'AMOUNT (must be greater than 0)',
      ...this.keyTests(get('SIGNING_PUBKEY')),
      () => isNew && this.isStaked(key) && 'SIGNING_PUBKEY (already in use)',
      () => isNew && this.isDelegated(key) && 'SIGNING_PUBKEY (already delegated)',
      () => !isNew && this.open(key).length === 0 && 'SIGNING_PUBKEY (no active stake to top up)',
      () => !isNew && this.open(key).some((one) => one.source !== source) && 'SOURCE (does not own this stake)',
      () => this.balance(this.gas, source) < amount! && 'insufficient funds (STAKE)',
      this.sourceSleeps(doing)
    ]);
    if (refusal === null) {
      this.move(doing, 'debits', this.gas!, source, amount!);
      this.move(doing, 'escrows', this.gas!, source, amount!);
      this.stakes.push({ key, source, amount: amount!, from: this.height + this.rules.stakeDelay, to: null });
    }
    return this.judge(doing, 'stakes', refusal);
  }

  protected unstake(doing: Doing): boolean {
    const { source, index } = doing;
    const get = named('SIGNING_PUBKEY AMOUNT', doing.fields);
    const key = get('SIGNING_PUBKEY').toLowerCase();
    const open = this.open(key);
    const all = open.reduce((sum, one) => sum + one.amount, 0n);
    const amount = get('AMOUNT') === '' ? all : readAmount(get('AMOUNT'), 8);
    const refusal = firstOf([
      ...this.keyTests(get('SIGNING_PUBKEY')),
      () => open.length === 0 && 'SIGNING_PUBKEY (no active stake or unstake already in progress)',
      () => open[0]!.source !== source && 'SOURCE (does not own this stake)',
      this.sourceSleeps(doing),
      () => amount === null && 'AMOUNT (format)',
      () => amount === 0n && 'AMOUNT (must be greater than 0)',
      () => amount! > all && 'AMOUNT (exceeds active stake)'
    ]);
    if (refusal === null) {
      const to = this.height + this.rules.stakeDelay;
      for (const one of open) one.to = to;
      if (amount! < all) {
        this.stakes.push({ key, source, amount: all - amount!, from: to, to: null });
        this.note(index, 'stakes', 'valid');
      }
      const block = this.height + this.rules.unstakeCooldown;
      this.cooling.push({ index, key, source, amount: amount!, block });
    }
    return this.judge(doing, 'unstakes', refusal);
  }

  protected delegate(doing: Doing): boolean {
    const { source, index } = doing;
    const [text = ''] = doing.fields;
    const key = text.toLowerCase();
    const isRevoke = doing.format === 2;
    const isOwn = (one: Omit<Stake, 'amount'>) =>
      one.key === key && one.source === source && (one.to === null || one.to > this.height);
    const own = this.delegations.findLast(isOwn);
    const refusal = firstOf([
      ...this.keyTests(text),
      () => !isRevoke && !this.hasStake(source) && 'no active stake',
      () => !isRevoke && (this.isStaked(key) || this.isDelegated(key)) && 'SIGNING_PUBKEY (already in use)',
      () => isRevoke && !own && !this.stakes.some(isOwn) && 'no active delegation or stake key for pubkey',
      () => isRevoke && (own ? own.to !== null : this.revoked.has(key)) && 'SIGNING_PUBKEY (already revoked)',
      this.sourceSleeps(doing)
    ]);
    if (refusal === null) {
      const block = this.height + this.rules.stakeDelay;
      if (!isRevoke) this.delegations.push({ key, source, from: block, to: null });
      else if (own) own.to = block;
      else {
        this.revoked.set(key, block);
        this.note(index, 'stake_key_revocations', 'valid');
      }
    }
    return this.judge(doing, 'delegations', refusal);
  }

  protected collect(doing: Doing): boolean {
    const { source } = doing;
    const [text = ''] = doing.fields;
    const unclaimed = this.unclaimed.get(source) ?? 0n;
    const amount = text === '' ? unclaimed : readAmount(text, 8);
    const pool = this.rules.rewardPool;
    const refusal = firstOf([
      () => !this.hasStake(source) && 'no active stake',
      this.sourceSleeps(doing),
      () => unclaimed === 0n && 'no unclaimed rewards',
      () => amount === null && 'AMOUNT (format)',
      () => amount === 0n && 'AMOUNT (must be greater than 0)',
      () => amount! > unclaimed && 'AMOUNT (exceeds unclaimed rewards)',
      () => (pool === undefined || this.balance(this.gas, pool) < amount!) && 'insufficient reward pool'
    ]);
    if (refusal === null) {
      this.unclaimed.set(source, unclaimed - amount!);
      this.transfer(doing, this.gas!, pool!, source, amount!);
    }
    return this.judge(doing, 'reward_claims', refusal);
  }
}
