import Type, { type TProperties } from 'typebox';
import type { AddressVersions } from '../../coin/chains.ts';
import { canonicalAddress, scriptOf } from '../../coin/script/address.ts';
import { readProgram } from '../../coin/script/pay-scripts.ts';
import { OrNull } from '../../wire/or-null.ts';
import {
  address as addressColumn,
  amountOrNull,
  big,
  bigOrNull,
  type Columns,
  flag,
  integerOrNull,
  rowSchema,
  textOrNull,
  ticker
} from '../lists/columns.ts';
import type { Row } from '../lists/list.ts';
import { findAddress, findTicker, spellAddress } from '../read/subject.ts';
import { totalOf } from './action-parts.ts';
import { type Databases, MAX_ROWS, type RecordMethod, readRows, unknown } from './record.ts';

/** The fields of a token in their groups. */
const TOKEN: Readonly<Record<string, Columns>> = {
  info: {
    tick: ticker('t.tick_id'),
    description: textOrNull('t.description'),
    owner: addressColumn('t.owner_id'),
    decimals: integerOrNull('t.decimals'),
    action_index: big('t.action_index', 'the ISSUE that made it'),
    last_action_index: bigOrNull('t.last_action_index', 'the newest ISSUE of it'),
    escrow_action_index: bigOrNull('t.escrow_action_index', 'the offer that holds its ownership')
  },
  supply: { supply: amountOrNull('t.supply'), max_supply: amountOrNull('t.max_supply') },
  mints: {
    max_mint: amountOrNull('t.max_mint'),
    mint_address_max: amountOrNull('t.mint_address_max'),
    mint_start_block: bigOrNull('t.mint_start_block'),
    mint_stop_block: bigOrNull('t.mint_stop_block')
  },
  locks: {
    max_supply: flag('t.lock_max_supply'),
    mint: flag('t.lock_mint'),
    mint_supply: flag('t.lock_mint_supply'),
    max_mint: flag('t.lock_max_mint'),
    description: flag('t.lock_description'),
    sleep: flag('t.lock_sleep'),
    callback: flag('t.lock_callback')
  },
  callback: {
    block: bigOrNull('t.callback_block'),
    tick: ticker('t.callback_tick_id'),
    amount: amountOrNull('t.callback_amount')
  },
  lists: { allow_list: bigOrNull('t.allow_list'), block_list: bigOrNull('t.block_list') },
  market: { coin_price: textOrNull('t.coin_price'), coin_floor: textOrNull('t.coin_floor') }
};
const OPEN_POLL: Columns = {
  action_index: big('t.action_index'),
  question: textOrNull('t.question'),
  end_block: bigOrNull('t.end_block'),
  quorum: amountOrNull('t.quorum'),
  min_voters: bigOrNull('t.min_voters'),
  weight_mode: textOrNull('t.weight_mode'),
  callback_contract_index: bigOrNull('t.callback_contract_index'),
  callback_method: textOrNull('t.callback_method')
};
const WholeOrNull = OrNull(Type.Integer());
const PollSchema = Type.Object(rowSchema(OPEN_POLL).properties);
/**
 * Fields that existing clients read under other names or as numbers; for amounts that do not fit a number there is a text beside
 * it.
 */
const ALSO = {
  info: { coin: Type.String(), tick_id: Type.Integer() },
  supply: {
    current: OrNull(Type.String()),
    max: OrNull(Type.String()),
    decimals: WholeOrNull
  },
  mints: { max: Type.Number(), address_max: Type.Number(), start_block: Type.Integer(), stop_block: Type.Integer() },
  callback: { price: OrNull(Type.String()) },
  lists: { allow: WholeOrNull, block: WholeOrNull },
  market: { price: Type.Number(), floor: Type.Number() }
} as const;
const GROUPS = Object.entries(TOKEN).map(([group, columns]) => {
  const also: TProperties = ALSO[group as keyof typeof ALSO] ?? {};
  return [group, Type.Object({ ...rowSchema(columns).properties, ...also })] as const;
});
const numberOf = (value: unknown): number => Number(value ?? 0);
const numberOrNull = (value: unknown): number | null => (value === null || value === undefined ? null : Number(value));

