import Type from 'typebox';
import { canonicalAddress } from '../../coin/script/address.ts';
import { PlatformError } from '../../errors.ts';
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
import { findAddress, findTicker, spellAddress } from '../read/subject.ts';
import { type Databases, type RecordMethod, readRows, unknown } from './record.ts';

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
export const token: RecordMethod = {
  summary: 'A token: what it is, its supply, its locks, its mints',
  tag: 'State',
  takes: 'ticker',
  schema: Type.Object(Object.fromEntries(Object.entries(TOKEN).map(([group, columns]) => [group, rowSchema(columns)]))),
  read: async ({ query, names, question: { query: name = '' } }) => {
    const id = await findTicker(query, names, name);
    const groups: Record<string, unknown> = {};
    for (const [group, columns] of Object.entries(TOKEN)) {
      const [found] = id === null ? [] : await readRows(query, columns, 'tokens t WHERE t.tick_id = ? LIMIT 1', [id]);
      groups[group] = found ?? unknown('token', name);
    }
    return groups;
  }
};

/** The public key of an address, which a decoder knows from its first payment. */
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
  asksDecoder: true,
  schema: Type.Object({ address: Type.String(), pubkey: Type.String() }),
  read: async ({ question: { query: asked = '' }, databases }) => {
    const name = canonicalAddress(asked, databases.network.addresses) ?? asked;
    const found = (await readPubkey(databases, name)) ?? (name === asked ? null : await readPubkey(databases, asked));
    return { address: name, pubkey: found ?? unknown('known public key of the address', asked) };
  }
};

const ADDRESS: Columns = {
  address: textOrNull('i.address'),
  block_index: integerOrNull('i.block_index', 'the first block that names it'),
  last_action_index: bigOrNull(
    '(SELECT MAX(m.action_index) FROM mappings_actions m WHERE m.type_id = 2 AND m.id = i.id)'
  )
};

export const address: RecordMethod = {
  summary: 'What is known of an address',
  tag: 'State',
  takes: 'address',
  asksDecoder: true,
  schema: Type.Object({
    ...rowSchema(ADDRESS).properties,
    pubkey: Type.Union([Type.String(), Type.Null()])
  }),
  read: async ({ query, question: { query: asked = '' }, databases }) => {
    const name = await spellAddress(query, asked, databases.network.addresses);
    const id = await findAddress(query, name);
    const [found] = await readRows(query, ADDRESS, 'index_addresses i WHERE i.id = ?', [id]);
    if (!found && canonicalAddress(name, databases.network.addresses) === name)
      throw new PlatformError('RECORD_UNKNOWN', { reason: `address "${name}" has done nothing yet` });
    return { ...(found ?? unknown('address', name)), pubkey: await readPubkey(databases, name) };
  }
};
