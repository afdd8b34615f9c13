import { createHash } from 'node:crypto';
import { hasSigned, readMessage } from './signatures.ts';

/*
 * The ledger as docs/actions.md tells it, slow and plain. It shares no code with the indexer. Change it from the
 * document, never from the indexer. Amounts are counts of 10^-18.
 */

interface ReferenceTransaction {
  readonly hash: string;
  readonly source: string;
  readonly data: string;
  readonly outputs?: readonly { readonly vout: number; readonly address: string; readonly amount: bigint }[];
}

interface ReferenceInput {
  readonly height: number;
  readonly time: number;
  readonly transactions: readonly ReferenceTransaction[];
}

export interface ReferenceOutput {
  /** `action table status`, in no particular order. */
  readonly verdicts: readonly string[];
  /** `credits|debits|escrows action address tick amount` and `fees action gas amount coins round`, in no particular order. */
  readonly movements: readonly string[];
  readonly ledger: string;
  readonly actions: string;
}

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

/** Payment of an action for gas. */
interface Fee {
  gas: number;
  amount: bigint;
  /** In the chain's coin; null for what was paid in the gas token. */
  coins: bigint | null;
  round: number | null;
}

interface Lists {
  allow: number;
  block: number;
}
interface Token extends Lists {
  tick: string;
  /** The ticker in small letters: it is looked up in any case. */
  key: string;
  owner: string;
  decimals: number;
  supply: bigint;
  maxSupply: bigint;
  maxMint: bigint;
  addressMax: bigint;
  description: string;
  locks: Record<string, boolean>;
  callbackBlock: number | null;
  callbackTick: Token | null;
  callbackAmount: bigint | null;
  mintStart: number;
  mintStop: number;
  /** Whether an open offer holds the ownership. */
  isHeld: boolean;
}
interface List {
  type: number;
  owner: string;
  members: Set<string>;
}
interface Side {
  token: Token | null;
  amount: bigint;
  isOwnership: boolean;
}
/** A side as it is written. */
interface SideFields {
  coin: string;
  tick: string;
  token: Token | null;
  text: string;
  /** Null for what is no amount. */
  amount: bigint | null;
  mark: string;
  isOwnership: boolean;
}
interface Trade extends Lists {
  kind: 'ORDER' | 'SWAP';
  index: number;
  source: string;
  status: string;
  give: Side;
  get: Side;
  giveLeft: bigint;
  getLeft: bigint;
  getAddress: string;
  expiration: number;
  /** Gets what nobody paid for. */
  heir: string;
}
interface Dispenser {
  index: number;
  source: string;
  status: string;
  give: Side;
  getToken: Token | null;
  getAmount: bigint;
  /** Price of a fill in a currency. */
  fiat: { code: string; amount: bigint } | null;
  getAddress: string;
  left: bigint;
  refills: number;
  served: number;
  refused: number;
  expiration: number;
  lists: (Lists & { from: number })[];
  closesAt: number | null;
  heir: string;
}
interface Owed {
  index: number;
  status: string;
  payee: string;
  coins: bigint;
  seller: Trade;
  buyer: Trade;
  sold: Side;
  expiration: number;
}
interface Stake {
  key: string;
  source: string;
  amount: bigint;
  from: number;
  to: number | null;
}
interface Poll {
  index: number;
  source: string;
  token: Token;
  end: number;
  options: number;
  most: number;
  isSplit: boolean;
  weighing: string;
  quorum: bigint;
  minVoters: number;
  minBalance: bigint;
  threshold: bigint | null;
  deposit: bigint;
  isOpen: boolean;
  ballots: Map<string, { option: number; share: number }[]>;
  /** Block of the newest ballot. */
  block: number;
}
interface Row {
  action_index: number;
  address: string;
  tick: string;
  amount: bigint;
}
interface Doing {
  index: number;
  source: string;
  format: number;
  fields: string[];
  rest: string;
  txIndex: number | null;
  transaction: ReferenceTransaction | null;
  /** The commands of its BATCH. */
  siblings?: readonly string[];
  fee?: Fee;
  /** Work that follows directly. */
  next: (() => void)[];
}
type Movement = 'debits' | 'credits' | 'escrows';
/** The status of what is wrong, or false. */
type Test = () => string | false;

const E18 = 10n ** 18n;
const MOST_UNITS = 10n ** 36n * E18;
const HIGHEST_CAP = 10n ** 21n * E18;
const COINS = ['BTC', 'LTC', 'DOGE'];
const FIATS = 'AUD BRL CAD CHF CNY EUR GBP INR JPY KRW MXN USD'.split(' ');
const FUTURE_COINS =
  'ADA ALGO APT ARB ATOM AVAX BASE BCH BNB BSV BTG CRO DASH DGB DOT EOS ETC ETH FIL FIRO GRS HBAR HOOD HYPE ICP INJ KAS MNT NEAR NEO NMC OP POL PPC RVN SEI SOL STX SUI TIA TON TRX VET VTC XCP XDP XEC XLM XMR XRP XTZ ZEC ZK'.split(
    ' '
  );
const LOCKS = 'MAX_SUPPLY MAX_MINT DESCRIPTION SLEEP CALLBACK MINT MINT_SUPPLY'.split(' ');
const CLASSES = ['transfer', 'trade', 'burn', 'mint', 'stake', 'ownership', 'all'];
/** Units of the gas token that a key needs for each. */
const CAPABILITIES: Record<string, bigint> = {
  price: 1_000n,
  cross_chain: 5_000n,
  oracle_publish: 500n,
  attestation: 1_000n,
  full_node: 2_000n
};
const ENGINES: Record<string, string> = { price: 'oracle', attestation: 'attest', cross_chain: 'xchain' };
const DAY = 86_400;

/** Every action of the wire. */
const WIRE =
  'ADDRESS AIRDROP ANCHOR ATTEST BATCH BET BROADCAST CALLBACK COINPAY COLLECT DELEGATE DEPLOY DEPOSIT DESTROY DISPENSER DIVIDEND EXECUTE FILE ISSUE LINK LIST MESSAGE MINT NODEPROOF ORDER PRICE ROLLCALL SEND SLASH SLEEP STAKE SWAP SWEEP UNSTAKE VOTE WITHDRAW XBRIDGE XCALL'.split(
    ' '
  );
const ALIASES: Record<string, string> = {
  TRANSFER: 'SEND',
  ADDR: 'ADDRESS',
  DROP: 'AIRDROP',
  CAST: 'BROADCAST',
  MSG: 'MESSAGE'
};
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

const ISSUE_FIELDS = [
  'TICK MAX_SUPPLY MAX_MINT DECIMALS DESCRIPTION MINT_SUPPLY TRANSFER TRANSFER_SUPPLY LOCK_MAX_SUPPLY LOCK_MAX_MINT LOCK_DESCRIPTION LOCK_SLEEP LOCK_CALLBACK CALLBACK_BLOCK CALLBACK_TICK CALLBACK_AMOUNT ALLOW_LIST BLOCK_LIST MINT_ADDRESS_MAX MINT_START_BLOCK MINT_STOP_BLOCK LOCK_MINT LOCK_MINT_SUPPLY MEMO',
  'TICK DESCRIPTION MEMO',
  'TICK MAX_MINT MINT_SUPPLY TRANSFER_SUPPLY MINT_ADDRESS_MAX MINT_START_BLOCK MINT_STOP_BLOCK MEMO',
  'TICK LOCK_MAX_SUPPLY LOCK_MAX_MINT LOCK_DESCRIPTION LOCK_SLEEP LOCK_CALLBACK LOCK_MINT LOCK_MINT_SUPPLY MEMO',
  'TICK CALLBACK_BLOCK CALLBACK_TICK CALLBACK_AMOUNT MEMO',
  'TICK ALLOW_LIST BLOCK_LIST MEMO',
  'TICK CONTROLLER ACTION_CLASS COOLDOWN_BLOCKS UNBIND MEMO'
];
const TRADE_FIELDS =
  'GIVE_COIN GIVE_TICK GIVE_AMOUNT GIVE_OWNERSHIP GET_COIN GET_TICK GET_AMOUNT GET_OWNERSHIP GET_ADDRESS EXPIRATION ALLOW_LIST BLOCK_LIST MEMO';
const POLL_FIELDS =
  'TICK END_BLOCK OPTIONS MAX_SELECTIONS TALLY_MODE WEIGHT_MODE QUORUM MIN_VOTERS MIN_VOTE_BALANCE DECIDE_THRESHOLD QUESTION DEPOSIT CALLBACK_CONTRACT';
const DISPENSER_FIELDS =
  'GIVE_COIN GIVE_TICK GIVE_AMOUNT GIVE_OWNERSHIP GIVE_ESCROW GET_COIN GET_TICK GET_AMOUNT GET_ADDRESS FIAT_CODE FIAT_AMOUNT ORACLE_ADDRESS EXPIRATION ALLOW_LIST BLOCK_LIST MEMO';

function readAmount(text: string, places: number): bigint | null {
  const match = /^([0-9]{1,40})(?:\.([0-9]+))?$/.exec(text);
  if (!match || (match[2] ?? '').length > places) return null;
  return BigInt(match[1]!) * E18 + BigInt((match[2] ?? '').padEnd(18, '0'));
}

function writeAmount(amount: bigint): string {
  const digits = String(amount < 0n ? -amount : amount).padStart(19, '0');
  const text = `${digits.slice(0, -18)}.${digits.slice(-18)}`.replace(/0+$/, '').replace(/\.$/, '');
  return amount < 0n ? `-${text}` : text;
}

function readWhole(text: string): number | null {
  return /^[0-9]{1,15}$/.test(text) ? Number(text) : null;
}

/** Cut down to places. */
function cut(amount: bigint, places: number): bigint {
  const step = 10n ** BigInt(18 - places);
  return (amount / step) * step;
}

/** A quotient rounded half up to places; both terms are counts of the same unit. */
function divide(dividend: bigint, divisor: bigint, places: number): bigint {
  const step = 10n ** BigInt(18 - places);
  const [whole, rest] = [dividend / (divisor * step), dividend % (divisor * step)];
  return (rest * 2n >= divisor * step ? whole + 1n : whole) * step;
}

/** The greatest of some amounts, of equal ones the first by address: as many as an action is about. */
function mostOf<T extends { address: string; amount: bigint }>(some: readonly T[]): T[] {
  const compare = (a: T, b: T) =>
    a.amount === b.amount ? byBytes(a.address, b.address) : a.amount < b.amount ? 1 : -1;
  return [...some].sort(compare).slice(0, 100_000);
}

/** A quotient of which any rest counts as one more of the last place. */
function cutUp(dividend: bigint, divisor: bigint, places: number): bigint {
  const whole = cut(dividend / divisor, places);
  return whole * divisor === dividend ? whole : whole + 10n ** BigInt(18 - places);
}

function placesOf({ token }: Side): number {
  return token?.decimals ?? 8;
}

/** A cap rounded to places; one that was given is at least the smallest unit. */
function capIn(cap: bigint, places: number): bigint {
  const rounded = divide(cap, 1n, places);
  return cap > 0n && rounded === 0n ? 10n ** BigInt(18 - places) : rounded;
}

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

/** A square root cut down to a whole number, digit by digit. */
function rootOf(square: bigint): bigint {
  let root = 0n;
  for (let step = 10n ** BigInt(Math.ceil(String(square).length / 2)); step > 0n; step /= 10n)
    while ((root + step) * (root + step) <= square) root += step;
  return root;
}

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
const min = (a: bigint, b: bigint) => (a < b ? a : b);
const points = (text: string) => [...text].length;

function named(names: string, fields: readonly string[]): (name: string) => string {
  const places = names.split(' ');
  return (name) => (places.includes(name) ? (fields[places.indexOf(name)] ?? '') : '');
}

function firstOf(tests: readonly Test[]): string | null {
  for (const test of tests) {
    const refusal = test();
    if (refusal !== false) return refusal;
  }
  return null;
}

function memoTests(memo: string): Test[] {
  return [
    () => memo.includes('|') && 'MEMO (pipe)',
    () => memo.includes(';') && 'MEMO (semicolon)',
    () => points(memo) > 250 && 'MEMO (length)'
  ];
}

