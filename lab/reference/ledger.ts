import { createHash } from 'node:crypto';
import { ALIASES, byBytes, firstOf, min, NONE_ASKED, parse, readWhole, writeAmount } from './ledger/fields.ts';
import type { Doing, Movement, ReferenceInput, ReferenceOutput, ReferenceTransaction } from './ledger/terms.ts';
import { Votes } from './ledger/votes.ts';

/*
 * The ledger as docs/actions.md tells it, slow and plain. It shares no code with the indexer. Change it from the
 * document, never from the indexer. Amounts are counts of 10^-18.
 */

/** Every action of the wire. */
const WIRE =
  'ADDRESS AIRDROP ANCHOR ATTEST BATCH BET BROADCAST CALLBACK COINPAY COLLECT DELEGATE DEPLOY DEPOSIT DESTROY DISPENSER DIVIDEND EXECUTE FILE ISSUE LINK LIST MESSAGE MINT NODEPROOF ORDER PRICE ROLLCALL SEND SLASH SLEEP STAKE SWAP SWEEP UNSTAKE VOTE WITHDRAW XBRIDGE XCALL'.split(
    ' '
  );

/** The actions that this file knows, with their tables and formats. */
const KNOWN: Record<string, { table: string; formats: number[] }> = {
  ADDRESS: { table: 'addresses', formats: [0, 1] },
  AIRDROP: { table: 'airdrops', formats: [0, 1, 2, 3] },
  ATTEST: { table: 'attests', formats: [1] },
  BATCH: { table: 'batches', formats: [0] },
  BROADCAST: { table: 'broadcasts', formats: [0, 1, 2, 3] },
  CALLBACK: { table: 'callbacks', formats: [0] },
  COINPAY: { table: '', formats: [0] },
  COLLECT: { table: 'reward_claims', formats: [0] },
  DELEGATE: { table: 'delegations', formats: [0, 2] },
  DESTROY: { table: 'destroys', formats: [0, 1, 2] },
  DISPENSER: { table: 'dispensers', formats: [0, 1, 2] },
  DIVIDEND: { table: 'dividends', formats: [0] },
  FILE: { table: 'files', formats: [0] },
  ISSUE: { table: 'issues', formats: [0, 1, 2, 3, 4, 5, 6] },
  LINK: { table: 'links', formats: [0] },
  LIST: { table: 'lists', formats: [0, 1, 3] },
  MESSAGE: { table: 'messages', formats: [0, 1, 2, 3] },
  MINT: { table: 'mints', formats: [0] },
  ORDER: { table: 'orders', formats: [0, 1, 2] },
  PRICE: { table: 'prices', formats: [0, 1] },
  SEND: { table: 'sends', formats: [0, 1, 2, 3] },
  SLASH: { table: 'capability_slash_events', formats: [0] },
  SLEEP: { table: 'sleeps', formats: [0, 1] },
  STAKE: { table: 'stakes', formats: [1, 2] },
  SWAP: { table: 'swaps', formats: [0, 1, 2] },
  SWEEP: { table: 'sweeps', formats: [0] },
  UNSTAKE: { table: 'unstakes', formats: [0] },
  VOTE: { table: 'polls', formats: [0, 1, 3] }
};

/** Formats that the document names and that are not built. */
const NOT_BUILT: Record<string, number[]> = {
  ATTEST: [0, 3, 4, 5],
  DELEGATE: [1, 3],
  ISSUE: [7],
  LIST: [2, 4, 5],
  PRICE: [2],
  STAKE: [3],
  UNSTAKE: [1]
};

/** The actions that this file knows. */
export const REFERENCE_ACTIONS: ReadonlySet<string> = new Set(Object.keys(KNOWN));

/** The ledger that a reader of the document would keep. */
export class ReferenceLedger extends Votes {
  run({ height, time, transactions }: ReferenceInput): ReferenceOutput {
    this.times.push(time);
    const times = this.times.slice(-11).sort((a, b) => a - b);
    this.height = height;
    this.time = times[Math.floor(times.length / 2)]!;
    this.knownAddresses = this.addresses.length;
    this.verdicts = [];
    this.fees = [];
    this.actions = [];
    this.moved = { debits: [], credits: [], escrows: [] };
    for (const transaction of transactions) this.transaction(transaction);
    this.endBlock();
    const position = (previous: string | undefined) => ({
      block_index: height,
      ...(previous === undefined ? {} : { previous_hash: previous }),
      hash_version: 1
    });
    const rows = (movement: Movement) =>
      [...this.moved[movement]]
        .sort((a, b) => a.action_index - b.action_index || byBytes(a.address, b.address) || byBytes(a.tick, b.tick))
        .map((row) => ({ ...row, amount: writeAmount(row.amount) }));
    const moved = { credits: rows('credits'), debits: rows('debits'), escrows: rows('escrows') };
    const digest = (value: object) => createHash('sha256').update(JSON.stringify(value)).digest('hex');
    const sorted = [...this.actions].sort((a, b) => a.action_index - b.action_index);
    this.previous = {
      verdicts: this.verdicts,
      movements: [
        ...Object.entries(moved).flatMap(([name, all]) =>
          all.map(({ action_index, address, tick, amount }) => `${name} ${action_index} ${address} ${tick} ${amount}`)
        ),
        ...this.fees
      ],
      ledger: digest({ ...moved, ...position(this.previous?.ledger) }),
      actions: digest({ ...sorted, ...position(this.previous?.actions) })
    };
    return this.previous;
  }

