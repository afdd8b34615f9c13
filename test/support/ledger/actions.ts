import { createHash } from 'node:crypto';
import { formatAmount, parseAmount } from '../../../src/consensus/amount.ts';
import type { BlockLedger } from './block-ledger.ts';
import type { Token } from './state.ts';

/** One command of a transaction's action string. */
export interface Command {
  readonly name: string;
  readonly fields: readonly string[];
}

/** Who does it, and under which index. */
export interface Performer {
  readonly actionIndex: number;
  readonly txIndex: number;
  readonly sourceId: number;
}

type Handler = (ledger: BlockLedger, by: Performer, fields: readonly string[]) => void;

const MAX_BATCH = 250;
const TICK = /^(?!\^)[\w~!@#$%^&*()+\-={}[\]:<>.?]{1,250}$/;

/** `SEND|0|TICK|…`: name upper-cased, fields trimmed, a missing VERSION filled in. */
export function parseCommand(text: string): Command {
  const [name = '', ...fields] = text.split('|').map((field) => field.trim());
  const upper = name.toUpperCase();
  const needsVersion = ['ISSUE', 'MINT', 'SEND'].includes(upper) && !/^\d{1,3}$/.test(fields[0] ?? '');
  return { name: upper, fields: needsVersion ? ['0', ...fields] : fields };
}

/** The commands of an action string: one, or those of a BATCH after the BATCH itself. */
export function parseActions(data: string): readonly Command[] {
  const first = parseCommand(data.split(';', 1)[0]!);
  if (first.name !== 'BATCH') return [parseCommand(data)];
  const [, , ...rest] = data.split('|');
  const inner = rest.join('|').split(';', MAX_BATCH).map(parseCommand);
  return [{ name: 'BATCH', fields: ['0'] }, ...inner.filter(({ name }) => name !== 'BATCH')];
}

/** Does one command: valid or not, it leaves its rows. */
export function perform(ledger: BlockLedger, by: Performer, { name, fields }: Command): void {
  const handler = HANDLERS[name];
  const { rows } = ledger;
  rows.add('actions', {
    action_index: by.actionIndex,
    block_index: ledger.height,
    tx_index: by.txIndex,
    tx_vout: null,
    action_id: ledger.id('index_actions', handler ? name : 'UNKNOWN'),
    action_format: /^\d{1,2}$/.test(fields[0] ?? '') ? Number(fields[0]) : null,
    source_id: by.sourceId
  });
  ledger.actions.push({ action_index: by.actionIndex, tx_index: by.txIndex, action: handler ? name : 'UNKNOWN' });
  handler?.(ledger, by, fields);
}

interface Leg {
  readonly tick: string;
  readonly amount: string;
  readonly destination: string;
}

const HANDLERS: Readonly<Record<string, Handler>> = {
  ISSUE: issue,
  MINT: mint,
  SEND: send,
  DESTROY: destroy,
  BATCH: (ledger, { actionIndex }) =>
    ledger.rows.add('batches', { action_index: actionIndex, status_id: status(ledger, null) }),
  BROADCAST: ({ rows }, { actionIndex }, [, text = '']) => {
    for (const id of new Set([text.length, text.length % 7]))
      rows.add('mappings_actions', { action_index: actionIndex, type_id: 1, id });
  },
  LIST: list,
  STAKE: stake,
  DELEGATE: delegate,
  DISPENSER: dispenser,
  ATTEST: attest,
  COLLECT: collect,
  DEPLOY: deploy,
  EXECUTE: execute
};

function status(ledger: BlockLedger, fault: string | null): number {
  return ledger.id('index_statuses', fault === null ? 'valid' : `invalid: ${fault}`);
}

function memo(ledger: BlockLedger, text: string | undefined): number | null {
  return text ? ledger.id('index_memos', text.slice(0, 250)) : null;
}

/** A token and an amount of it, or why not. */
function resolve(
  ledger: BlockLedger,
  tick: string,
  amountText: string
): { tickId: number; token: Token; amount: bigint } | string {
  const tickId = ledger.state.lookups.index_tickers.idOf(tick);
  const token = tickId === undefined ? undefined : ledger.state.tokens.get(tickId);
  if (tickId === undefined || token === undefined) return 'TICK (unknown)';
  const amount = parseAmount(amountText);
  const places = amountText.split('.')[1]?.length ?? 0;
  if (amount === null || amount === 0n || places > token.decimals) return 'AMOUNT (format)';
  return { tickId, token, amount };
}

function issue(ledger: BlockLedger, by: Performer, fields: readonly string[]): void {
  const [, tick = '', maxSupplyText = '', maxMintText = '', decimals = '', description = '', mintText = ''] = fields;
  const maxSupply = parseAmount(maxSupplyText || '0');
  const mintSupply = parseAmount(mintText || '0');
  const known = ledger.state.lookups.index_tickers.idOf(tick);
  let fault: string | null = null;
  if (!TICK.test(tick)) fault = 'TICK (format)';
  else if (known !== undefined && ledger.state.tokens.has(known)) fault = 'issued by another address';
  else if (maxSupply === null || mintSupply === null || mintSupply > maxSupply) fault = 'MAX_SUPPLY < SUPPLY';
  else if (!/^(|\d|1[0-8])$/.test(decimals)) fault = 'DECIMALS (min/max)';
  const tickId = TICK.test(tick) ? ledger.id('index_tickers', tick) : null;
  ledger.rows.add('issues', {
    action_index: by.actionIndex,
    tick_id: tickId,
    max_supply: maxSupplyText,
    max_mint: maxMintText,
    decimals: decimals.slice(0, 3),
    description,
    mint_supply: mintText,
    status_id: status(ledger, fault)
  });
  if (fault !== null || tickId === null) return;
  ledger.addToken(tickId, {
    supply: 0n,
    maxSupply: maxSupply ?? 0n,
    maxMint: parseAmount(maxMintText) ?? 0n,
    decimals: Number(decimals || 0),
    ownerId: by.sourceId,
    actionIndex: by.actionIndex,
    lastActionIndex: by.actionIndex
  });
  if (mintSupply) ledger.credit(by.actionIndex, by.sourceId, tickId, mintSupply);
}

function mint(ledger: BlockLedger, by: Performer, fields: readonly string[]): void {
  const [, tick = '', amountText = '', destination = '', text] = fields;
  const found = resolve(ledger, tick, amountText);
  let fault = typeof found === 'string' ? found : null;
  if (typeof found !== 'string') {
    if (found.amount > found.token.maxMint) fault = 'AMOUNT > MAX_MINT';
    else if (found.token.supply + found.amount > found.token.maxSupply) fault = 'mint exceeds MAX_SUPPLY';
  }
  const destinationId = fault === null && destination ? ledger.id('index_addresses', destination.slice(0, 120)) : null;
  ledger.rows.add('mints', {
    action_index: by.actionIndex,
    tick_id: typeof found === 'string' ? null : found.tickId,
    destination_id: destinationId,
    amount: amountText.slice(0, 250),
    memo_id: memo(ledger, text),
    status_id: status(ledger, fault)
  });
  if (fault !== null || typeof found === 'string') return;
  ledger.credit(by.actionIndex, by.sourceId, found.tickId, found.amount);
  if (destinationId === null) return;
  ledger.debit(by.actionIndex, by.sourceId, found.tickId, found.amount);
  ledger.credit(by.actionIndex, destinationId, found.tickId, found.amount);
}

/** Format 0 and 3: one leg; 1 repeats AMOUNT, DESTINATION; 2 repeats TICK, AMOUNT, DESTINATION. */
function legsOf([version, ...fields]: readonly string[]): { legs: Leg[]; text: string | undefined } {
  const [tick = '', amount = '', destination = '', text] = fields;
  if (version !== '1' && version !== '2') return { legs: [{ tick, amount, destination }], text };
  const legs: Leg[] = [];
  const width = version === '1' ? 2 : 3;
  for (let at = version === '1' ? 1 : 0; at + width <= fields.length; at += width) {
    const leg = fields.slice(at, at + width);
    legs.push({ tick: width === 3 ? leg[0]! : tick, amount: leg.at(-2)!, destination: leg.at(-1)! });
  }
  return { legs, text: undefined };
}

function send(ledger: BlockLedger, by: Performer, fields: readonly string[]): void {
  const { legs, text } = legsOf(fields);
  for (const { tick, amount, destination } of legs) {
    const found = resolve(ledger, tick, amount);
    let fault = typeof found === 'string' ? found : null;
    if (fault === null && !/^[\w.-]{3,120}$/.test(destination)) fault = 'DESTINATION (format)';
    if (typeof found !== 'string' && ledger.balance(by.sourceId, found.tickId) < found.amount)
      fault ??= 'insufficient funds';
    const destinationId = fault === null ? ledger.id('index_addresses', destination) : null;
    ledger.rows.add('sends', {
      action_index: by.actionIndex,
      tick_id: typeof found === 'string' ? null : found.tickId,
      destination_id: destinationId,
      amount: amount.slice(0, 250),
      memo_id: memo(ledger, text),
      status_id: status(ledger, fault)
    });
    if (typeof found === 'string' || destinationId === null) continue;
    ledger.debit(by.actionIndex, by.sourceId, found.tickId, found.amount);
    ledger.credit(by.actionIndex, destinationId, found.tickId, found.amount);
  }
}

function destroy(ledger: BlockLedger, by: Performer, [, tick = '', amount = '', text]: readonly string[]): void {
  const found = resolve(ledger, tick, amount);
  let fault = typeof found === 'string' ? found : null;
  if (typeof found !== 'string' && ledger.balance(by.sourceId, found.tickId) < found.amount)
    fault = 'insufficient funds';
  ledger.rows.add('destroys', {
    action_index: by.actionIndex,
    tick_id: typeof found === 'string' ? null : found.tickId,
    amount: amount.slice(0, 250),
    memo_id: memo(ledger, text),
    status_id: status(ledger, fault)
  });
  if (fault !== null || typeof found === 'string') return;
  ledger.debit(by.actionIndex, by.sourceId, found.tickId, found.amount);
  const fee = { action_index: by.actionIndex, address_id: by.sourceId, tick_id: found.tickId, amount: '0' };
  ledger.rows.add('fees', fee);
}

function list({ rows }: BlockLedger, { actionIndex }: Performer, [, type, ...items]: readonly string[]): void {
  rows.add('lists', { action_index: actionIndex, type: type === '2' ? 'address' : 'tick', edit: null });
  for (const item of items) rows.add('list_items', { action_index: actionIndex, item: item.slice(0, 250) });
}

function stake(ledger: BlockLedger, by: Performer, [, amount = '']: readonly string[]): void {
  ledger.rows.add('stakes', {
    action_index: by.actionIndex,
    address_id: by.sourceId,
    amount: formatAmount(parseAmount(amount) ?? 0n),
    signing_pubkey_id: null,
    deactivation_block: null,
    cooldown_end_block: null,
    status_id: status(ledger, null)
  });
}

function delegate(ledger: BlockLedger, by: Performer, [, validator = '', amount = '']: readonly string[]): void {
  ledger.rows.add('delegations', {
    action_index: by.actionIndex,
    delegator_id: by.sourceId,
    validator_id: ledger.id('index_addresses', validator.slice(0, 120)),
    amount: formatAmount(parseAmount(amount) ?? 0n),
    deactivation_block: null
  });
}

/** What a dispenser gives is debited and held until the dispenser closes. */
function dispenser(
  ledger: BlockLedger,
  by: Performer,
  [, tick = '', give = '', escrow = '', life = '']: readonly string[]
): void {
  const found = resolve(ledger, tick, escrow);
  if (typeof found === 'string' || ledger.balance(by.sourceId, found.tickId) < found.amount) return;
  ledger.rows.add('dispensers', {
    action_index: by.actionIndex,
    address_id: by.sourceId,
    tick_id: found.tickId,
    give_amount: formatAmount(parseAmount(give) ?? 0n),
    escrow_amount: formatAmount(found.amount),
    expiration_block: ledger.height + Number(/^\d{1,4}$/.test(life) ? life : 10),
    status_id: ledger.id('index_statuses', 'open')
  });
  ledger.debit(by.actionIndex, by.sourceId, found.tickId, found.amount);
  ledger.escrow(by.actionIndex, by.sourceId, found.tickId, found.amount);
}

function attest({ rows, height }: BlockLedger, { actionIndex }: Performer, [, payload = '']: readonly string[]): void {
  const bytes = Buffer.concat([createHash('sha256').update(payload).digest(), Buffer.from(payload)]);
  rows.add('attests', {
    action_index: actionIndex,
    batch_action_index: null,
    payload: bytes,
    deadline_block: height + 1000
  });
}

function collect(
  { rows }: BlockLedger,
  { actionIndex, sourceId }: Performer,
  [, amount = '']: readonly string[]
): void {
  const text = formatAmount(parseAmount(amount) ?? 0n);
  rows.add('reward_claims', { action_index: actionIndex, reward_id: null, address_id: sourceId, amount: text });
}

function deploy(ledger: BlockLedger, { actionIndex, sourceId }: Performer, [, code = '']: readonly string[]): void {
  const metadata = JSON.stringify({ size: code.length });
  ledger.rows.add('contracts', { action_index: actionIndex, owner_id: sourceId, code: Buffer.from(code), metadata });
  ledger.addContract('contracts', {
    action_index: actionIndex,
    code_hash: createHash('sha256').update(code).digest('hex')
  });
}

/** Emits twice: once under its action, once on its own account. */
function execute(
  ledger: BlockLedger,
  { actionIndex }: Performer,
  [, contract = '', key = '', value = '']: readonly string[]
): void {
  const { rows, height, state } = ledger;
  const execution = ++state.lastExecution;
  const contractIndex = /^\d{1,9}$/.test(contract) ? Number(contract) : 0;
  rows.add('contract_executions', {
    execution_index: execution,
    action_index: actionIndex,
    contract_index: contractIndex,
    gas: BigInt.asUintN(64, -BigInt(execution)),
    result: value === '' ? null : value
  });
  rows.add('contract_state', {
    contract_index: contractIndex,
    state_key: key.slice(0, 255),
    state_value: value,
    block_index: height
  });
  for (const action_index of [actionIndex, null])
    rows.add('contract_emissions', {
      execution_index: execution,
      action_index,
      topic: key.slice(0, 64),
      data: Buffer.from(value)
    });
  for (const [table, amount] of [
    ['deposits', '1'],
    ['withdrawals', '0.5']
  ] as const)
    rows.add(table, { action_index: actionIndex, contract_index: contractIndex, tick_id: 1, amount });
  ledger.addContract('executions', { execution_index: execution, action_index: actionIndex });
  ledger.addContract('state', { contract_index: contractIndex, key, value });
}
