import { createHash } from 'node:crypto';

/*
 * MINT, SEND and DESTROY as docs/actions.md tells them, slow and plain. It shares no code with the indexer: whoever changes one of
 * them reads the text again, never the other.
 */

/** A token that stands before the first block, and what everybody holds of it. */
export interface ReferenceToken {
  readonly tick: string;
  readonly decimals: number;
  readonly holdings: Readonly<Record<string, string>>;
}

/** Verdicts of a block's rows in their order, and its hashes. */
export interface ReferenceBlock {
  readonly verdicts: readonly string[];
  readonly ledger: string;
  readonly actions: string;
}

type Row = { action_index: number; address: string; tick: string; amount: string };
type Leg = { tick: string; amount: string; to: string; memo: string };

const E18 = 10n ** 18n;
const LARGEST = 10n ** 21n * E18;

/** An amount in 10^-18 units; null for what is badly formed for a token of so many places. */
function read(text: string, decimals: number): bigint | null {
  if (!/^[0-9]+(\.[0-9]+)?$/.test(text)) return null;
  const [whole = '', places = ''] = text.split('.');
  if (places.length > decimals) return null;
  return BigInt(whole) * E18 + BigInt(places.padEnd(18, '0'));
}

function write(amount: bigint): string {
  const places = String(amount % E18).padStart(18, '0');
  return `${amount / E18}.${places}`.replace(/\.?0+$/, '');
}

function digest(value: object): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}

const compare = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** The ledger that a reader of the documentation would keep. Addresses are single capital letters. */
export class ReferenceLedger {
  readonly #decimals = new Map<string, number>();
  readonly #balances = new Map<string, bigint>();
  #action = 0;
  #transaction = 0;
  #previous: ReferenceBlock | undefined;

  constructor(tokens: readonly ReferenceToken[]) {
    for (const { tick, decimals, holdings } of tokens) {
      this.#decimals.set(tick, decimals);
      for (const [address, amount] of Object.entries(holdings)) this.#add(tick, address, read(amount, decimals)!);
    }
  }