  /** Returns an address's holding. */
  held(tick: string, address: string): bigint {
    return this.balance(this.tokenOf(tick), address);
  }

  /** Owner and supply of a token; null for none. */
  token(tick: string): { readonly owner: string; readonly supply: bigint } | null {
    return this.tokenOf(tick);
  }

  /** All that anybody holds. */
  get holdings(): { readonly tick: string; readonly address: string; readonly amount: bigint }[] {
    return [...this.balances].flatMap(([address, all]) =>
      [...all].map(([{ tick }, amount]) => ({ tick, address, amount }))
    );
  }

  protected transaction(transaction: ReferenceTransaction): void {
    const txIndex = ++this.lastTransaction;
    this.meet(transaction.source);
    if (transaction.data !== '') {
      this.command(transaction.data, transaction, txIndex);
      return;
    }
    for (const { address, amount } of transaction.outputs ?? [])
      this.dispense(transaction.source, address, null, amount, NONE_ASKED, txIndex);
  }

  protected command(
    text: string,
    transaction: ReferenceTransaction,
    txIndex: number,
    siblings: readonly string[] = []
  ): void {
    const { name, format, fields, rest } = parse(text);
    if (name === 'COINPAY' && format === 0) {
      this.coinpay(readWhole(fields[0] ?? ''), transaction, txIndex);
      return;
    }
    const { source } = transaction;
    const index = this.begin(this.recordedName(name, format), txIndex);
    if (!WIRE.includes(name)) return;
    const known = KNOWN[name];
    if (!known) return;
    const doing: Doing = { index, source, format, fields, rest, txIndex, transaction, siblings, next: [] };
    if (!known.formats.includes(format)) {
      const refusal = NOT_BUILT[name]?.includes(format) ? 'ACTION is not yet activated' : 'VERSION (unknown)';
      if (known.table !== '') this.judge(doing, known.table, refusal);
      return;
    }
    const isValid = this.handle(name, doing);
    this.noteFee(doing);
    if (isValid && name !== 'ISSUE') this.valid.set(index, null);
    for (const next of doing.next) next();
  }

  protected recordedName(name: string, format: number): string {
    if (!WIRE.includes(name)) return 'UNKNOWN';
    const hasParts = ['ORDER', 'SWAP', 'DISPENSER'].includes(name);
    return hasParts && format === 1 ? `${name}_CANCEL` : hasParts && format === 2 ? `${name}_EDIT` : name;
  }

  protected handle(name: string, doing: Doing): boolean {
    switch (name) {
      case 'ISSUE':
        return this.issue(doing);
      case 'MINT':
        return this.mint(doing);
      case 'SEND':
        return this.send(doing);
      case 'DESTROY':
        return this.destroy(doing);
      case 'BATCH':
        return this.batch(doing);
      case 'ADDRESS':
        return this.address(doing);
      case 'LIST':
        return this.list(doing);
      case 'BROADCAST':
        return this.broadcast(doing);
      case 'MESSAGE':
        return this.message(doing);
      case 'FILE':
        return this.file(doing);
      case 'LINK':
        return this.link(doing);
      case 'SLEEP':
        return this.sleep(doing);
      case 'CALLBACK':
        return this.callback(doing);
      case 'AIRDROP':
        return this.airdrop(doing);
      case 'DIVIDEND':
        return this.dividend(doing);
      case 'SWEEP':
        return this.sweep(doing);
      case 'DISPENSER':
        return doing.format === 0 ? this.dispenser(doing) : this.changeDispenser(doing);
      case 'ORDER':
      case 'SWAP':
        return doing.format === 0 ? this.trade(name, doing) : this.changeTrade(name, doing);
      case 'ATTEST':
        return this.attest(doing);
      case 'PRICE':
        return doing.format === 0 ? this.priceRound(doing) : this.tokenPrice(doing);
      case 'SLASH':
        return this.slash(doing);
      case 'VOTE':
        return doing.format === 0 ? this.poll(doing) : doing.format === 1 ? this.ballot(doing) : this.proxy(doing);
      case 'STAKE':
        return this.stake(doing);
      case 'UNSTAKE':
        return this.unstake(doing);
      case 'DELEGATE':
        return this.delegate(doing);
      default:
        return this.collect(doing);
    }
  }