export const token: RecordMethod = {
  summary: 'A token: what it is, its supply, its locks, its mints',
  tag: 'State',
  takes: 'ticker, or `^` and its id',
  schema: Type.Object({
    ...Object.fromEntries(GROUPS),
    open_polls: Type.Array(PollSchema, { description: `the newest ${MAX_ROWS} of \`open_polls_total\`` }),
    open_polls_total: Type.String(),
    controllers: Type.Array(Type.Unknown()),
    projects: Type.Array(Type.Unknown()),
    registry: Type.Null()
  }),
  read: async ({ query, names, databases, question: { query: name = '' } }) => {
    const id = await findTicker(query, names, name);
    const all = Object.assign({}, ...Object.values(TOKEN).map((columns, place) => renamed(columns, place))) as Columns;
    const [found] = id === null ? [] : await readRows(query, all, 'tokens t WHERE t.tick_id = ? LIMIT 1', [id]);
    if (!found) return unknown('token', name);
    const groups = Object.entries(TOKEN).map(([group, columns], place) => {
      const values = Object.keys(columns).map((column) => [column, found[`${place}_${column}`]] as const);
      return [group, Object.fromEntries(values) as Row] as const;
    });
    const own = Object.fromEntries(groups) as Record<string, Row>;
    const polls = await readRows(
      query,
      OPEN_POLL,
      `polls t WHERE t.tick_id = ? AND t.poll_status = 'open' ORDER BY t.action_index DESC LIMIT ${MAX_ROWS}`,
      [id]
    );
    const openPolls = await totalOf(query, polls, "polls t WHERE t.tick_id = ? AND t.poll_status = 'open'", [id!]);
    return {
      ...own,
      info: { ...own['info'], coin: databases.network.code, tick_id: id },
      supply: {
        ...own['supply'],
        current: own['supply']!['supply'],
        max: own['supply']!['max_supply'],
        decimals: own['info']!['decimals']
      },
      mints: {
        ...own['mints'],
        max: numberOf(own['mints']!['max_mint']),
        address_max: numberOf(own['mints']!['mint_address_max']),
        start_block: numberOf(own['mints']!['mint_start_block']),
        stop_block: numberOf(own['mints']!['mint_stop_block'])
      },
      callback: { ...own['callback'], price: own['callback']!['amount'] },
      lists: {
        ...own['lists'],
        allow: numberOrNull(own['lists']!['allow_list']),
        block: numberOrNull(own['lists']!['block_list'])
      },
      market: {
        ...own['market'],
        price: numberOf(own['market']!['coin_price']),
        floor: numberOf(own['market']!['coin_floor'])
      },
      open_polls: polls,
      open_polls_total: openPolls,
      controllers: [],
      projects: [],
      registry: null
    };
  }
};

/** Renames the columns of a group: groups have columns of one name. */
const renamed = (columns: Columns, place: number): Columns =>
  Object.fromEntries(Object.entries(columns).map(([name, column]) => [`${place}_${name}`, column]));

/** Reads the public key of an address, which a decoder knows from its first payment. */
async function readPubkey(databases: Databases, name: string): Promise<string | null> {
  const [found] = await databases.decoder((query) =>
    query<{ pubkey: string }>(
      'SELECT p.pubkey FROM pubkeys p JOIN index_addresses i ON i.id = p.address_id WHERE i.address = ?',
      [name]
    )
  );
  return found?.pubkey ?? null;
}

export const pubkey: RecordMethod = {
  summary: 'The public key of an address, known from its first payment',
  tag: 'State',
  takes: 'address',
  changesBetweenBlocks: true,
  schema: Type.Object({ address: Type.String(), pubkey: Type.String() }),
  read: async ({ question: { query: asked = '' }, databases }) => {
    const name = canonicalAddress(asked, databases.network.addresses) ?? asked;
    const found = (await readPubkey(databases, name)) ?? (name === asked ? null : await readPubkey(databases, asked));
    return { address: name, pubkey: found ?? unknown('known public key of the address', asked) };
  }
};

const ADDRESS: Columns = {
  address: textOrNull('i.address'),
  address_id: integerOrNull('i.id'),
  block_index: bigOrNull('i.block_index', 'the first block that names it'),
  last_action_index: bigOrNull(
    '(SELECT MAX(m.action_index) FROM mappings_actions m WHERE m.type_id = 2 AND m.id = i.id)'
  )
};
/** The words of wallets for kinds of scripts. */
const SCRIPT_TYPES = {
  keyHash: 'p2pkh',
  scriptHash: 'p2sh',
  witnessKeyHash: 'p2wpkh',
  witnessScriptHash: 'p2wsh',
  taproot: 'p2tr'
} as const;

function addressType(name: string, versions: AddressVersions): string | null {
  const script = scriptOf(name, versions);
  const program = script && readProgram(script);
  return program ? SCRIPT_TYPES[program.kind] : null;
}

const NOT_TRACKED = Type.Object(
  { confirmed: Type.Null(), pending: Type.Null() },
  { description: 'an explorer follows no coins: ask a tracker' }
);

export const address: RecordMethod = {
  summary: 'Tells what is known of an address; of one that has done nothing, its spelling',
  tag: 'State',
  takes: 'address, or `^` and its id',
  changesBetweenBlocks: true,
  schema: Type.Object({
    ...rowSchema(ADDRESS).properties,
    type: OrNull(Type.String(), {
      description: 'what its script is; null for no address of the network'
    }),
    info: Type.Object({ address: Type.String(), address_id: OrNull(Type.Integer()) }),
    pubkey: OrNull(Type.String()),
    tracker_available: Type.Boolean(),
    balances: Type.Object({ ...NOT_TRACKED.properties, received: Type.Null() }),
    utxos: NOT_TRACKED,
    estimated_value: Type.Object({ btc: Type.Null(), usd: Type.Null() }),
    controllers: Type.Array(Type.Unknown())
  }),
  read: async ({ query, question: { query: asked = '' }, databases }) => {
    const { addresses } = databases.network;
    const name = await spellAddress(query, asked, addresses);
    const id = await findAddress(query, name);
    const [found] = await readRows(query, ADDRESS, 'index_addresses i WHERE i.id = ?', [id]);
    const nothing = { address: name, address_id: null, block_index: null, last_action_index: null };
    return {
      ...(found ?? nothing),
      type: addressType(name, addresses),
      info: { address: name, address_id: found?.['address_id'] ?? null },
      pubkey: await readPubkey(databases, name),
      tracker_available: false,
      balances: { confirmed: null, pending: null, received: null },
      utxos: { confirmed: null, pending: null },
      estimated_value: { btc: null, usd: null },
      controllers: []
    };
  }
};