  balance(tick: string, address: string): string {
    return write(this.#balances.get(`${tick}|${address}`) ?? 0n);
  }

  /** One transaction for each text. */
  run(height: number, texts: readonly (readonly [source: string, text: string])[]): ReferenceBlock {
    const verdicts: string[] = [];
    const actions: object[] = [];
    const moved: Record<'credits' | 'debits', Row[]> = { credits: [], debits: [] };
    for (const [source, text] of texts) {
      this.#action += 1;
      this.#transaction += 1;
      const [action = '', version = '', ...fields] = text.split('|');
      actions.push({ action_index: this.#action, tx_index: this.#transaction, action });
      for (const leg of this.#legs(action, Number(version), fields, source)) {
        const verdict = this.#judge(action, leg, source);
        verdicts.push(verdict === null ? 'valid' : `invalid: ${verdict}`);
        if (verdict !== null) continue;
        const amount = read(leg.amount, this.#decimals.get(leg.tick)!)!;
        const note = (kind: 'credits' | 'debits', address: string) => {
          this.#add(leg.tick, address, kind === 'credits' ? amount : -amount);
          const same = moved[kind].find(
            (row) => row.action_index === this.#action && row.address === address && row.tick === leg.tick
          );
          if (same) same.amount = write(read(same.amount, 18)! + amount);
          else moved[kind].push({ action_index: this.#action, address, tick: leg.tick, amount: write(amount) });
        };
        if (action === 'MINT') note('credits', source);
        if (action !== 'MINT' || leg.to !== '') note('debits', source);
        if (leg.to !== '') note('credits', leg.to);
      }
    }
    const last = this.#previous;
    const chained = (hash: string | undefined) => ({
      block_index: height,
      ...(hash === undefined ? {} : { previous_hash: hash }),
      hash_version: 1
    });
    const sorted = (rows: Row[]) =>
      rows.sort((a, b) => a.action_index - b.action_index || compare(a.address, b.address) || compare(a.tick, b.tick));
    const ledger = { credits: sorted(moved.credits), debits: sorted(moved.debits), escrows: [] };
    this.#previous = {
      verdicts,
      ledger: digest({ ...ledger, ...chained(last?.ledger) }),
      actions: digest({ ...actions, ...chained(last?.actions) })
    };
    return this.#previous;
  }

  #add(tick: string, address: string, amount: bigint): void {
    const key = `${tick}|${address}`;
    this.#balances.set(key, (this.#balances.get(key) ?? 0n) + amount);
  }

  #supply(tick: string): bigint {
    return [...this.#balances].reduce((sum, [key, held]) => (key.startsWith(`${tick}|`) ? sum + held : sum), 0n);
  }

  #judge(action: string, leg: Leg, source: string): string | null {
    const decimals = this.#decimals.get(leg.tick);
    if (decimals === undefined) return 'TICK (unknown)';
    const amount = read(leg.amount, decimals);
    if (amount === null) return 'AMOUNT (format)';
    if (action !== 'DESTROY' && (action === 'SEND' || leg.to !== '') && !/^[A-Z]$/.test(leg.to))
      return 'DESTINATION (format)';
    if (leg.memo.includes(';')) return 'MEMO (semicolon)';
    if (leg.memo.length > 250) return 'MEMO (length)';
    if (action === 'MINT') return this.#supply(leg.tick) + amount > LARGEST ? 'mint exceeds MAX_SUPPLY' : null;
    return (this.#balances.get(`${leg.tick}|${source}`) ?? 0n) < amount ? 'insufficient funds' : null;
  }

  /** The parts of a text. Parts of a SEND are joined by ticker and destination, those of a DESTROY by ticker and memo. */
  #legs(action: string, version: number, fields: readonly string[], source: string): Leg[] {
    const field = (place: number) => fields[place] ?? '';
    if (action === 'MINT')
      return [{ tick: field(0), amount: field(1), to: field(2) === source ? '' : field(2), memo: field(3) }];
    const names = action === 'SEND' ? ['tick', 'amount', 'to'] : ['tick', 'amount'];
    const size = names.length;
    const legs: Leg[] = [];
    if (version === 0)
      legs.push({ tick: field(0), amount: field(1), to: size === 3 ? field(2) : '', memo: field(size) });
    else {
      const isOneTick = action === 'SEND' && version === 1;
      const hasMemos = version === (action === 'SEND' ? 3 : 2);
      const step = (isOneTick ? 2 : size) + Number(hasMemos);
      const groups = fields.slice(Number(isOneTick));
      const memo = groups.length % step === 1 && !hasMemos ? groups.at(-1)! : '';
      for (let at = 0; at + (hasMemos ? 0 : step - 1) < groups.length; at += step) {
        const [tick = '', amount = '', third = '', fourth = ''] = [
          ...(isOneTick ? [field(0)] : []),
          ...groups.slice(at, at + step)
        ];
        legs.push({ tick, amount, to: size === 3 ? third : '', memo: hasMemos ? (size === 3 ? fourth : third) : memo });
      }
    }
    return this.#merged(legs, action === 'DESTROY');
  }

  #merged(legs: readonly Leg[], isByMemo: boolean): Leg[] {
    const kept: Leg[] = [];
    for (const leg of legs) {
      const decimals = this.#decimals.get(leg.tick) ?? 18;
      const amount = read(leg.amount, decimals);
      const same = kept.find(
        (one) =>
          one.tick === leg.tick &&
          one.to === leg.to &&
          (!isByMemo || one.memo === leg.memo) &&
          read(one.amount, decimals) !== null
      );
      if (amount === null || !same) kept.push({ ...leg });
      else Object.assign(same, { amount: write(read(same.amount, decimals)! + amount), memo: leg.memo });
    }
    return kept;
  }
}