  protected endBlock(): void {
    const isOver = ({ expiration, status }: { expiration: number; status: string }) =>
      expiration < this.time && status === 'open';
    const over = [...this.trades, ...this.dispensers].filter(isOver).sort((a, b) => a.index - b.index);
    const owed = this.owed.filter(({ expiration }) => expiration <= this.time).sort((a, b) => a.index - b.index);
    const closing = this.dispensers
      .filter(({ status, closesAt }) => status === 'cancelling' && closesAt! <= this.time)
      .sort((a, b) => a.closesAt! - b.closesAt! || a.index - b.index);
    for (const one of over) {
      if ('kind' in one) this.expireTrade(one);
      else this.endDispenser(one, 'DISPENSER_EXPIRE', 'expired');
    }
    for (const one of owed) this.expireOwed(one);
    for (const one of closing) this.endDispenser(one, 'DISPENSER_CLOSE', 'cancelled');
    for (const poll of this.polls.filter(({ isOpen }) => isOpen)) this.maybeClose(poll);
    const back = this.cooling.filter(({ block }) => block === this.height).sort((a, b) => a.index - b.index);
    this.cooling = this.cooling.filter(({ block }) => block !== this.height);
    for (const { source, amount } of back) {
      const doing = this.system('UNSTAKE_RELEASE', source);
      this.move(doing, 'escrows', this.gas!, source, -amount);
      this.move(doing, 'credits', this.gas!, source, amount);
    }
  }

  protected batch(doing: Doing): boolean {
    const commands = doing.rest === '' ? [] : doing.rest.split(';');
    const names = commands.map((command) => command.split('|')[0]!.trim()).map((name) => ALIASES[name] ?? name);
    const weight = (command: string) => {
      const { name, format } = parse(command);
      if (['AIRDROP', 'DIVIDEND'].includes(name)) return 25;
      return name === 'EXECUTE' || (name === 'DEPLOY' && format !== 4) ? 30 : 1;
    };
    /** Returns the least gas of a command; 0 if it depends on the ledger. */
    const leastGas = (command: string): number => {
      const { name, fields } = parse(command);
      const { gas } = this.rules.fees;
      const tick = fields[0] ?? '';
      const isNew = name === 'ISSUE' && this.tokenOf(tick) === null && tick.toLowerCase() !== 'gas';
      if (isNew) return gas[tick.includes('.') ? 'issueSubtoken' : 'issue']!;
      return name === 'SWEEP' || name === 'CALLBACK' ? gas[name.toLowerCase()]! : 0;
    };
    const isTooOften = (name: string) => {
      const ticks = commands
        .filter((_, place) => names[place] === name)
        .map((command) => parse(command).fields[0] ?? '');
      if (name === 'BATCH') return true;
      if (name === 'ISSUE') return ticks.filter((tick) => tick.startsWith('^') || !tick.includes('.')).length > 1;
      if (name === 'FILE' || name === 'DEPLOY') return ticks.length > 1;
      if (name === 'MINT') return new Set(ticks.map((tick) => this.tokenOf(tick))).size < ticks.length;
      return false;
    };
    const refusal = firstOf([
      () => commands.length === 0 && 'COMMAND (unknown)',
      () =>
        (commands.length > 250 || commands.reduce((sum, command) => sum + weight(command), 0) > 250) &&
        'COMMAND (limit)',
      () => names.some((name) => !WIRE.includes(name)) && 'ACTION (unknown)',
      ...names.map((name) => () => isTooOften(name) && (`${name} (limit)` as const)),
      this.sourceSleeps(doing),
      () => {
        const costs = commands.map((command) => this.feeOf(leastGas(command)));
        const cheapest = costs.reduce(min, costs[0]!);
        const isPaidInGas = this.feeOutput(doing) === undefined;
        return isPaidInGas && this.balance(this.gas, doing.source) < cheapest && 'GAS (insufficient)';
      }
    ]);
    if (refusal === null)
      doing.next.push(
        ...commands.map((command) => () => this.command(command, doing.transaction!, doing.txIndex!, commands))
      );
    return this.judge(doing, 'batches', refusal);
  }
}
