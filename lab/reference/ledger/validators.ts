import { hasSigned, readMessage } from '../signatures.ts';
import {
  byBytes,
  CAPABILITIES,
  COINS,
  cut,
  E18,
  FIATS,
  firstOf,
  memoTests,
  min,
  named,
  points,
  readAmount,
  readWhole
} from './fields.ts';
import { Stakes } from './stakes.ts';
import type { Doing, Test } from './terms.ts';

const ENGINES: Record<string, string> = { price: 'oracle', attestation: 'attest', cross_chain: 'xchain' };

/** A count from 1 to 100. */
function readCount(text = ''): number | null {
  const count = readWhole(text);
  return count !== null && count >= 1 && count <= 100 ? count : null;
}

interface Signatures {
  count: number | null;
  sigs: { key: string; sig: string }[];
}

/** A count, then a key and a signature that many times. */
function readSignatures(fields: readonly string[], place: number): Signatures {
  const count = readCount(fields[place]);
  const sigs: { key: string; sig: string }[] = [];
  for (let at = place + 1; sigs.length < (count ?? 0); at += 2)
    sigs.push({ key: (fields[at] ?? '').toLowerCase(), sig: fields[at + 1] ?? '' });
  return { count, sigs };
}

function signatureTests({ count, sigs }: Signatures): Test[] {
  return [
    () => count === null && 'SIG_COUNT (format)',
    () => sigs.some(({ key }) => !/^[0-9a-f]{64}$/.test(key)) && 'PUBKEY (format)',
    () => sigs.some(({ sig }) => !/^[0-9a-f]{128}$/i.test(sig)) && 'SIG (format)'
  ];
}

/** The rules of actions that validators sign. */
export abstract class Validators extends Stakes {
  /** Nobody has asked. */
  protected attest(doing: Doing): boolean {
    const get = named('REQUEST_ID PROVIDER_ID RESPONSE_PAYLOAD STATUS META SIG_COUNT', doing.fields);
    const signed = readSignatures(doing.fields, 5);
    const refusal = firstOf([
      () => !/^[0-9a-f]{64}$/i.test(get('REQUEST_ID')) && 'REQUEST_ID (format)',
      () => !/^[A-Za-z0-9_.:-]{1,32}$/.test(get('PROVIDER_ID')) && 'PROVIDER_ID (format)',
      () => points(get('RESPONSE_PAYLOAD')) > 65_536 && 'RESPONSE_PAYLOAD (length)',
      () =>
        !['ok', 'timeout', 'no_quorum', 'provider_error'].includes(get('STATUS').toLowerCase()) && 'STATUS (format)',
      () => points(get('META')) > 256 && 'META (length)',
      ...signatureTests(signed),
      this.sourceSleeps(doing),
      () => 'REQUEST_ID (unknown)'
    ]);
    return this.judge(doing, 'attests', refusal);
  }

  protected priceRound(doing: Doing): boolean {
    const { source, fields } = doing;
    const [round, timestamp, height] = [0, 1, 2].map((place) => readWhole(fields[place] ?? ''));
    const pairCount = readCount(fields[3]);
    const pairs: { pair: string; price: string }[] = [];
    for (let at = 4; pairs.length < (pairCount ?? 0); at += 2)
      pairs.push({ pair: fields[at] ?? '', price: fields[at + 1] ?? '' });
    const { count, sigs } = readSignatures(fields, 4 + 2 * (pairCount ?? 0));
    const all = () => this.capable('price', height!);
    const signed = () => {
      const sorted = [...pairs].sort((a, b) => byBytes(a.pair, b.pair));
      const signedBytes = Buffer.from(JSON.stringify({ round, timestamp, btc_block_height: height, pairs: sorted }));
      const isSigner = (key: string) => {
        const own = sigs.findLast((one) => one.key === key);
        return own !== undefined && hasSigned(signedBytes, key, own.sig);
      };
      return all().filter(({ key }) => isSigner(key));
    };
    const weigh = (some: readonly { source: string; weight: bigint }[]) => {
      const most = new Map<string, bigint>();
      for (const { source, weight } of some) if (weight > (most.get(source) ?? 0n)) most.set(source, weight);
      return [...most.values()].reduce((sum, weight) => sum + weight, 0n);
    };
    const isPrice = (text: string) =>
      /^[0-9]{1,11}(\.[0-9]{1,8})?$/.test(text) &&
      readAmount(text, 8)! > 0n &&
      readAmount(text, 8)! <= 10n ** 10n * E18;
    const refusal = firstOf([
      () => round === null && 'ROUND (format)',
      () => timestamp === null && 'TIMESTAMP (format)',
      () => height === null && 'BTC_BLOCK_HEIGHT (format)',
      () => pairCount === null && 'PAIR_COUNT (format)',
      () =>
        (pairs.some(({ pair }) => !/^[A-Z0-9]{2,10}[/_-]?[A-Z]{3}$/.test(pair)) ||
          pairs.some(({ pair }, place) => pairs.findIndex((one) => one.pair === pair) !== place)) &&
        'PAIR (format)',
      () => pairs.some(({ price }) => !isPrice(price)) && 'PRICE (format)',
      ...signatureTests({ count, sigs }),
      this.sourceSleeps(doing),
      () => (height! > this.height || height! < this.height - 144) && 'BTC_BLOCK_HEIGHT (block index)',
      () => this.rounds.has(round!) && 'ROUND (already finalized)',
      () => this.stakedBy(source) < 500n * E18 && 'SOURCE (not qualified)',
      () => weigh(signed()) * 3n <= weigh(all()) * 2n && 'SIG (no quorum)'
    ]);
    if (refusal === null) {
      this.rounds.add(round!);
      const prices = new Map(pairs.map(({ pair, price }) => [pair, price]));
      this.prices.push({ round: round!, timestamp: timestamp!, prices });
      this.prices.sort((one, other) => other.round - one.round).splice(300);
      const earners = new Set(signed().map((one) => one.source));
      const share = cut((10n * E18) / BigInt(earners.size), 8);
      for (const earner of earners) this.unclaimed.set(earner, (this.unclaimed.get(earner) ?? 0n) + share);
    }
    return this.judge(doing, 'prices', refusal);
  }