/** `ACTION|VERSION|FIELD|…`; the format is -1 where the version is none. */
function parse(text: string): { name: string; format: number; fields: string[]; rest: string } {
  const [first = '', ...given] = text.split('|');
  const written = first.trim().toUpperCase();
  const name = ALIASES[written] ?? written;
  const version = (given[0] ?? '').trim();
  if (['ISSUE', 'MINT', 'SEND'].includes(name) && (version.length > 2 || !/^[0-9]*$/.test(version)))
    return { name, format: 0, fields: given.map((field) => field.trim()), rest: given.join('|') };
  const digits = version.replace(/['"]/g, '');
  const format = digits === '' ? 0 : /^[0-9]{1,3}$/.test(digits) && Number(digits) < 256 ? Number(digits) : -1;
  return { name, format, fields: given.slice(1).map((field) => field.trim()), rest: given.slice(1).join('|') };
}

/** Groups of fields; the last is filled up. */
function groups(fields: readonly string[], size: number): string[][] {
  const made: string[][] = [];
  for (let at = 0; at < fields.length; at += size)
    made.push(Array.from({ length: size }, (_, place) => fields[at + place] ?? ''));
  return made;
}

/** Groups, each with the memo of all: the last field when it is one too many. */
function groupsAndMemo(fields: readonly string[], size: number): string[][] {
  const isOdd = fields.length % size === 1;
  const memo = isOdd ? fields.at(-1)! : '';
  return groups(isOdd ? fields.slice(0, -1) : fields, size).map((group) => [...group, memo]);
}

/** The ledger that a reader of the document would keep. */
/** A payment that no dispenser has seen. */
const NONE_ASKED = { after: null, dispensers: 0, metEmpty: false } as const;

export class ReferenceLedger {
  readonly #rules: ReferenceRules;
  readonly #addresses: string[] = [];
  readonly #tokens: Token[] = [];
  /** Names by their numbers, as they are spelled; not all have a token. */
  readonly #tickers: string[] = [];
  readonly #balances = new Map<string, Map<Token, bigint>>();
  readonly #lists = new Map<number, List>();
  readonly #sleeps = new Map<string, number>();
  readonly #preferences = new Map<string, { fee: number; requiresMemo: boolean; dispenser: string }>();
  readonly #minted = new Map<string, bigint>();
  /** Valid actions by number, with the token of an ISSUE. */
  readonly #valid = new Map<number, Token | null>();
  readonly #trades: Trade[] = [];
  readonly #dispensers: Dispenser[] = [];
  readonly #owed: Owed[] = [];
  readonly #stakes: Stake[] = [];
  readonly #delegations: Omit<Stake, 'amount'>[] = [];
  /** Block from which on a stake's own key signs no more. */
  readonly #revoked = new Map<string, number>();
  readonly #barred = new Set<string>();
  /** The least holding that opens a file of a token. */
  readonly #gates = new Map<Token, bigint>();
  #cooling: { index: number; key: string; source: string; amount: bigint; block: number }[] = [];
  readonly #rounds = new Set<number>();
  /** Valid rounds, the one with the highest number first. */
  readonly #prices: { round: number; timestamp: number; prices: Map<string, string> }[] = [];
  readonly #polls: Poll[] = [];
  /** Proxies of holders in votes, by token. */
  readonly #proxies = new Map<Token, Map<string, string>>();
  /** Earnings that were not claimed. */
  readonly #unclaimed = new Map<string, bigint>();
  readonly #spent = new Map<string, bigint>();
  readonly #times: number[] = [];
  #lastAction = 0;
  #lastTransaction = 0;
  /** Number of addresses that earlier blocks met. */
  #knownAddresses = 0;
  #previous: ReferenceOutput | null = null;
  // Of the block in work.
  #height = 0;
  #time = 0;
  #verdicts: string[] = [];
  #fees: string[] = [];
  #actions: { action_index: number; tx_index: number | null; action: string }[] = [];
  #moved: Record<Movement, Row[]> = { debits: [], credits: [], escrows: [] };

  constructor(rules: ReferenceRules) {
    this.#rules = rules;
  }

  run({ height, time, transactions }: ReferenceInput): ReferenceOutput {
    this.#times.push(time);
    const times = this.#times.slice(-11).sort((a, b) => a - b);
    this.#height = height;
    this.#time = times[Math.floor(times.length / 2)]!;
    this.#knownAddresses = this.#addresses.length;
    this.#verdicts = [];
    this.#fees = [];
    this.#actions = [];
    this.#moved = { debits: [], credits: [], escrows: [] };
    for (const transaction of transactions) this.#transaction(transaction);
    this.#endBlock();
    const position = (previous: string | undefined) => ({
      block_index: height,
      ...(previous === undefined ? {} : { previous_hash: previous }),
      hash_version: 1
    });
    const rows = (movement: Movement) =>
      [...this.#moved[movement]]
        .sort((a, b) => a.action_index - b.action_index || byBytes(a.address, b.address) || byBytes(a.tick, b.tick))
        .map((row) => ({ ...row, amount: writeAmount(row.amount) }));
    const moved = { credits: rows('credits'), debits: rows('debits'), escrows: rows('escrows') };
    const digest = (value: object) => createHash('sha256').update(JSON.stringify(value)).digest('hex');
    const sorted = [...this.#actions].sort((a, b) => a.action_index - b.action_index);
    this.#previous = {
      verdicts: this.#verdicts,
      movements: [
        ...Object.entries(moved).flatMap(([name, all]) =>
          all.map(({ action_index, address, tick, amount }) => `${name} ${action_index} ${address} ${tick} ${amount}`)
        ),
        ...this.#fees
      ],
      ledger: digest({ ...moved, ...position(this.#previous?.ledger) }),
      actions: digest({ ...sorted, ...position(this.#previous?.actions) })
    };
    return this.#previous;
  }

  /** Returns an address's holding. */
  held(tick: string, address: string): bigint {
    return this.#balance(this.#token(tick), address);
  }

  /** Owner and supply of a token; null for none. */
  token(tick: string): { readonly owner: string; readonly supply: bigint } | null {
    return this.#token(tick);
  }

  /** All that anybody holds. */
  get holdings(): { readonly tick: string; readonly address: string; readonly amount: bigint }[] {
    return [...this.#balances].flatMap(([address, all]) =>
      [...all].map(([{ tick }, amount]) => ({ tick, address, amount }))
    );
  }

  // Blocks and actions

  #transaction(transaction: ReferenceTransaction): void {
    const txIndex = ++this.#lastTransaction;
    this.#meet(transaction.source);
    if (transaction.data !== '') {
      this.#command(transaction.data, transaction, txIndex);
      return;
    }
    for (const { address, amount } of transaction.outputs ?? [])
      this.#dispense(transaction.source, address, null, amount, NONE_ASKED, txIndex);
  }

  #command(text: string, transaction: ReferenceTransaction, txIndex: number, siblings: readonly string[] = []): void {
    const { name, format, fields, rest } = parse(text);
    if (name === 'COINPAY' && format === 0) {
      this.#coinpay(readWhole(fields[0] ?? ''), transaction, txIndex);
      return;
    }
    const { source } = transaction;
    const index = this.#begin(this.#recordedName(name, format), txIndex);
    if (!WIRE.includes(name)) return;
    const known = KNOWN[name];
    if (!known) return;
    const doing: Doing = { index, source, format, fields, rest, txIndex, transaction, siblings, next: [] };
    if (!known.formats.includes(format)) {
      const refusal = NOT_BUILT[name]?.includes(format) ? 'ACTION is not yet activated' : 'VERSION (unknown)';
      if (known.table !== '') this.#judge(doing, known.table, refusal);
      return;
    }
    const isValid = this.#handle(name, doing);
    this.#noteFee(doing);
    if (isValid && name !== 'ISSUE') this.#valid.set(index, null);
    for (const next of doing.next) next();
  }

  #recordedName(name: string, format: number): string {
    if (!WIRE.includes(name)) return 'UNKNOWN';
    const hasParts = ['ORDER', 'SWAP', 'DISPENSER'].includes(name);
    return hasParts && format === 1 ? `${name}_CANCEL` : hasParts && format === 2 ? `${name}_EDIT` : name;
  }

  #begin(action: string, txIndex: number | null): number {
    const action_index = ++this.#lastAction;
    this.#actions.push({ action_index, tx_index: txIndex, action });
    return action_index;
  }

  /** An action that no text asks for. */
  #system(name: string, source: string, txIndex: number | null = null): Doing {
    const index = this.#begin(name, txIndex);
    return { index, source, format: 0, fields: [], rest: '', txIndex, transaction: null, next: [] };
  }

  #handle(name: string, doing: Doing): boolean {
    switch (name) {
      case 'ISSUE':
        return this.#issue(doing);
      case 'MINT':
        return this.#mint(doing);
      case 'SEND':
        return this.#send(doing);
      case 'DESTROY':
        return this.#destroy(doing);
      case 'BATCH':
        return this.#batch(doing);
      case 'ADDRESS':
        return this.#address(doing);
      case 'LIST':
        return this.#list(doing);
      case 'BROADCAST':
        return this.#broadcast(doing);
      case 'MESSAGE':
        return this.#message(doing);
      case 'FILE':
        return this.#file(doing);
      case 'LINK':
        return this.#link(doing);
      case 'SLEEP':
        return this.#sleep(doing);
      case 'CALLBACK':
        return this.#callback(doing);
      case 'AIRDROP':
        return this.#airdrop(doing);
      case 'DIVIDEND':
        return this.#dividend(doing);
      case 'SWEEP':
        return this.#sweep(doing);
      case 'DISPENSER':
        return doing.format === 0 ? this.#dispenser(doing) : this.#changeDispenser(doing);
      case 'ORDER':
      case 'SWAP':
        return doing.format === 0 ? this.#trade(name, doing) : this.#changeTrade(name, doing);
      case 'ATTEST':
        return this.#attest(doing);
      case 'PRICE':
        return doing.format === 0 ? this.#priceRound(doing) : this.#tokenPrice(doing);
      case 'SLASH':
        return this.#slash(doing);
      case 'VOTE':
        return doing.format === 0 ? this.#poll(doing) : doing.format === 1 ? this.#ballot(doing) : this.#proxy(doing);
      case 'STAKE':
        return this.#stake(doing);
      case 'UNSTAKE':
        return this.#unstake(doing);
      case 'DELEGATE':
        return this.#delegate(doing);
      default:
        return this.#collect(doing);
    }
  }

  /** Notes a status. @returns whether it is valid */
  #judge({ index }: Doing, table: string, refusal: string | null): boolean {
    this.#note(index, table, refusal === null ? 'valid' : `invalid: ${refusal}`);
    return refusal === null;
  }

  #note(index: number, table: string, status: string): void {
    this.#verdicts.push(`${index} ${table} ${status}`);
  }

  #endBlock(): void {
    const isOver = ({ expiration, status }: { expiration: number; status: string }) =>
      expiration < this.#time && status === 'open';
    const over = [...this.#trades, ...this.#dispensers].filter(isOver).sort((a, b) => a.index - b.index);
    const owed = this.#owed.filter(({ expiration }) => expiration <= this.#time).sort((a, b) => a.index - b.index);
    const closing = this.#dispensers
      .filter(({ status, closesAt }) => status === 'cancelling' && closesAt! <= this.#time)
      .sort((a, b) => a.closesAt! - b.closesAt! || a.index - b.index);
    for (const one of over) {
      if ('kind' in one) this.#expireTrade(one);
      else this.#endDispenser(one, 'DISPENSER_EXPIRE', 'expired');
    }
    for (const one of owed) this.#expireOwed(one);
    for (const one of closing) this.#endDispenser(one, 'DISPENSER_CLOSE', 'cancelled');
    for (const poll of this.#polls.filter(({ isOpen }) => isOpen)) this.#maybeClose(poll);
    const back = this.#cooling.filter(({ block }) => block === this.#height).sort((a, b) => a.index - b.index);
    this.#cooling = this.#cooling.filter(({ block }) => block !== this.#height);
    for (const { source, amount } of back) {
      const doing = this.#system('UNSTAKE_RELEASE', source);
      this.#move(doing, 'escrows', this.#gas!, source, -amount);
      this.#move(doing, 'credits', this.#gas!, source, amount);
    }
  }

  // What actions read

  #isAddress(text: string, coin = 'BTC'): boolean {
    return this.#rules.isAddress(text, coin);
  }

  /** An address that an action meets gets a number. */
  #meet(address: string): void {
    if (!this.#addresses.includes(address)) this.#addresses.push(address);
  }

  #meetIfAddress(text: string | null): void {
    if (text !== null && this.#isAddress(text)) this.#meet(text);
  }

  /** The address of a field; null for an id that names none. */
  #resolve(field: string): string | null {
    const [, id] = /^\^([1-9][0-9]{0,14})$/.exec(field) ?? [];
    return id === undefined ? field : (this.#addresses[Number(id) - 1] ?? null);
  }

  #token(field: string): Token | null {
    const [, id] = /^\^([1-9][0-9]{0,14})$/.exec(field) ?? [];
    const wanted = (id === undefined ? field : this.#tickers[Number(id) - 1])?.toLowerCase();
    return this.#tokens.find(({ key }) => key === wanted) ?? null;
  }

  /** A name that a row holds gets a number. */
  #name(field: string): void {
    const isName = field !== '' && !field.startsWith('^') && this.#token(field) === null;
    if (isName && !this.#tickers.includes(field) && !this.#isTaken(field)) this.#tickers.push(field);
  }

  #isTaken(name: string): boolean {
    const beginning = [...name].slice(0, 200).join('');
    return [...name].length >= 200 && this.#tickers.some((tick) => tick.startsWith(beginning));
  }

  get #gas(): Token | null {
    return this.#token('GAS');
  }

  #balance(token: Token | null, address: string): bigint {
    return (token && this.#balances.get(address)?.get(token)) ?? 0n;
  }

  #holders(token: Token): { address: string; amount: bigint }[] {
    return [...this.#balances.keys()]
      .map((address) => ({ address, amount: this.#balance(token, address) }))
      .filter(({ amount }) => amount > 0n);
  }

  #isAsleep(name: string): boolean {
    const wakes = this.#sleeps.get(name);
    return wakes !== undefined && (wakes === -1 || wakes > this.#height);
  }

  #sourceSleeps({ source }: Doing): Test {
    return () => this.#isAsleep(`address ${source}`) && 'SOURCE (sleeping)';
  }

  #tickSleeps(token: Token | null, field = 'TICK'): Test {
    return () => token !== null && this.#isAsleep(`tick ${token.tick}`) && `${field} (sleeping)`;
  }

  #has(list: number, address: string): boolean {
    return this.#lists.get(list)?.members.has(address) ?? false;
  }

  #isBarred({ allow, block }: Lists, address: string): boolean {
    return (allow !== 0 && !this.#has(allow, address)) || (block !== 0 && this.#has(block, address));
  }

  /** The number of a list's first action; 0 where there is no list. */
  #root(text: string): number {
    const list = this.#lists.get(readWhole(text) ?? 0);
    for (const [index, one] of this.#lists) if (one === list) return index;
    return 0;
  }

  // What actions do

  #move({ index }: Pick<Doing, 'index'>, movement: Movement, token: Token, address: string, amount: bigint): void {
    this.#meet(address);
    const rows = this.#moved[movement];
    const same = rows.find((row) => row.action_index === index && row.address === address && row.tick === token.tick);
    if (same) same.amount += amount;
    else rows.push({ action_index: index, address, tick: token.tick, amount });
    token.supply += movement === 'debits' ? -amount : amount;
    if (movement === 'escrows') return;
    const all = this.#balances.get(address) ?? new Map<Token, bigint>();
    this.#balances.set(address, all);
    all.set(token, (all.get(token) ?? 0n) + (movement === 'debits' ? -amount : amount));
  }

  #transfer(doing: Doing, token: Token, from: string, to: string, amount: bigint): void {
    this.#move(doing, 'debits', token, from, amount);
    this.#move(doing, 'credits', token, to, amount);
  }

  #newOwner(doing: Doing, token: Token, owner: string): void {
    const index = this.#begin('ISSUE', doing.txIndex);
    this.#meet(owner);
    this.#note(index, 'issues', 'valid');
    this.#valid.set(index, token);
    token.owner = owner;
    token.isHeld = false;
  }

  /** Takes a side of an offer from its source. */
  #hold(doing: Doing, { token, amount, isOwnership }: Side): void {
    if (token === null || amount === 0n) return;
    if (isOwnership) {
      token.isHeld = true;
      return;
    }
    this.#move(doing, 'debits', token, doing.source, amount);
    this.#move(doing, 'escrows', token, doing.source, amount);
  }

  /** Hands over what is held. */
  #release(doing: Doing, { token, isOwnership }: Side, amount: bigint, onRow: string, to: string): void {
    if (token === null || amount === 0n) return;
    if (isOwnership && token.owner === to) token.isHeld = false;
    else if (isOwnership) this.#newOwner(doing, token, to);
    else {
      this.#move(doing, 'escrows', token, onRow, -amount);
      this.#move(doing, 'credits', token, to, amount);
    }
  }

  // Fees

  /** The fee of some gas. */
  #feeOf(gas: number): bigint {
    return divide(BigInt(gas) * readAmount(this.#rules.fees.price, 18)!, 1n, 8);
  }

  #feeOutput({ transaction }: Doing) {
    return transaction?.outputs?.find(({ address }) => address === this.#rules.fees.destination);
  }

  /** Takes the gas of a part that is valid otherwise, and says why it cannot. @param spends units of the gas token that the part takes */
  #pays(doing: Doing, gas: () => number, spends: () => bigint = () => 0n): Test {
    return () => {
      const cost = gas();
      const amount = this.#feeOf(cost);
      if (amount === 0n) return false;
      const output = this.#feeOutput(doing);
      if (!output) return this.#payGas(doing, cost, amount, spends());
      if (output.amount === 0n) return 'fee output has zero value';
      const newest = this.#prices[0];
      const current = newest !== undefined && this.#time - newest.timestamp <= 1_800 ? newest : null;
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
      const left = output.amount - (this.#spent.get(key) ?? 0n);
      if (left < least) {
        const [a, b, c] = [left, due, least].map(writeAmount);
        return `insufficient native coin fee (paid: ${a}, expected: ${b}, min: ${c})`;
      }
      const used = min(left, due);
      this.#spent.set(key, (this.#spent.get(key) ?? 0n) + used);
      this.#meet(output.address);
      this.#addFee(doing, { gas: cost, amount, coins: used, round: current!.round });
      return false;
    };
  }

  #payGas(doing: Doing, gas: number, amount: bigint, spends: bigint): string | false {
    const { source } = doing;
    if (this.#balance(this.#gas, source) < amount + spends) return 'insufficient funds (FEE)';
    this.#move(doing, 'debits', this.#gas!, source, amount);
    const { donation } = this.#rules.fees;
    if (donation !== undefined && this.#preferences.get(source)?.fee !== 1)
      this.#move(doing, 'credits', this.#gas!, donation, amount);
    this.#addFee(doing, { gas, amount, coins: null, round: null });
    return false;
  }

  #addFee(doing: Doing, { gas, amount, coins, round }: Fee): void {
    const { fee } = doing;
    doing.fee = {
      gas: gas + (fee?.gas ?? 0),
      amount: amount + (fee?.amount ?? 0n),
      coins: coins === null ? null : coins + (fee?.coins ?? 0n),
      round
    };
  }

  #noteFee({ index, fee }: Doing): void {
    if (!fee) return;
    this.#note(index, 'fees', 'valid');
    const coins = fee.coins === null ? null : writeAmount(fee.coins);
    this.#fees.push(`fees ${index} ${fee.gas} ${writeAmount(fee.amount)} ${coins} ${fee.round}`);
  }

  /** Units of the gas token that a part takes. */
  #inGas(token: Token | null, amount: bigint): bigint {
    return token !== null && token === this.#gas ? amount : 0n;
  }

  /** Gas of an offer: for days beyond ninety, to the nearest, and for an ownership. */
  #offerGas(get: (name: string) => string, { isOwnership }: SideFields): number {
    const { gas } = this.#rules.fees;
    const days = Math.round((this.#expirationOf(get) - this.#time) / DAY);
    return Math.max(0, days - 90) * gas['offerDay']! + (isOwnership ? gas['offerOwnership']! : 0);
  }

  // Tokens

  #issue(doing: Doing): boolean {
    const { source, format } = doing;
    const get = named(ISSUE_FIELDS[format]!, doing.fields);
    const name = get('TICK');
    const token = this.#token(name);
    const parent = this.#token(name.slice(0, Math.max(0, name.lastIndexOf('.'))));
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
      get('CALLBACK_TICK') === '' ? (token?.callbackTick ?? null) : this.#token(get('CALLBACK_TICK'));
    const callbackAmount = given('CALLBACK_AMOUNT', (text) => readAmount(text, callbackTick?.decimals ?? 18));
    const transfer = this.#resolve(get('TRANSFER'));
    const resolved = this.#resolve(get('TRANSFER_SUPPLY'));
    const transferSupply = resolved === source ? '' : resolved;
    const supply = token?.supply ?? 0n;
    const cap = maxSupply ?? token?.maxSupply ?? 0n;
    const isOver = (amount: bigint | null | undefined) => (amount ?? 0n) > (cap === 0n ? MOST_UNITS : cap);
    const isGas = name.toUpperCase() === 'GAS';
    const isBad = (address: string | null) => address !== '' && !this.#isAddress(address!);
    const isLocked = (lock: string) => token?.locks[lock] === true;
    const isRounded = (amount: bigint) => cut(amount, decimals!) !== amount;
    const differs = (value: unknown, stored: unknown) =>
      token !== null && value !== undefined && value !== null && value !== stored;
    const terms = [
      ['CALLBACK_BLOCK', differs(callbackBlock, token?.callbackBlock)],
      ['CALLBACK_TICK', differs(callbackTick, token?.callbackTick)],
      ['CALLBACK_AMOUNT', differs(callbackAmount, token?.callbackAmount)]
    ] as const;
    const isDistributed = () => token!.supply !== this.#balance(token, token!.owner);
    const isBadList = (field: string) => {
      if (get(field) === '' || readWhole(get(field)) === 0) return false;
      return this.#lists.get(readWhole(get(field)) ?? 0)?.type !== 2;
    };
    const isPast = (block: number | null | undefined) => (block ?? 0) > 0 && block! < this.#height;
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
      this.#sourceSleeps(doing),
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
        token !== null &&
        callbackBlock !== undefined &&
        callbackBlock! < this.#height &&
        'CALLBACK_BLOCK (block index)',
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
            ...this.#controllerTests(get)
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
          token === null && !this.#tickers.includes(name) && this.#isTaken(name) && 'TICK (first 200 characters taken)'
        );
      },
      ...memoTests(get('MEMO')),
      this.#pays(doing, () => {
        const isFree = token !== null || name.toLowerCase() === 'gas';
        return isFree ? 0 : this.#rules.fees.gas[name.includes('.') ? 'issueSubtoken' : 'issue']!;
      })
    ] as Test[]);
    if (refusal === null) {
      const issued = token ?? this.#newToken(name, source);
      const list = (field: string, stored: number) => (get(field) === '' ? stored : this.#root(get(field)));
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
      this.#valid.set(doing.index, issued);
      if (mintSupply) {
        this.#move(doing, 'credits', issued, source, mintSupply);
        if (transferSupply) this.#transfer(doing, issued, source, transferSupply, mintSupply);
      }
    }
    this.#name(get('CALLBACK_TICK'));
    this.#name(name);
    this.#meetIfAddress(transfer);
    this.#meetIfAddress(transferSupply);
    return this.#judge(doing, 'issues', refusal);
  }

  #controllerTests(get: (name: string) => string): Test[] {
    return [
      () => !CLASSES.includes(get('ACTION_CLASS').toLowerCase()) && 'ACTION_CLASS (unknown)',
      () => get('UNBIND') === '1' && 'ACTION_CLASS (not bound)',
      () => get('CONTROLLER') === '' && 'CONTROLLER (null)'
    ];
  }

  #newToken(tick: string, owner: string): Token {
    this.#name(tick);
    const token: Token = {
      ...{
        tick,
        key: tick.toLowerCase(),
        owner,
        decimals: 0,
        supply: 0n,
        maxSupply: 0n,
        maxMint: 0n,
        addressMax: 0n,
        description: ''
      },
      ...{ callbackBlock: null, callbackTick: null, callbackAmount: null, allow: 0, block: 0 },
      ...{ mintStart: 0, mintStop: 0, isHeld: false, locks: {} }
    };
    this.#tokens.push(token);
    return token;
  }

  #mint(doing: Doing): boolean {
    const { source } = doing;
    const get = named('TICK AMOUNT DESTINATION MEMO', doing.fields);
    const token = this.#token(get('TICK'));
    const amount = readAmount(get('AMOUNT'), token?.decimals ?? 18);
    const resolved = this.#resolve(get('DESTINATION'));
    const to = resolved === source ? '' : resolved;
    const key = `${token?.tick} ${source}`;
    const minted = this.#minted.get(key) ?? 0n;
    const refusal = firstOf([
      () => to === null && 'DESTINATION (unresolvable ^id)',
      () => token === null && 'TICK (unknown)',
      () => token!.locks['MINT'] === true && 'LOCK_MINT',
      () => amount === null && 'AMOUNT (format)',
      () => to !== '' && !this.#isAddress(to!) && 'DESTINATION (format)',
      this.#sourceSleeps(doing),
      this.#tickSleeps(token),
      ...memoTests(get('MEMO')),
      () => token!.maxMint > 0n && amount! > token!.maxMint && 'AMOUNT > MAX_MINT',
      () => token!.supply + amount! > (token!.maxSupply || MOST_UNITS) && 'mint exceeds MAX_SUPPLY',
      () => this.#isBarred(token!, source) && 'SOURCE (not authorized)',
      () => to !== '' && this.#isBarred(token!, to!) && 'DESTINATION (not authorized)',
      () => token!.addressMax > 0n && minted + amount! > token!.addressMax && 'mint exceeds MINT_ADDRESS_MAX',
      () => this.#height < token!.mintStart && 'MINT_START_BLOCK',
      () => token!.mintStop > 0 && this.#height > token!.mintStop && 'MINT_STOP_BLOCK'
    ]);
    if (refusal === null) {
      this.#move(doing, 'credits', token!, source, amount!);
      if (to) this.#transfer(doing, token!, source, to, amount!);
      this.#minted.set(key, minted + amount!);
    }
    this.#meetIfAddress(to);
    this.#name(get('TICK'));
    return this.#judge(doing, 'mints', refusal);
  }

  #send(doing: Doing): boolean {
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
      const token = this.#token(tick!);
      const amount = readAmount(text!, token?.decimals ?? 18);
      const key = amount === null ? null : `${(token?.tick ?? tick!).toLowerCase()} ${to}`;
      const same = legs.find((leg) => key !== null && leg.key === key);
      if (same) Object.assign(same, { amount: same.amount! + amount!, memo });
      else legs.push({ tick: tick!, token, key, amount, to: to!, memo: memo! });
    }
    const before = legs.map(({ token, to }) => (token === null ? 0n : this.#balance(token, to)));
    const isHanded = (to: string) =>
      (doing.siblings ?? []).some((text) => {
        const { name, format, fields } = parse(text);
        return name === 'MESSAGE' && format === 2 && this.#resolve(fields[1] ?? '') === to;
      });
    const verdicts = legs.map(({ tick, token, amount, to, memo }, place) => {
      const refusal = firstOf([
        () => token === null && 'TICK (unknown)',
        () => amount === null && 'AMOUNT (format)',
        () => !this.#isAddress(to) && 'DESTINATION (format)',
        this.#sourceSleeps(doing),
        this.#tickSleeps(token),
        () => this.#isBarred(token!, source) && 'SOURCE (not authorized)',
        () => this.#isBarred(token!, to) && 'DESTINATION (not authorized)',
        ...memoTests(memo),
        () => memo === '' && this.#preferences.get(to)?.requiresMemo === true && 'MEMO (required)',
        () => this.#balance(token, source) < amount! && 'insufficient funds',
        () => {
          const gate = this.#gates.get(token!);
          const opens = gate !== undefined && before[place]! + amount! >= gate;
          return opens && !isHanded(to) && 'gated token transfer requires key handoff message';
        }
      ]);
      if (refusal === null) {
        this.#transfer(doing, token!, source, to, amount!);
        doing.next.push(() => this.#dispense(source, to, token, amount!, NONE_ASKED, doing.txIndex));
      }
      this.#name(tick);
      this.#meetIfAddress(to);
      return this.#judge(doing, 'sends', refusal);
    });
    return verdicts.includes(true);
  }

  #destroy(doing: Doing): boolean {
    const { source, format, fields } = doing;
    const texts = [groups(fields.slice(0, 3), 3), groupsAndMemo(fields, 2), groups(fields, 3)][format]!;
    const legs: { tick: string; token: Token | null; key: string | null; amount: bigint | null; memo: string }[] = [];
    for (const [tick, text, memo] of texts.length > 0 ? texts : [['', '', '']]) {
      const token = this.#token(tick!);
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
        this.#sourceSleeps(doing),
        this.#tickSleeps(token),
        ...memoTests(memo),
        () => this.#isBarred(token!, source) && 'SOURCE (not authorized)',
        () => this.#balance(token, source) < amount! && 'insufficient funds'
      ]);
      if (refusal === null) this.#move(doing, 'debits', token!, source, amount!);
      this.#name(tick);
      return this.#judge(doing, 'destroys', refusal);
    });
    return verdicts.includes(true);
  }

  #batch(doing: Doing): boolean {
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
      const { gas } = this.#rules.fees;
      const tick = fields[0] ?? '';
      const isNew = name === 'ISSUE' && this.#token(tick) === null && tick.toLowerCase() !== 'gas';
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
      if (name === 'MINT') return new Set(ticks.map((tick) => this.#token(tick))).size < ticks.length;
      return false;
    };
    const refusal = firstOf([
      () => commands.length === 0 && 'COMMAND (unknown)',
      () =>
        (commands.length > 250 || commands.reduce((sum, command) => sum + weight(command), 0) > 250) &&
        'COMMAND (limit)',
      () => names.some((name) => !WIRE.includes(name)) && 'ACTION (unknown)',
      ...names.map((name) => () => isTooOften(name) && (`${name} (limit)` as const)),
      this.#sourceSleeps(doing),
      () => {
        const costs = commands.map((command) => this.#feeOf(leastGas(command)));
        const cheapest = costs.reduce(min, costs[0]!);
        const isPaidInGas = this.#feeOutput(doing) === undefined;
        return isPaidInGas && this.#balance(this.#gas, doing.source) < cheapest && 'GAS (insufficient)';
      }
    ]);
    if (refusal === null)
      doing.next.push(
        ...commands.map((command) => () => this.#command(command, doing.transaction!, doing.txIndex!, commands))
      );
    return this.#judge(doing, 'batches', refusal);
  }

  // Records

  #address(doing: Doing): boolean {
    const isController = doing.format === 1;
    const get = named(
      isController
        ? 'CONTROLLER ACTION_CLASS COOLDOWN_BLOCKS UNBIND MEMO'
        : 'FEE_PREFERENCE REQUIRE_MEMO DISPENSER_PREFERENCE MEMO',
      doing.fields
    );
    const fields = ['FEE_PREFERENCE', 'REQUIRE_MEMO', 'DISPENSER_PREFERENCE'];
    const allowed = [
      [0, 1, 2],
      [0, 1],
      [1, 2]
    ];
    const refusal = firstOf([
      ...fields.map(
        (field) => () => get(field) !== '' && readWhole(get(field)) === null && (`${field} (format)` as const)
      ),
      ...fields.map(
        (field, place) => () =>
          get(field) !== '' && !allowed[place]!.includes(readWhole(get(field))!) && (`${field} (value)` as const)
      ),
      ...(isController
        ? [() => get('CONTROLLER') !== '' && ('CONTROLLER (unknown)' as const), ...this.#controllerTests(get)]
        : []),
      this.#sourceSleeps(doing),
      ...memoTests(get('MEMO'))
    ] as Test[]);
    if (refusal === null) {
      const former = this.#preferences.get(doing.source);
      this.#preferences.set(doing.source, {
        fee: readWhole(get('FEE_PREFERENCE')) ?? 0,
        requiresMemo: readWhole(get('REQUIRE_MEMO')) === 1,
        dispenser: get('DISPENSER_PREFERENCE') || (former?.dispenser ?? '')
      });
    }
    return this.#judge(doing, 'addresses', refusal);
  }

  #list(doing: Doing): boolean {
    const { source, format, fields, index } = doing;
    const get = named(
      ['TYPE MEMO', 'EDIT LIST_ACTION_INDEX MEMO', '', 'LIST_ACTION_INDEX DESTINATION MEMO'][format]!,
      fields
    );
    const known = this.#lists.get(readWhole(get('LIST_ACTION_INDEX')) ?? 0) ?? null;
    const to = this.#resolve(get('DESTINATION'));
    const refusal = firstOf([
      () => format === 0 && get('TYPE') === '3' && 'ACTION is not yet activated',
      () => format === 0 && !['1', '2'].includes(get('TYPE')) && 'TYPE (unknown)',
      () => format === 1 && !['1', '2'].includes(get('EDIT')) && 'EDIT (unknown)',
      () => format !== 0 && known === null && 'LIST_ACTION_INDEX (unknown)',
      () => format !== 0 && known!.owner !== source && 'LIST_ACTION_INDEX (not owner)',
      () => format === 3 && to === null && 'DESTINATION (unresolvable ^id)',
      () => format === 3 && !this.#isAddress(to!) && 'DESTINATION (format)',
      this.#sourceSleeps(doing),
      ...memoTests(get('MEMO'))
    ]);
    if (refusal === null && format === 3) {
      this.#meet(to!);
      known!.owner = to!;
    } else if (refusal === null) {
      const list = known ?? { type: Number(get('TYPE')), owner: source, members: new Set<string>() };
      const items = new Set(fields.slice(format === 0 ? 2 : 3).filter((item) => item !== ''));
      const seen = new Set<string>();
      for (const item of items) {
        const named = list.type === 1 ? (this.#token(item)?.tick ?? null) : this.#resolve(item);
        if (named === null || (list.type === 2 && !this.#isAddress(named))) {
          const status = `invalid: ${list.type === 1 ? 'TICK (unknown)' : 'ADDRESS (format)'}`;
          this.#note(index, 'list_edits', status);
          this.#note(index, 'list_items_invalid', status);
          continue;
        }
        if (seen.has(named)) continue;
        seen.add(named);
        this.#note(index, 'list_edits', 'valid');
        if (list.type === 2) this.#meet(named);
        if (format === 1 && get('EDIT') === '2') list.members.delete(named);
        else list.members.add(named);
      }
      this.#lists.set(index, list);
    }
    return this.#judge(doing, 'lists', refusal);
  }

  #broadcast(doing: Doing): boolean {
    const formats = [
      'MESSAGE VALUE',
      'MESSAGE VALUE FEE MEMO',
      'MESSAGE FEE MEMO',
      'BROADCAST_ACTION_INDEX VALUE MEMO'
    ];
    const get = named(formats[doing.format]!, doing.fields);
    const isNumber = (text: string) => text === '' || /^-?[0-9]{1,40}(\.[0-9]{1,40})?$/.test(text);
    const updated = readWhole(get('BROADCAST_ACTION_INDEX'));
    const refusal = firstOf([
      () => !isNumber(get('VALUE')) && 'VALUE (format)',
      () => !isNumber(get('FEE')) && 'FEE (format)',
      () => doing.format === 3 && updated === null && 'BROADCAST_ACTION_INDEX (format)',
      this.#sourceSleeps(doing),
      () => doing.format === 3 && !this.#valid.has(updated!) && 'BROADCAST_ACTION_INDEX (status)',
      () => points(get('MESSAGE')) > 250 && 'MESSAGE (length)',
      () => get('VALUE').length > 25 && 'VALUE (length)',
      () => get('FEE').length > 11 && 'FEE (length)',
      ...memoTests(get('MEMO'))
    ]);
    return this.#judge(doing, 'broadcasts', refusal);
  }

  #message(doing: Doing): boolean {
    const hasKey = doing.format < 2;
    const names = [
      'ENCRYPTION_METHOD ENCRYPTION_KEY',
      'ENCRYPTION_METHOD ENCRYPTION_KEY',
      'ENCRYPTED_MESSAGE',
      'PLAINTEXT_MESSAGE'
    ];
    const get = named(`COIN DESTINATION ${names[doing.format]}`, doing.fields);
    const to = this.#resolve(get('DESTINATION'));
    const method = readWhole(get('ENCRYPTION_METHOD'));
    const coin = get('COIN').toUpperCase();
    const refusal = firstOf([
      () => to === null && 'DESTINATION (unresolvable ^id)',
      () => !COINS.includes(coin) && 'COIN (value)',
      () => !this.#isAddress(to!, coin) && 'DESTINATION (format)',
      () => hasKey && method === null && 'ENCRYPTION_METHOD (format)',
      this.#sourceSleeps(doing),
      () => hasKey && ![1, 2, 3].includes(method!) && 'ENCRYPTION_METHOD (value)',
      ...['ENCRYPTION_KEY', 'ENCRYPTED_MESSAGE', 'PLAINTEXT_MESSAGE'].map(
        (field) => () => points(get(field)) > 1_048_576 && (`${field} (length)` as const)
      )
    ]);
    if (to !== null && COINS.includes(coin) && this.#isAddress(to, coin)) this.#meet(to);
    return this.#judge(doing, 'messages', refusal);
  }

  #file(doing: Doing): boolean {
    const get = named('NAME TYPE TITLE MEMO GATE_TICKER ENCRYPTION_METHOD KEY_HASH GATE_MIN_AMOUNT', doing.fields);
    const isGated = get('GATE_TICKER') !== '';
    const token = isGated ? this.#token(get('GATE_TICKER')) : null;
    const text = get('GATE_MIN_AMOUNT');
    const least = () => (text.length > 40 || /^0[0-9]/.test(text) ? 0n : (readAmount(text, token!.decimals) ?? 0n));
    const refusal = firstOf([
      this.#sourceSleeps(doing),
      () => points(get('NAME')) > 250 && 'NAME (length)',
      () => points(get('TYPE')) > 255 && 'TYPE (length)',
      () => points(get('TITLE')) > 250 && 'TITLE (length)',
      ...memoTests(get('MEMO')),
      () => isGated && readWhole(get('ENCRYPTION_METHOD')) !== 1 && 'ENCRYPTION_METHOD (must be 1)',
      () => isGated && !/^[0-9a-f]{64}$/i.test(get('KEY_HASH')) && 'KEY_HASH (format)',
      () => isGated && token === null && 'GATE_TICKER (unknown)',
      () => isGated && token!.owner !== doing.source && 'SOURCE (not GATE_TICKER issuer)',
      () => isGated && token!.isHeld && 'GATE_TICKER (ownership escrowed)',
      () => text !== '' && (!isGated || least() === 0n) && 'GATE_MIN_AMOUNT'
    ]);
    if (refusal === null && token) {
      this.#note(doing.index, 'gated_files', 'valid');
      const own = text === '' ? 0n : least();
      this.#gates.set(token, min(this.#gates.get(token) ?? own, own));
    }
    return this.#judge(doing, 'files', refusal);
  }

  #link(doing: Doing): boolean {
    const get = named('COIN1 COIN1_ACTION_INDEX COIN2 COIN2_ACTION_INDEX MEMO', doing.fields);
    const ends = ['COIN1', 'COIN2'];
    const coin = (end: string) => get(end).toUpperCase();
    const number = (end: string) => readWhole(get(`${end}_ACTION_INDEX`));
    const token = () => (coin('COIN2') === 'BTC' ? (this.#valid.get(number('COIN2')!) ?? null) : null);
    const refusal = firstOf([
      ...ends.map((end) => () => !COINS.includes(coin(end)) && (`${end} (unsupported COIN network)` as const)),
      ...ends.map((end) => () => number(end) === null && (`${end}_ACTION_INDEX (format)` as const)),
      this.#sourceSleeps(doing),
      ...ends.map(
        (end) => () =>
          coin(end) === 'BTC' && !this.#valid.has(number(end)!) && (`${end}_ACTION_INDEX (status)` as const)
      ),
      () => (token()?.owner ?? doing.source) !== doing.source && 'SOURCE (not authorized)',
      () => token()?.isHeld === true && 'TICK (ownership escrowed)',
      ...memoTests(get('MEMO'))
    ]);
    return this.#judge(doing, 'links', refusal);
  }

  #sleep(doing: Doing): boolean {
    const get = named(doing.format === 0 ? 'RESUME_BLOCK MEMO' : 'RESUME_BLOCK TICK MEMO', doing.fields);
    const token = doing.format === 1 ? this.#token(get('TICK')) : null;
    const resume = Number(get('RESUME_BLOCK'));
    const refusal = firstOf([
      () => doing.format === 1 && token === null && 'TICK (unknown)',
      () => !/^-?[0-9]{1,15}$/.test(get('RESUME_BLOCK')) && 'RESUME_BLOCK (format)',
      () => resume !== -1 && resume !== 0 && resume < this.#height && 'RESUME_BLOCK (block_index)',
      this.#sourceSleeps(doing),
      () => token !== null && token.owner !== doing.source && 'TICK (not authorized)',
      () => token?.locks['SLEEP'] === true && 'LOCK_SLEEP',
      () => token?.isHeld === true && 'TICK (ownership escrowed)',
      ...memoTests(get('MEMO'))
    ]);
    if (refusal === null) this.#sleeps.set(token ? `tick ${token.tick}` : `address ${doing.source}`, resume);
    if (doing.format === 1) this.#name(get('TICK'));
    return this.#judge(doing, 'sleeps', refusal);
  }

  // Actions about many addresses

  #callback(doing: Doing): boolean {
    const { source } = doing;
    const get = named('TICK MEMO', doing.fields);
    const token = this.#token(get('TICK'));
    const paid = token?.callbackTick ?? null;
    const others = () => this.#holders(token!).filter(({ address }) => address !== source);
    const holders = () => mostOf(others().filter(({ address }) => !this.#isBarred(paid!, address)));
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
      this.#sourceSleeps(doing),
      this.#tickSleeps(token),
      this.#tickSleeps(paid, 'CALLBACK_TICK'),
      () => token!.callbackBlock! > this.#height && 'CALLBACK_BLOCK (block index)',
      ...memoTests(get('MEMO')),
      () => others().length > 0 && holders().length === 0 && 'CALLBACK_TICK (holder not authorized)',
      () => this.#balance(paid, source) < total() && 'insufficient funds (CALLBACK_TICK)',
      this.#pays(
        doing,
        () => this.#rules.fees.gas['callback']! + holders().length * this.#rules.fees.gas['recipient']!,
        () => this.#inGas(paid, total())
      )
    ]);
    if (refusal === null)
      for (const { address, amount } of holders()) {
        this.#transfer(doing, token!, address, source, amount);
        if (share(amount) > 0n) this.#transfer(doing, paid!, source, address, share(amount));
      }
    this.#name(get('TICK'));
    return this.#judge(doing, 'callbacks', refusal);
  }

  #airdrop(doing: Doing): boolean {
    const { source, format, fields } = doing;
    const [first = '', ...others] = fields;
    const texts = [
      groups(fields.slice(0, 4), 4),
      groupsAndMemo(others, 2).map(([tick, amount, memo]) => [tick!, amount!, first, memo!]),
      groupsAndMemo(fields, 3),
      groups(fields, 4)
    ][format]!;
    const verdicts = (texts.length > 0 ? texts : [['', '', '', '']]).map(([tick, text, listText, memo]) => {
      const token = this.#token(tick!);
      const amount = readAmount(text!, token?.decimals ?? 18);
      const list = this.#lists.get(readWhole(listText!) ?? 0) ?? null;
      const recipients = () => {
        if (amount === 0n) return []; // who gets nothing has no row
        const all = [...list!.members].flatMap((member) =>
          list!.type === 2 ? member : this.#holders(this.#token(member)!).map(({ address }) => address)
        );
        return [...new Set(all)].filter((address) => !this.#isBarred(token!, address));
      };
      const refusal = firstOf([
        () => token === null && 'TICK (unknown)',
        () => amount === null && 'AMOUNT (format)',
        () => readWhole(listText!) === null && 'LIST_ACTION_INDEX (format)',
        this.#sourceSleeps(doing),
        this.#tickSleeps(token),
        ...memoTests(memo!),
        () => list === null && 'LIST (unknown)',
        () => this.#isBarred(token!, source) && 'SOURCE (not authorized)',
        () => this.#balance(token, source) < amount! && 'insufficient funds',
        () => this.#balance(token, source) < amount! * BigInt(recipients().length) && 'insufficient funds (TICK)',
        this.#pays(
          doing,
          () => recipients().length * this.#rules.fees.gas['recipient']!,
          () => this.#inGas(token, amount! * BigInt(recipients().length))
        )
      ]);
      if (refusal === null)
        for (const recipient of recipients()) this.#transfer(doing, token!, source, recipient, amount!);
      this.#name(tick!);
      return this.#judge(doing, 'airdrops', refusal);
    });
    return verdicts.includes(true);
  }

  #dividend(doing: Doing): boolean {
    const { source } = doing;
    const get = named('TICK DIVIDEND_TICK AMOUNT MEMO', doing.fields);
    const [token, paid] = [this.#token(get('TICK')), this.#token(get('DIVIDEND_TICK'))];
    const amount = readAmount(get('AMOUNT'), paid?.decimals ?? 18);
    const shares = () =>
      mostOf(
        this.#holders(token!)
          .filter(({ address }) => address !== source && !this.#isBarred(paid!, address))
          .map((held) => ({ address: held.address, amount: cut((held.amount * amount!) / E18, paid!.decimals) }))
          .filter((share) => share.amount > 0n)
      );
    const total = () => shares().reduce((sum, share) => sum + share.amount, 0n);
    const refusal = firstOf([
      () => token === null && 'TICK (unknown)',
      () => paid === null && 'DIVIDEND_TICK (unknown)',
      () => amount === null && 'AMOUNT (format)',
      this.#sourceSleeps(doing),
      this.#tickSleeps(token),
      this.#tickSleeps(paid, 'DIVIDEND_TICK'),
      ...memoTests(get('MEMO')),
      () => this.#balance(paid, source) < total() && 'insufficient funds (TICK)',
      this.#pays(
        doing,
        () => shares().length * this.#rules.fees.gas['recipient']!,
        () => this.#inGas(paid, total())
      )
    ]);
    if (refusal === null)
      for (const { address, amount: share } of shares()) this.#transfer(doing, paid!, source, address, share);
    for (const field of ['TICK', 'DIVIDEND_TICK']) this.#name(get(field));
    return this.#judge(doing, 'dividends', refusal);
  }

  #sweep(doing: Doing): boolean {
    const { source } = doing;
    const get = named('DESTINATION BALANCES OWNERSHIPS ORDERS SWAPS DISPENSERS MEMO', doing.fields);
    const to = this.#resolve(get('DESTINATION'));
    const flag = (name: string) => get(name) || (['BALANCES', 'OWNERSHIPS'].includes(name) ? '1' : '0');
    const format = (name: string, told: string) => () => !['0', '1'].includes(flag(name)) && `${told} (format)`;
    const items = () => {
      const count = (name: string, all: readonly unknown[]) => (flag(name) === '1' ? all.length : 0);
      const isOpen = (one: { source: string; status: string }) => one.source === source && one.status === 'open';
      const trades = (kind: string) => this.#trades.filter((one) => one.kind === kind && isOpen(one));
      const owned = this.#tokens.filter(({ owner, isHeld }) => owner === source && !isHeld);
      return (
        count(
          'BALANCES',
          this.#tokens.filter((token) => this.#balance(token, source) > 0n)
        ) +
        count('OWNERSHIPS', owned) +
        count('ORDERS', trades('ORDER')) +
        count('SWAPS', trades('SWAP')) +
        count('DISPENSERS', this.#dispensers.filter(isOpen))
      );
    };
    const refusal = firstOf([
      () => to === null && 'DESTINATION (unresolvable ^id)',
      () => to === '' && 'DESTINATION (null)',
      () => !this.#isAddress(to!) && 'DESTINATION (format)',
      format('BALANCES', 'BALANCES'),
      format('OWNERSHIPS', 'OWNERSHIP'),
      format('ORDERS', 'ORDERS'),
      format('SWAPS', 'SWAPS'),
      format('DISPENSERS', 'DISPENSERS'),
      this.#sourceSleeps(doing),
      ...memoTests(get('MEMO')),
      this.#pays(doing, () => this.#rules.fees.gas['sweep']! + items() * this.#rules.fees.gas['item']!)
    ] as Test[]);
    if (refusal === null) {
      const isOwn = (one: { source: string; status: string }) => one.source === source && one.status === 'open';
      for (const kind of ['ORDER', 'SWAP'])
        if (flag(`${kind}S`) === '1')
          for (const trade of this.#trades.filter((one) => one.kind === kind && isOwn(one)))
            this.#endTrade(doing, trade, 'cancelled', to!);
      if (flag('DISPENSERS') === '1')
        for (const one of this.#dispensers.filter(isOwn)) this.#cancelDispenser(doing, one, to!);
      if (flag('BALANCES') === '1')
        for (const token of this.#tokens) {
          const amount = this.#balance(token, source);
          if (amount > 0n) this.#transfer(doing, token, source, to!, amount);
        }
      if (flag('OWNERSHIPS') === '1') {
        const own = this.#tokens.filter(({ owner, isHeld }) => owner === source && !isHeld);
        for (const token of own.sort((a, b) => byBytes(a.tick, b.tick))) this.#newOwner(doing, token, to!);
      }
    }
    this.#meetIfAddress(to);
    return this.#judge(doing, 'sweeps', refusal);
  }

  // Offers

  #side(get: (name: string) => string, side: 'GIVE' | 'GET'): SideFields {
    const token = this.#token(get(`${side}_TICK`));
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

  #ownershipTests({ source }: Doing, give: SideFields): Test[] {
    const { isOwnership, token, amount, text } = give;
    return [
      () => isOwnership && token === null && 'GIVE_TICK (native coin has no ownership)',
      () => isOwnership && text !== '' && 'GIVE_AMOUNT (must be empty when GIVE_OWNERSHIP=1)',
      () => isOwnership && token!.owner !== source && 'SOURCE (not GIVE_TICK owner)',
      () => isOwnership && token!.isHeld && 'GIVE_TICK (ownership already escrowed)',
      () => !isOwnership && !amount && 'GIVE_AMOUNT (required and greater than 0 when GIVE_OWNERSHIP=0)'
    ];
  }

  #termTests(get: (name: string) => string): Test[] {
    const lists = ['ALLOW_LIST', 'BLOCK_LIST'].flatMap((field) => {
      const list = () => this.#lists.get(readWhole(get(field)) ?? 0);
      const isNamed = get(field) !== '' && get(field) !== '0';
      return [
        () => isNamed && !list() && (`${field} (unknown)` as const),
        () => isNamed && list()!.type !== 2 && (`${field} (unsupported)` as const)
      ];
    });
    return [
      () => get('EXPIRATION') !== '' && readWhole(get('EXPIRATION'))! <= this.#time && 'EXPIRATION (past)',
      ...lists
    ];
  }

  #expirationTest(get: (name: string) => string): Test {
    return () => get('EXPIRATION') !== '' && readWhole(get('EXPIRATION')) === null && 'EXPIRATION (format)';
  }

  #expirationOf(get: (name: string) => string): number {
    return get('EXPIRATION') === '' ? this.#time + 90 * DAY : readWhole(get('EXPIRATION'))!;
  }

  #trade(kind: 'ORDER' | 'SWAP', doing: Doing): boolean {
    const { source, index } = doing;
    const get = named(TRADE_FIELDS, doing.fields);
    const [give, want] = [this.#side(get, 'GIVE'), this.#side(get, 'GET')];
    const getAddress = this.#resolve(get('GET_ADDRESS') || source);
    const mayBeCoin = kind === 'ORDER';
    const refusal = firstOf([
      () => getAddress === null && 'GET_ADDRESS (unresolvable ^id)',
      () => !COINS.includes(give.coin) && 'GIVE_COIN (unsupported COIN network)',
      () => !COINS.includes(want.coin) && 'GET_COIN (unsupported COIN network)',
      () => give.coin !== 'BTC' && 'GIVE_COIN (network)',
      () => want.coin !== 'BTC' && 'GET_COIN (cross-chain not enabled)',
      () => mayBeCoin && give.tick === '' && want.tick === '' && 'cannot trade native coin for native coin',
      () => give.token === null && !(mayBeCoin && give.tick === '') && 'GIVE_TICK (unknown)',
      () => want.token === null && !(mayBeCoin && want.tick === '') && 'GET_TICK (unknown)',
      () => give.text !== '' && give.amount === null && 'GIVE_AMOUNT (format)',
      () => want.text !== '' && want.amount === null && 'GET_AMOUNT (format)',
      () => !want.isOwnership && !want.amount && 'GET_AMOUNT (must be positive)',
      () => !this.#isAddress(getAddress!) && 'GET_ADDRESS (format)',
      this.#expirationTest(get),
      () => !['', '0', '1'].includes(give.mark) && 'GIVE_OWNERSHIP (format)',
      () => !['', '0', '1'].includes(want.mark) && 'GET_OWNERSHIP (format)',
      ...this.#ownershipTests(doing, give),
      () => want.isOwnership && want.token === null && 'GET_TICK (native coin has no ownership)',
      () => want.isOwnership && want.text !== '' && 'GET_AMOUNT (must be empty when GET_OWNERSHIP=1)',
      this.#sourceSleeps(doing),
      this.#tickSleeps(give.token),
      ...memoTests(get('MEMO')),
      () => give.token !== null && this.#isBarred(give.token, source) && 'SOURCE (not authorized)',
      () => this.#isKeptOut(give, want, getAddress!) && 'GET_ADDRESS (not authorized)',
      ...this.#termTests(get),
      () =>
        give.token !== null &&
        !give.isOwnership &&
        this.#balance(give.token, source) < give.amount! &&
        'insufficient funds (GIVE_AMOUNT)',
      this.#pays(
        doing,
        () => this.#offerGas(get, give),
        () => (give.isOwnership ? 0n : this.#inGas(give.token, give.amount!))
      )
    ]);
    if (refusal === null) {
      const side = ({ token, amount, isOwnership }: SideFields): Side => {
        return { token, amount: isOwnership ? E18 : amount!, isOwnership };
      };
      const trade: Trade = {
        ...{ kind, index, source, status: 'open', give: side(give), get: side(want) },
        ...{ giveLeft: side(give).amount, getLeft: side(want).amount, getAddress: getAddress! },
        ...{
          expiration: this.#expirationOf(get),
          heir: source,
          allow: this.#root(get('ALLOW_LIST')),
          block: this.#root(get('BLOCK_LIST'))
        }
      };
      this.#trades.push(trade);
      this.#hold(doing, trade.give);
      this.#note(index, `${kind.toLowerCase()}_statuses`, 'open');
      doing.next.push(() => this.#match(trade));
    }
    for (const { tick } of [give, want]) this.#name(tick);
    this.#meetIfAddress(getAddress);
    return this.#judge(doing, `${kind.toLowerCase()}s`, refusal);
  }

  #changeTrade(kind: 'ORDER' | 'SWAP', doing: Doing): boolean {
    const isCancel = doing.format === 1;
    const field = `${kind}_ACTION_INDEX`;
    const get = named(isCancel ? `${field} MEMO` : `${field} EXPIRATION ALLOW_LIST BLOCK_LIST MEMO`, doing.fields);
    const trade = this.#trades.find((one) => one.kind === kind && one.index === readWhole(get(field)));
    const refusal = firstOf([
      this.#expirationTest(get),
      this.#sourceSleeps(doing),
      ...memoTests(get('MEMO')),
      () => !trade && `${field} (unknown)`,
      () => trade!.source !== doing.source && 'SOURCE (not owner)',
      () => trade!.status !== 'open' && `${field} (${kind.toLowerCase()} not open)`,
      ...this.#termTests(get)
    ]);
    if (refusal === null && isCancel) this.#endTrade(doing, trade!, 'cancelled', trade!.source);
    else if (refusal === null) {
      if (get('EXPIRATION') !== '') trade!.expiration = readWhole(get('EXPIRATION'))!;
      if (get('ALLOW_LIST') !== '') trade!.allow = this.#root(get('ALLOW_LIST'));
      if (get('BLOCK_LIST') !== '') trade!.block = this.#root(get('BLOCK_LIST'));
      doing.next.push(() => this.#match(trade!));
    }
    return this.#judge(doing, `${kind.toLowerCase()}_${isCancel ? 'cancels' : 'edits'}`, refusal);
  }

  /** Matches a trade until nothing fits it. */
  #match(taker: Trade): void {
    const canMatch = ({ give, get, getAddress }: Trade) => !this.#isKeptOut(give, get, getAddress);
    const isExact = ({ give, get }: Trade) => this.#isExact(give) && this.#isExact(get);
    while (taker.status === 'open' && isExact(taker) && canMatch(taker)) {
      const isSame = (a: Side, b: Side) => a.token === b.token && a.isOwnership === b.isOwnership;
      const makers = this.#trades
        .filter((one) => one.kind === taker.kind && one.status === 'open' && one.source !== taker.source)
        .filter((one) => isSame(one.give, taker.get) && isSame(one.get, taker.give))
        .filter((one) => one.giveLeft > 0n && one.getLeft > 0n)
        .filter((one) => one.give.amount * taker.give.amount >= taker.get.amount * one.get.amount)
        .sort((a, b) => {
          const better = b.give.amount * a.get.amount - a.give.amount * b.get.amount;
          return better === 0n ? a.index - b.index : better < 0n ? -1 : 1;
        });
      const found = makers.find((maker) => {
        if (!canMatch(maker)) this.#expireTrade(maker);
        else return isExact(maker) && this.#fill(maker, taker) !== null && !this.#isApart(maker, taker);
        return false;
      });
      if (!found) return;
      this.#settle(found, taker, this.#fill(found, taker)!);
    }
  }

  /** Whether the lists of a token bar the receiver. */
  #isKeptOut(give: Pick<Side, 'token'>, get: Pick<Side, 'token'>, getAddress: string): boolean {
    return [give, get].some(({ token }) => token !== null && this.#isBarred(token, getAddress));
  }

  /** Whether an amount has no more places than its token has by now. */
  #isExact({ token, amount }: Side): boolean {
    return token === null || cut(amount, token.decimals) === amount;
  }

  #fill(maker: Trade, taker: Trade): { give: bigint; get: bigint } | null {
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

  #isApart(maker: Trade, taker: Trade): boolean {
    const lists: Lists[] = [maker, taker];
    for (const { token } of [taker.give, taker.get]) if (token) lists.push(token);
    return lists.some((one) => [maker, taker].some(({ getAddress }) => this.#isBarred(one, getAddress)));
  }

  #settle(maker: Trade, taker: Trade, { give, get }: { give: bigint; get: bigint }): void {
    const doing = this.#system(`${taker.kind}_MATCH`, taker.source);
    const isInstant = taker.give.token !== null && taker.get.token !== null;
    this.#note(doing.index, `${taker.kind.toLowerCase()}_matches`, isInstant ? 'valid' : 'pending_coinpay');
    maker.giveLeft -= get;
    maker.getLeft -= give;
    taker.giveLeft -= give;
    taker.getLeft -= get;
    if (isInstant) {
      this.#release(doing, taker.give, give, maker.getAddress, maker.getAddress);
      this.#release(doing, maker.give, get, taker.getAddress, taker.getAddress);
    } else {
      const [buyer, seller, coins, sold] =
        taker.give.token === null ? [taker, maker, give, get] : [maker, taker, get, give];
      this.#note(doing.index, 'coinpay_statuses', 'pending_coinpay');
      this.#owed.push({
        ...{ index: doing.index, status: 'pending_coinpay', payee: seller.getAddress, coins, seller, buyer },
        ...{ sold: { ...seller.give, amount: sold }, expiration: this.#time + 7_200 }
      });
    }
    for (const trade of [maker, taker]) this.#maybeComplete(doing, trade);
  }

  #isAwaited(trade: Trade): boolean {
    return this.#owed.some(
      ({ status, seller, buyer }) => status === 'pending_coinpay' && (seller === trade || buyer === trade)
    );
  }

  #setStatus(doing: Doing, trade: Trade, status: string): void {
    trade.status = status;
    this.#note(doing.index, `${trade.kind.toLowerCase()}_statuses`, status);
  }

  #maybeComplete(doing: Doing, trade: Trade): void {
    if (this.#isAwaited(trade)) return;
    if (trade.status === 'cancelling') this.#setStatus(doing, trade, 'cancelled');
    else if (trade.status === 'expiring') this.#setStatus(doing, trade, 'expired');
    else if (trade.status === 'open' && this.#isUsedUp(trade)) {
      this.#release(doing, trade.give, trade.giveLeft, trade.source, trade.source);
      this.#setStatus(doing, trade, 'complete');
    }
  }

  /** Whether nothing is left of a side, or what it still gets pays for no unit of what it gives. */
  #isUsedUp({ give, get, giveLeft, getLeft }: Trade): boolean {
    if (giveLeft <= 0n || getLeft <= 0n) return true;
    return cut((getLeft * give.amount) / get.amount, placesOf(give)) === 0n;
  }

  #endTrade(doing: Doing, trade: Trade, ending: 'cancelled' | 'expired', to: string): void {
    trade.heir = to;
    this.#release(doing, trade.give, trade.giveLeft, trade.source, to);
    const pending = ending === 'cancelled' ? 'cancelling' : 'expiring';
    this.#setStatus(doing, trade, this.#isAwaited(trade) ? pending : ending);
  }

  #expireTrade(trade: Trade): void {
    if (trade.status !== 'open') return;
    const doing = this.#system(`${trade.kind}_EXPIRE`, trade.source);
    this.#note(doing.index, `${trade.kind.toLowerCase()}_expires`, 'valid');
    this.#endTrade(doing, trade, 'expired', trade.source);
  }

  #coinpay(match: number | null, transaction: ReferenceTransaction, txIndex: number): void {
    for (const { vout, address, amount } of transaction.outputs ?? []) {
      const output = `${transaction.hash} ${vout}`;
      const spent = this.#spent.get(output) ?? 0n;
      const owed = this.#owed.find(({ index, status }) => index === match && status === 'pending_coinpay');
      if (owed?.payee !== address || amount - spent < owed.coins) continue;
      this.#spent.set(output, spent + owed.coins);
      const doing = this.#system('COINPAY', transaction.source, txIndex);
      const isLate = this.#time >= owed.expiration;
      this.#judge(doing, 'coinpays', isLate ? 'COINPAY obligation expired' : null);
      if (isLate) return;
      this.#release(doing, owed.sold, owed.sold.amount, owed.seller.source, owed.buyer.getAddress);
      this.#finishOwed(doing, owed, 'fulfilled');
      return;
    }
  }

  #expireOwed(owed: Owed): void {
    if (owed.status !== 'pending_coinpay') return;
    const { source, heir } = owed.seller;
    const doing = this.#system('COINPAY_EXPIRE', source);
    this.#note(doing.index, 'coinpay_expires', 'valid');
    this.#release(doing, owed.sold, owed.sold.amount, source, heir);
    owed.buyer.giveLeft += owed.coins;
    owed.buyer.getLeft += owed.sold.amount;
    this.#finishOwed(doing, owed, 'expired');
    if (owed.buyer.status === 'open') this.#endTrade(doing, owed.buyer, 'expired', owed.buyer.source);
  }

  #finishOwed(doing: Doing, owed: Owed, status: string): void {
    owed.status = status;
    this.#note(doing.index, 'coinpay_statuses', status);
    for (const trade of [owed.seller, owed.buyer]) this.#maybeComplete(doing, trade);
  }

  #dispenser(doing: Doing): boolean {
    const { source, index } = doing;
    const get = named(DISPENSER_FIELDS, doing.fields);
    const [give, want] = [this.#side(get, 'GIVE'), this.#side(get, 'GET')];
    const escrow = get('GIVE_ESCROW') === '' ? 0n : readAmount(get('GIVE_ESCROW'), give.token?.decimals ?? 8);
    const getAddress = get('GET_ADDRESS') || source;
    const fiat = get('FIAT_CODE').toUpperCase();
    const [fiatAmount, oracle] = [get('FIAT_AMOUNT'), get('ORACLE_ADDRESS')];
    const isInBatch = (doing.siblings ?? []).length > 0;
    const isPermitted = () => {
      if (getAddress === source) return true;
      if (isInBatch) return false;
      const said = this.#preferences.get(getAddress)?.dispenser ?? '';
      if (said !== '') return Number(said) === 2;
      const first = this.#dispensers.find((one) => one.getAddress === getAddress);
      if (first) return first.source === source;
      return !this.#addresses.slice(0, this.#knownAddresses).includes(getAddress);
    };
    const refusal = firstOf([
      () => !COINS.includes(give.coin) && 'GIVE_COIN (unsupported COIN network)',
      () => !COINS.includes(want.coin) && 'GET_COIN (unsupported COIN network)',
      () => give.coin !== 'BTC' && 'GIVE_COIN (network)',
      () => want.coin !== 'BTC' && 'GET_COIN (network)',
      () => give.token === null && 'GIVE_TICK (unknown)',
      () => want.tick !== '' && want.token === null && 'GET_TICK (unknown)',
      () => fiat !== '' && !FIATS.includes(fiat) && 'FIAT_CODE (unsupported FIAT)',
      () =>
        fiat !== '' &&
        oracle === '' &&
        fiatAmount === '' &&
        'FIAT_AMOUNT (required when FIAT_CODE is set without ORACLE_ADDRESS)',
      () => fiat === '' && fiatAmount !== '' && 'FIAT_CODE (required when FIAT_AMOUNT is set)',
      () => fiat === '' && oracle !== '' && 'FIAT_CODE (required when ORACLE_ADDRESS is set)',
      () => oracle !== '' && !this.#isAddress(oracle) && 'ORACLE_ADDRESS (format)',
      () => give.text !== '' && give.amount === null && 'GIVE_AMOUNT (format)',
      () => escrow === null && 'GIVE_ESCROW (format)',
      () => !['', '0', '1'].includes(give.mark) && 'GIVE_OWNERSHIP (format)',
      () => give.isOwnership && give.text !== '' && 'GIVE_AMOUNT (must be empty when GIVE_OWNERSHIP=1)',
      () => give.isOwnership && get('GIVE_ESCROW') !== '' && 'GIVE_ESCROW (must be empty when GIVE_OWNERSHIP=1)',
      ...this.#ownershipTests(doing, give),
      () => want.text !== '' && want.amount === null && 'GET_AMOUNT (format)',
      () => !want.amount && 'GET_AMOUNT (must be positive)',
      () => !this.#isAddress(getAddress) && 'GET_ADDRESS (format)',
      this.#expirationTest(get),
      () =>
        fiatAmount !== '' &&
        (!/^[0-9]{1,15}(\.[0-9]{1,2})?$/.test(fiatAmount) || Number(fiatAmount) === 0) &&
        'FIAT_AMOUNT (format)',
      () => oracle !== '' && 'ORACLE_ADDRESS (no effective oracle price)',
      () => fiat !== '' && want.tick !== '' && 'FIAT_CODE (no price snapshot in the settlement window)',
      this.#sourceSleeps(doing),
      this.#tickSleeps(give.token),
      ...memoTests(get('MEMO')),
      () => this.#isBarred(give.token!, source) && 'SOURCE (not authorized)',
      () => this.#isBarred(give.token!, getAddress) && 'GET_ADDRESS (not authorized)',
      () => !isPermitted() && 'GET_ADDRESS (dispenser not permitted)',
      ...this.#termTests(get),
      () => this.#balance(give.token, source) < escrow! && 'insufficient funds (GIVE_ESCROW)',
      this.#pays(
        doing,
        () => this.#offerGas(get, give),
        () => (give.isOwnership ? 0n : this.#inGas(give.token, escrow!))
      )
    ]);
    if (refusal === null) {
      const side: Side = {
        token: give.token,
        amount: give.isOwnership ? E18 : give.amount!,
        isOwnership: give.isOwnership
      };
      const left = give.isOwnership ? E18 : escrow!;
      this.#hold(doing, { ...side, amount: left });
      this.#dispensers.push({
        ...{ index, source, status: 'open', give: side, getToken: want.token, getAmount: want.amount!, getAddress },
        fiat: fiat === '' ? null : { code: fiat, amount: readAmount(fiatAmount, 2)! },
        ...{
          left,
          refills: 0,
          served: 0,
          refused: 0,
          expiration: this.#expirationOf(get),
          closesAt: null,
          heir: source
        },
        lists: [{ from: 0, allow: this.#root(get('ALLOW_LIST')), block: this.#root(get('BLOCK_LIST')) }]
      });
      this.#note(index, 'dispenser_statuses', 'open');
    }
    for (const address of [getAddress, oracle].sort(byBytes)) this.#meetIfAddress(address);
    for (const { tick } of [give, want]) this.#name(tick);
    return this.#judge(doing, 'dispensers', refusal);
  }

  #changeDispenser(doing: Doing): boolean {
    const isCancel = doing.format === 1;
    const names = isCancel ? 'INDEX MEMO' : 'INDEX GIVE_ESCROW EXPIRATION ALLOW_LIST BLOCK_LIST MEMO';
    const get = named(names, doing.fields);
    const one = this.#dispensers.find(({ index }) => index === readWhole(get('INDEX')));
    const escrow = get('GIVE_ESCROW') === '' ? 0n : readAmount(get('GIVE_ESCROW'), one?.give.token?.decimals ?? 8);
    const refusal = firstOf([
      () => escrow === null && 'GIVE_ESCROW (format)',
      this.#expirationTest(get),
      this.#sourceSleeps(doing),
      ...memoTests(get('MEMO')),
      () => !one && 'DISPENSER_ACTION_INDEX (unknown)',
      () => ![one!.source, one!.getAddress].includes(doing.source) && 'SOURCE (not owner)',
      () => one!.status !== 'open' && 'DISPENSER_ACTION_INDEX (dispenser not open)',
      () => one!.give.isOwnership && get('GIVE_ESCROW') !== '' && 'GIVE_ESCROW (must be empty when GIVE_OWNERSHIP=1)',
      () => !isCancel && escrow! > 0n && !this.#isExact(one!.give) && 'GIVE_AMOUNT (format)',
      () => escrow! > 0n && one!.refills >= 5 && 'MAX_REFILLS (dispenser refill limit reached)',
      ...this.#termTests(get),
      () => this.#balance(one!.give.token, doing.source) < escrow! && 'insufficient funds (GIVE_ESCROW)'
    ]);
    if (refusal === null && isCancel) this.#cancelDispenser(doing, one!, doing.source);
    else if (refusal === null) {
      if (escrow! > 0n) {
        this.#hold(doing, { ...one!.give, amount: escrow! });
        one!.left += escrow!;
        one!.refills += 1;
        one!.served = 0;
        one!.refused = 0;
      }
      if (get('EXPIRATION') !== '') one!.expiration = readWhole(get('EXPIRATION'))!;
      if (get('ALLOW_LIST') !== '' || get('BLOCK_LIST') !== '') {
        const { allow, block } = one!.lists.at(-1)!;
        const list = (field: string, stored: number) => (get(field) === '' ? stored : this.#root(get(field)));
        one!.lists.push({
          from: this.#time + 3_600,
          allow: list('ALLOW_LIST', allow),
          block: list('BLOCK_LIST', block)
        });
      }
    }
    return this.#judge(doing, isCancel ? 'dispenser_cancels' : 'dispenser_edits', refusal);
  }

  #cancelDispenser(doing: Doing, one: Dispenser, heir: string): void {
    Object.assign(one, { status: 'cancelling', closesAt: this.#time + 3_600, heir });
    this.#note(doing.index, 'dispenser_statuses', 'cancelling');
  }

  #endDispenser(one: Dispenser, action: 'DISPENSER_EXPIRE' | 'DISPENSER_CLOSE', status: string): void {
    if (!['open', 'cancelling'].includes(one.status)) return;
    const isExpired = action === 'DISPENSER_EXPIRE';
    const doing = this.#system(action, one.source);
    this.#note(doing.index, isExpired ? 'dispenser_expires' : 'dispenser_closes', isExpired ? 'valid' : status);
    this.#release(doing, one.give, one.left, one.heir, one.heir);
    one.status = status;
    this.#note(doing.index, 'dispenser_statuses', status);
  }

  /**
   * Returns the number of fills that a payment buys, and the cost of some of them; null where the coin has no price in the
   * currency.
   */
  #bought(one: Dispenser, paid: bigint): { fills: bigint; cost: (fills: bigint) => bigint } | null {
    const { fiat, getAmount } = one;
    if (fiat === null) return { fills: paid / getAmount, cost: (fills) => fills * getAmount };
    const prices = this.#prices
      .filter(({ timestamp }) => timestamp >= this.#time - DAY)
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
  #dispense(
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
    const one = [...this.#dispensers.filter(isOwn), ...this.#dispensers.filter((each) => !isOwn(each))].find(
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
    const bought = this.#bought(one, paid);
    const doing = this.#system('DISPENSE', payer, txIndex);
    const fills = bought === null ? 0n : min(bought.fills, one.left / one.give.amount);
    const own = one.lists.findLast(({ from }) => from <= this.#time)!;
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
              allow !== 0 && !this.#has(allow, address) && (`${party} (${name} allow list)` as const)
        ),
        ...parties.map(
          ([party, address]) =>
            () =>
              block !== 0 && this.#has(block, address) && (`${party} (${name} block list)` as const)
        )
      ])
    ]);
    this.#judge(doing, 'dispenses', refusal);
    let left = paid;
    if (refusal === null) {
      left -= bought!.cost(fills);
      const given = fills * one.give.amount;
      this.#release(doing, one.give, given, payer, payer);
      one.left -= given;
      one.served += 1;
      if (one.left < one.give.amount) this.#endDispenser(one, 'DISPENSER_CLOSE', 'empty');
      else if (one.served + one.refused >= 1_000) this.#endDispenser(one, 'DISPENSER_CLOSE', 'max_dispenses_reached');
    } else {
      one.refused += 1;
      if (one.served + one.refused >= 1_000) this.#endDispenser(one, 'DISPENSER_CLOSE', 'max_dispenses_reached');
    }
    if (asked.dispensers >= 250) return;
    this.#dispense(payer, payee, token, left, { after: one, dispensers: asked.dispensers + 1, metEmpty }, txIndex);
  }

  // Stakes

  #keyTests(text: string): Test[] {
    return [
      () => text === '' && 'SIGNING_PUBKEY (required)',
      () => !/^[0-9a-f]{64}$/i.test(text) && 'SIGNING_PUBKEY (format)'
    ];
  }

  /** Stakes of a key that count and have no end. */
  #open(key: string): Stake[] {
    if (this.#barred.has(key)) return [];
    return this.#stakes.filter((one) => one.key === key && one.from <= this.#height && one.to === null);
  }

  #isStaked(key: string): boolean {
    const isOpen = this.#stakes.some((one) => one.key === key && one.to === null);
    const cools = this.#cooling.some((one) => one.key === key && one.block > this.#height);
    return isOpen || cools || this.#revoked.has(key) || this.#barred.has(key);
  }

  #isDelegated(key: string): boolean {
    return this.#delegations.some((one) => one.key === key && (one.to === null || one.to > this.#height));
  }

  #counts({ from, to }: { from: number; to: number | null }, height = this.#height): boolean {
    return from <= height && (to === null || to > height);
  }

  #stakedBy(source: string, height = this.#height): bigint {
    const own = this.#stakes.filter((one) => one.source === source && this.#counts(one, height));
    return own.reduce((sum, { amount }) => sum + amount, 0n);
  }

  #hasStake(source: string): boolean {
    return this.#stakedBy(source) > 0n;
  }

  /** Returns the staker behind a key in a block, with the weight; null where there is none. */
  #behind(key: string, height: number): { key: string; source: string; weight: bigint } | null {
    if (this.#barred.has(key)) return null;
    const delegation = this.#delegations.find((one) => one.key === key && this.#counts(one, height));
    if (delegation) return { key, source: delegation.source, weight: this.#stakedBy(delegation.source, height) };
    const own = this.#stakes.filter((one) => one.key === key && this.#counts(one, height));
    if (own.length === 0 || (this.#revoked.get(key) ?? Infinity) <= height) return null;
    return { key, source: own[0]!.source, weight: own.reduce((sum, { amount }) => sum + amount, 0n) };
  }

  /** The keys of a capability in a block. */
  #capable(capability: string, height: number) {
    const keys = new Set([...this.#stakes, ...this.#delegations].map(({ key }) => key));
    return [...keys]
      .sort()
      .flatMap((key) => this.#behind(key, height) ?? [])
      .filter(({ weight }) => weight >= CAPABILITIES[capability]! * E18);
  }

  #stake(doing: Doing): boolean {
    const { source } = doing;
    const get = named('AMOUNT SIGNING_PUBKEY', doing.fields);
    const amount = readAmount(get('AMOUNT'), 8);
    const key = get('SIGNING_PUBKEY').toLowerCase();
    const isNew = doing.format === 1;
    const refusal = firstOf([
      () => amount === null && 'AMOUNT (format)',
      () => amount === 0n && 'AMOUNT (must be greater than 0)',
      ...this.#keyTests(get('SIGNING_PUBKEY')),
      () => isNew && this.#isStaked(key) && 'SIGNING_PUBKEY (already in use)',
      () => isNew && this.#isDelegated(key) && 'SIGNING_PUBKEY (already delegated)',
      () => !isNew && this.#open(key).length === 0 && 'SIGNING_PUBKEY (no active stake to top up)',
      () => !isNew && this.#open(key).some((one) => one.source !== source) && 'SOURCE (does not own this stake)',
      () => this.#balance(this.#gas, source) < amount! && 'insufficient funds (STAKE)',
      this.#sourceSleeps(doing)
    ]);
    if (refusal === null) {
      this.#move(doing, 'debits', this.#gas!, source, amount!);
      this.#move(doing, 'escrows', this.#gas!, source, amount!);
      this.#stakes.push({ key, source, amount: amount!, from: this.#height + this.#rules.stakeDelay, to: null });
    }
    return this.#judge(doing, 'stakes', refusal);
  }

  #unstake(doing: Doing): boolean {
    const { source, index } = doing;
    const get = named('SIGNING_PUBKEY AMOUNT', doing.fields);
    const key = get('SIGNING_PUBKEY').toLowerCase();
    const open = this.#open(key);
    const all = open.reduce((sum, one) => sum + one.amount, 0n);
    const amount = get('AMOUNT') === '' ? all : readAmount(get('AMOUNT'), 8);
    const refusal = firstOf([
      ...this.#keyTests(get('SIGNING_PUBKEY')),
      () => open.length === 0 && 'SIGNING_PUBKEY (no active stake or unstake already in progress)',
      () => open[0]!.source !== source && 'SOURCE (does not own this stake)',
      this.#sourceSleeps(doing),
      () => amount === null && 'AMOUNT (format)',
      () => amount === 0n && 'AMOUNT (must be greater than 0)',
      () => amount! > all && 'AMOUNT (exceeds active stake)'
    ]);
    if (refusal === null) {
      const to = this.#height + this.#rules.stakeDelay;
      for (const one of open) one.to = to;
      if (amount! < all) {
        this.#stakes.push({ key, source, amount: all - amount!, from: to, to: null });
        this.#note(index, 'stakes', 'valid');
      }
      const block = this.#height + this.#rules.unstakeCooldown;
      this.#cooling.push({ index, key, source, amount: amount!, block });
    }
    return this.#judge(doing, 'unstakes', refusal);
  }

  #delegate(doing: Doing): boolean {
    const { source, index } = doing;
    const [text = ''] = doing.fields;
    const key = text.toLowerCase();
    const isRevoke = doing.format === 2;
    const isOwn = (one: Omit<Stake, 'amount'>) =>
      one.key === key && one.source === source && (one.to === null || one.to > this.#height);
    const own = this.#delegations.findLast(isOwn);
    const refusal = firstOf([
      ...this.#keyTests(text),
      () => !isRevoke && !this.#hasStake(source) && 'no active stake',
      () => !isRevoke && (this.#isStaked(key) || this.#isDelegated(key)) && 'SIGNING_PUBKEY (already in use)',
      () => isRevoke && !own && !this.#stakes.some(isOwn) && 'no active delegation or stake key for pubkey',
      () => isRevoke && (own ? own.to !== null : this.#revoked.has(key)) && 'SIGNING_PUBKEY (already revoked)',
      this.#sourceSleeps(doing)
    ]);
    if (refusal === null) {
      const block = this.#height + this.#rules.stakeDelay;
      if (!isRevoke) this.#delegations.push({ key, source, from: block, to: null });
      else if (own) own.to = block;
      else {
        this.#revoked.set(key, block);
        this.#note(index, 'stake_key_revocations', 'valid');
      }
    }
    return this.#judge(doing, 'delegations', refusal);
  }

  #collect(doing: Doing): boolean {
    const { source } = doing;
    const [text = ''] = doing.fields;
    const unclaimed = this.#unclaimed.get(source) ?? 0n;
    const amount = text === '' ? unclaimed : readAmount(text, 8);
    const pool = this.#rules.rewardPool;
    const refusal = firstOf([
      () => !this.#hasStake(source) && 'no active stake',
      this.#sourceSleeps(doing),
      () => unclaimed === 0n && 'no unclaimed rewards',
      () => amount === null && 'AMOUNT (format)',
      () => amount === 0n && 'AMOUNT (must be greater than 0)',
      () => amount! > unclaimed && 'AMOUNT (exceeds unclaimed rewards)',
      () => (pool === undefined || this.#balance(this.#gas, pool) < amount!) && 'insufficient reward pool'
    ]);
    if (refusal === null) {
      this.#unclaimed.set(source, unclaimed - amount!);
      this.#transfer(doing, this.#gas!, pool!, source, amount!);
    }
    return this.#judge(doing, 'reward_claims', refusal);
  }

  // Validators

  /** Nobody has asked. */
  #attest(doing: Doing): boolean {
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
      this.#sourceSleeps(doing),
      () => 'REQUEST_ID (unknown)'
    ]);
    return this.#judge(doing, 'attests', refusal);
  }

  #priceRound(doing: Doing): boolean {
    const { source, fields } = doing;
    const [round, timestamp, height] = [0, 1, 2].map((place) => readWhole(fields[place] ?? ''));
    const pairCount = readCount(fields[3]);
    const pairs: { pair: string; price: string }[] = [];
    for (let at = 4; pairs.length < (pairCount ?? 0); at += 2)
      pairs.push({ pair: fields[at] ?? '', price: fields[at + 1] ?? '' });
    const { count, sigs } = readSignatures(fields, 4 + 2 * (pairCount ?? 0));
    const all = () => this.#capable('price', height!);
    const signed = () => {
      const sorted = [...pairs].sort((a, b) => byBytes(a.pair, b.pair));
      const told = Buffer.from(JSON.stringify({ round, timestamp, btc_block_height: height, pairs: sorted }));
      const isSigner = (key: string) => {
        const own = sigs.findLast((one) => one.key === key);
        return own !== undefined && hasSigned(told, key, own.sig);
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
      this.#sourceSleeps(doing),
      () => (height! > this.#height || height! < this.#height - 144) && 'BTC_BLOCK_HEIGHT (block index)',
      () => this.#rounds.has(round!) && 'ROUND (already finalized)',
      () => this.#stakedBy(source) < 500n * E18 && 'SOURCE (not qualified)',
      () => weigh(signed()) * 3n <= weigh(all()) * 2n && 'SIG (no quorum)'
    ]);
    if (refusal === null) {
      this.#rounds.add(round!);
      const prices = new Map(pairs.map(({ pair, price }) => [pair, price]));
      this.#prices.push({ round: round!, timestamp: timestamp!, prices });
      this.#prices.sort((one, other) => other.round - one.round).splice(300);
      const earners = new Set(signed().map((one) => one.source));
      const share = cut((10n * E18) / BigInt(earners.size), 8);
      for (const earner of earners) this.#unclaimed.set(earner, (this.#unclaimed.get(earner) ?? 0n) + share);
    }
    return this.#judge(doing, 'prices', refusal);
  }

  #tokenPrice(doing: Doing): boolean {
    const get = named('COIN TICK FIAT VALUE FEE MEMO', doing.fields);
    const value = readAmount(get('VALUE'), 8);
    const refusal = firstOf([
      () => !COINS.includes(get('COIN').toUpperCase()) && 'COIN (unsupported)',
      () => (get('TICK') === '' || get('TICK').length > 250) && 'TICK (format)',
      () => !FIATS.includes(get('FIAT').toUpperCase()) && 'FIAT (unsupported)',
      () => !value && 'VALUE (format)',
      () => get('FEE') !== '' && (readAmount(get('FEE'), 18) ?? 2n * E18) > E18 && 'FEE (format)',
      this.#sourceSleeps(doing),
      ...memoTests(get('MEMO'))
    ]);
    this.#name(get('TICK'));
    return this.#judge(doing, 'prices', refusal);
  }

  #slash(doing: Doing): boolean {
    const get = named('CAPABILITY OFFENDER_PUBKEY MSG_A SIG_A MSG_B SIG_B', doing.fields);
    const capability = get('CAPABILITY').toLowerCase();
    const key = get('OFFENDER_PUBKEY').toLowerCase();
    const [a, b] = [readMessage(get('MSG_A')), readMessage(get('MSG_B'))];
    const isHex = (field: string) => /^[0-9a-f]{128}$/i.test(get(field));
    const had = (height: number) =>
      height <= this.#height && this.#capable(capability, height).some((one) => one.key === key);
    const refusal = firstOf([
      () => !Object.keys(CAPABILITIES).includes(capability) && 'CAPABILITY (unknown)',
      () => !/^[0-9a-f]{64}$/.test(key) && 'OFFENDER_PUBKEY (format)',
      () => a === null && 'MSG_A (format)',
      () => !isHex('SIG_A') && 'SIG_A (format)',
      () => b === null && 'MSG_B (format)',
      () => !isHex('SIG_B') && 'SIG_B (format)',
      this.#sourceSleeps(doing),
      () => ENGINES[capability] !== a!.engine && 'ENGINE_TAG (not slashable)',
      () => a!.slot !== b!.slot && 'MSG_B (other slot)',
      () => a!.content === b!.content && 'MSG_B (same content)',
      () => this.#barred.has(key) && 'OFFENDER_PUBKEY (already slashed)',
      () => (!had(a!.height) || !had(b!.height)) && 'OFFENDER_PUBKEY (not in snapshot)',
      () => !hasSigned(a!.bytes, key, get('SIG_A')) && 'SIG_A (not signed)',
      () => !hasSigned(b!.bytes, key, get('SIG_B')) && 'SIG_B (not signed)'
    ]);
    if (refusal === null) this.#takeBond(doing, key, [a!.height, b!.height]);
    return this.#judge(doing, 'capability_slash_events', refusal);
  }

  /** Takes what stands behind a key, and bars it. */
  #takeBond(doing: Doing, key: string, slots: readonly number[]): void {
    const delegations = this.#delegations.filter(
      (one) => one.key === key && slots.some((slot) => this.#counts(one, slot))
    );
    const isLost = (one: { key: string; source: string }) =>
      one.key === key || delegations.some(({ source }) => source === one.source);
    let taken = 0n;
    const take = (source: string, amount: bigint) => {
      taken += amount;
      if (amount > 0n) this.#move(doing, 'escrows', this.#gas!, source, -amount);
    };
    for (const one of this.#stakes.filter(isLost)) {
      if (one.to !== null && one.to <= this.#height) continue;
      if (one.to === null) take(one.source, one.amount);
      one.amount = 0n;
    }
    for (const one of this.#cooling.filter(isLost)) take(one.source, one.amount);
    this.#cooling = this.#cooling.filter((one) => !isLost(one));
    this.#barred.add(key);
    if (taken === 0n) return;
    let bounty = cut(taken / 20n, 8);
    if (bounty < 50n * E18) bounty = 50n * E18;
    bounty = min(min(bounty, 1_000n * E18), taken);
    this.#move(doing, 'credits', this.#gas!, doing.source, bounty);
    const pool = this.#rules.rewardPool;
    if (pool !== undefined && taken > bounty) this.#move(doing, 'credits', this.#gas!, pool, taken - bounty);
  }

  // Votes

  #poll(doing: Doing): boolean {
    const { source, index } = doing;
    const get = named(POLL_FIELDS, doing.fields);
    const token = this.#token(get('TICK'));
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
      this.#sourceSleeps(doing),
      () => get('TICK') === '' && 'TICK (missing)',
      () => token === null && 'TICK (unknown)',
      () => this.#balance(token, source) === 0n && 'SOURCE (must hold TICK to create poll)',
      () => (end === null || end <= this.#height) && 'END_BLOCK (must be a future block)',
      () => end! > this.#height + 105_120 && 'END_BLOCK (too far)',
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
      () => this.#balance(this.#gas, source) < deposit! && 'insufficient funds (DEPOSIT)'
    ]);
    if (refusal === null) {
      if (deposit! > 0n) {
        this.#move(doing, 'debits', this.#gas!, source, deposit!);
        this.#move(doing, 'escrows', this.#gas!, source, deposit!);
      }
      this.#polls.push({
        ...{ index, source, token: token!, end: end!, options: options.length, most: most!, weighing },
        ...{ isSplit: tally === 'split', quorum: quorum!, minVoters: minVoters!, minBalance: minBalance! },
        threshold: threshold! || null,
        ...{ deposit: deposit!, isOpen: true, ballots: new Map(), block: 0 }
      });
    }
    this.#name(get('TICK'));
    return this.#judge(doing, 'polls', refusal);
  }

  #ballot(doing: Doing): boolean {
    const { source } = doing;
    const get = named('POLL_REF BALLOT MEMO', doing.fields);
    const number = readWhole(get('POLL_REF'));
    const poll = this.#polls.find(({ index }) => index === number);
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
      this.#sourceSleeps(doing),
      () => number === null && 'POLL_REF (format)',
      () => !poll && 'POLL_REF (unknown poll)',
      () => !poll!.isOpen && 'poll closed',
      () => this.#balance(poll!.token, source) === 0n && 'SOURCE (must hold TICK to vote)',
      ...ballotTests,
      ...memoTests(get('MEMO'))
    ]);
    if (refusal === null) {
      poll!.ballots.set(source, parts);
      poll!.block = this.#height;
    }
    const rows = poll && firstOf(ballotTests) === null ? parts.length : 1;
    for (let row = 0; row < rows; row++) this.#judge(doing, 'votes', refusal);
    return refusal === null;
  }

  #proxy(doing: Doing): boolean {
    const { source } = doing;
    const get = named('TICK DELEGATE_TO MEMO', doing.fields);
    const token = this.#token(get('TICK'));
    const to = this.#resolve(get('DELEGATE_TO'));
    const isEnd = to === '' || to === source;
    const refusal = firstOf([
      () => to === null && 'DELEGATE_TO (unresolvable ^id)',
      () => token === null && 'TICK (unknown)',
      () => !isEnd && !this.#isAddress(to!) && 'DELEGATE_TO (format)',
      this.#sourceSleeps(doing),
      ...memoTests(get('MEMO'))
    ]);
    if (refusal === null) {
      const proxies = this.#proxies.get(token!) ?? new Map<string, string>();
      this.#proxies.set(token!, proxies);
      if (isEnd) proxies.delete(source);
      else proxies.set(source, to!);
    }
    this.#meetIfAddress(to);
    this.#name(get('TICK'));
    return this.#judge(doing, 'vote_delegations', refusal);
  }

  #voteOf({ token, minBalance }: Poll, holder: string, weighing: string): bigint {
    const held = this.#balance(token, holder);
    if (held === 0n || held < minBalance) return 0n;
    if (weighing === 'flat') return E18;
    if (weighing === 'stake') return this.#stakedBy(holder);
    return weighing === 'balance' ? held : rootOf(held * E18);
  }

  #countVotes(poll: Poll, weighing: string): { options: bigint[]; all: bigint; voters: number } {
    const options = Array.from({ length: poll.options }, () => 0n);
    let [all, voters] = [0n, 0];
    for (const [voter, choices] of poll.ballots) {
      let weight = this.#voteOf(poll, voter, weighing);
      for (const [from, to] of this.#proxies.get(poll.token) ?? [])
        if (to === voter && !poll.ballots.has(from)) weight += this.#voteOf(poll, from, weighing);
      if (weight === 0n) continue;
      all += weight;
      voters += 1;
      const shares = BigInt(choices.reduce((sum, { share }) => sum + share, 0));
      for (const { option, share } of choices)
        options[option]! += poll.isSplit ? (weight * BigInt(share)) / shares : weight;
    }
    return { options, all, voters };
  }

  #maybeClose(poll: Poll): void {
    const isEnd = poll.end <= this.#height;
    if (!isEnd && (poll.threshold === null || poll.block !== this.#height)) return;
    const { options, all, voters } = this.#countVotes(poll, poll.weighing);
    const held = this.#countVotes(poll, 'balance');
    const isShare = (amount: bigint, share: bigint) => amount * E18 >= share * poll.token.supply;
    const leader = options.indexOf(options.reduce((best, weight) => (weight > best ? weight : best), 0n));
    const isGood = all > 0n && isShare(held.all, poll.quorum) && voters >= poll.minVoters;
    if (!isEnd && !(isGood && isShare(held.options[leader]!, poll.threshold!))) return;
    const doing = this.#system('VOTE', poll.source);
    for (const _ of options) this.#note(doing.index, 'poll_results', 'valid');
    poll.isOpen = false;
    if (poll.deposit === 0n) return;
    this.#move(doing, 'escrows', this.#gas!, poll.source, -poll.deposit);
    const to = isGood ? poll.source : this.#rules.rewardPool;
    if (to !== undefined) this.#move(doing, 'credits', this.#gas!, to, poll.deposit);
  }
}