  protected tokenPrice(doing: Doing): boolean {
    const get = named('COIN TICK FIAT VALUE FEE MEMO', doing.fields);
    const value = readAmount(get('VALUE'), 8);
    const refusal = firstOf([
      () => !COINS.includes(get('COIN').toUpperCase()) && 'COIN (unsupported)',
      () => (get('TICK') === '' || get('TICK').length > 250) && 'TICK (format)',
      () => !FIATS.includes(get('FIAT').toUpperCase()) && 'FIAT (unsupported)',
      () => !value && 'VALUE (format)',
      () => get('FEE') !== '' && (readAmount(get('FEE'), 18) ?? 2n * E18) > E18 && 'FEE (format)',
      this.sourceSleeps(doing),
      ...memoTests(get('MEMO'))
    ]);
    this.name(get('TICK'));
    return this.judge(doing, 'prices', refusal);
  }

  protected slash(doing: Doing): boolean {
    const get = named('CAPABILITY OFFENDER_PUBKEY MSG_A SIG_A MSG_B SIG_B', doing.fields);
    const capability = get('CAPABILITY').toLowerCase();
    const key = get('OFFENDER_PUBKEY').toLowerCase();
    const [a, b] = [readMessage(get('MSG_A')), readMessage(get('MSG_B'))];
    const isHex = (field: string) => /^[0-9a-f]{128}$/i.test(get(field));
    const had = (height: number) =>
      height <= this.height && this.capable(capability, height).some((one) => one.key === key);
    const refusal = firstOf([
      () => !Object.keys(CAPABILITIES).includes(capability) && 'CAPABILITY (unknown)',
      () => !/^[0-9a-f]{64}$/.test(key) && 'OFFENDER_PUBKEY (format)',
      () => a === null && 'MSG_A (format)',
      () => !isHex('SIG_A') && 'SIG_A (format)',
      () => b === null && 'MSG_B (format)',
      () => !isHex('SIG_B') && 'SIG_B (format)',
      this.sourceSleeps(doing),
      () => ENGINES[capability] !== a!.engine && 'ENGINE_TAG (not slashable)',
      () => a!.slot !== b!.slot && 'MSG_B (other slot)',
      () => a!.content === b!.content && 'MSG_B (same content)',
      () => this.barred.has(key) && 'OFFENDER_PUBKEY (already slashed)',
      () => (!had(a!.height) || !had(b!.height)) && 'OFFENDER_PUBKEY (not in snapshot)',
      () => !hasSigned(a!.bytes, key, get('SIG_A')) && 'SIG_A (not signed)',
      () => !hasSigned(b!.bytes, key, get('SIG_B')) && 'SIG_B (not signed)'
    ]);
    if (refusal === null) this.takeBond(doing, key, [a!.height, b!.height]);
    return this.judge(doing, 'capability_slash_events', refusal);
  }

  /** Takes what stands behind a key, and bars it. */
  protected takeBond(doing: Doing, key: string, slots: readonly number[]): void {
    const delegations = this.delegations.filter(
      (one) => one.key === key && slots.some((slot) => this.counts(one, slot))
    );
    const isLost = (one: { key: string; source: string }) =>
      one.key === key || delegations.some(({ source }) => source === one.source);
    let taken = 0n;
    const take = (source: string, amount: bigint) => {
      taken += amount;
      if (amount > 0n) this.move(doing, 'escrows', this.gas!, source, -amount);
    };
    for (const one of this.stakes.filter(isLost)) {
      if (one.to !== null && one.to <= this.height) continue;
      if (one.to === null) take(one.source, one.amount);
      one.amount = 0n;
    }
    for (const one of this.cooling.filter(isLost)) take(one.source, one.amount);
    this.cooling = this.cooling.filter((one) => !isLost(one));
    this.barred.add(key);
    if (taken === 0n) return;
    let bounty = cut(taken / 20n, 8);
    if (bounty < 50n * E18) bounty = 50n * E18;
    bounty = min(min(bounty, 1_000n * E18), taken);
    this.move(doing, 'credits', this.gas!, doing.source, bounty);
    const pool = this.rules.rewardPool;
    if (pool !== undefined && taken > bounty) this.move(doing, 'credits', this.gas!, pool, taken - bounty);
  }
}
