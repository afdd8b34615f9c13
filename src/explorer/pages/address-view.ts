import { actionsSection, type Changes } from './actions.ts';
import { unnamed } from './failures.ts';
import { type Html, html } from './html.ts';
import { amount, bar, facts, type LinkTo, type Row, section, shareOf, shareText, texts, timeOf } from './parts.ts';
import {
  type Asked,
  after,
  type ReadAnswer,
  readOptional,
  readRowsIn,
  rowOf,
  rowsOf,
  textOf,
  type View
} from './view.ts';

/** Rows of each list of the page; the newest offers of each kind that are looked at, and those that are shown. */
const [BALANCES, ACTIONS, OFFERS, SHOWN] = [100, 25, 25, 10];
/** Kinds of scripts in words. */
const SCRIPTS: Readonly<Record<string, string>> = {
  p2pkh: 'key hash',
  p2sh: 'script hash',
  p2wpkh: 'key hash (segwit)',
  p2wsh: 'script hash (segwit)',
  p2tr: 'taproot'
};

/** Makes the page of an address: its balances, what it has in escrow and on offer, and its actions. @throws {PlatformError} RECORD_UNKNOWN */
export async function addressView({ name, cursor, read, linkTo }: Asked): Promise<View> {
  const [address, balances, history] = await Promise.all([
    read('address', { query: name }),
    read('balances', { query: name, limit: BALANCES }),
    read('history', { query: name, type: 'address', limit: ACTIONS, ...after(cursor) })
  ]);
  const { block_index: first, pubkey, info, type } = rowOf(address.data);
  if (rowOf(info)['address_id'] === null) throw unnamed('address', name, type !== null && 'it has done nothing yet');
  const actions = rowsOf(history.data);
  const [changes, escrow, offers] = await Promise.all([
    readChanges(read, name, actions),
    readOptional(read, 'page_escrow', { query: name }),
    readOffers(read, name)
  ]);
  const held = rowsOf(balances.data);
  const lines = held.map(({ tick, amount: sum, supply }) => [
    linkTo('token', tick),
    amount(sum),
    shareText(sum, supply),
    bar(shareOf(sum, supply) ?? 0),
    amount(supply)
  ]);
  const script = SCRIPTS[String(type)];
  return {
    title: `Address ${name}`,
    body: html`<h1 class="name">Address <code data-copy="address">${name}</code></h1>
${facts([
  ['tokens', balances.next === null ? amount(String(held.length)) : `more than ${held.length}`],
  ['first seen in block', linkTo('block', first)],
  ['last action', actions[0] && cursor === undefined ? timeOf(actions[0]['timestamp']) : undefined],
  ['script', script]
])}
${section(balances.next === null ? 'Balances' : `Balances (the first ${BALANCES})`, ['Token', 'Amount', 'Share', 'Part', 'Supply'], lines, { kind: 'balances', empty: 'It holds no token. Each one that it gets is here, with its share of the supply.' })}
<div class="beside">${escrowSection(escrow && (rowOf(escrow.data)['escrow'] as readonly Row[] | null | undefined), linkTo)}
${offersSection(offers, linkTo)}</div>
${actionsSection(linkTo, 'History', actions, { next: history.next, changes })}
${textOf(pubkey) !== null && html`<section><h2>Key</h2>${texts([['public key', textOf(pubkey)]])}</section>`}`
  };
}

/** Reads the changes of the address's balances by actions. */
async function readChanges(read: ReadAnswer, name: string, actions: readonly Row[]): Promise<Changes | undefined> {
  if (actions.length === 0) return new Map();
  const parameters = { actions: actions.map((row) => String(row['action_index'])).join(',') };
  const found = await readRowsIn(read, 'page_changes', 'changes', { query: name, parameters });
  return found === null ? undefined : Map.groupBy(found, (row) => String(row['action_index']));
}

/** Reads the open offers among the newest of the address; null where they are not known. */
async function readOffers(read: ReadAnswer, name: string): Promise<readonly Row[] | null> {
  const question = { query: name, type: 'source', limit: OFFERS };
  const found = await Promise.all(
    ['orders', 'swaps', 'dispensers'].map((method) => readOptional(read, method, question))
  );
  if (found.includes(null)) return null;
  return found.flatMap((each) => rowsOf(each!.data)).filter(({ state }) => state === 'open');
}

function escrowSection(escrow: readonly Row[] | null | undefined, linkTo: LinkTo): Html {
  const empty =
    escrow === null ? 'Too many rows to add up here.' : 'Nothing is held back. What its open offers hold is here.';
  const rows = (escrow ?? []).map(({ tick, amount: sum }) => [linkTo('token', tick), amount(sum)]);
  return section('In escrow', ['Token', 'Amount'], rows, { empty });
}

function offersSection(offers: readonly Row[] | null, linkTo: LinkTo): Html {
  const side = (row: Row, of: 'give' | 'get') => {
    const tick = row[`${of}_tick`];
    return html`${amount(row[`${of}_amount`])} ${typeof tick === 'string' ? linkTo('token', tick) : String(row[`${of}_coin`] ?? 'coin')}`;
  };
  const newest = (offers ?? []).toSorted((a, b) => Number(b['action_index']) - Number(a['action_index']));
  const rows = newest
    .slice(0, SHOWN)
    .map((row) => [
      linkTo('action', row['action_index']),
      html`<b>${String(row['action'])}</b>`,
      side(row, 'give'),
      side(row, 'get')
    ]);
  const empty = offers === null ? 'Not known now.' : `None is open among its newest ${OFFERS} of each kind.`;
  const more = newest.length > SHOWN ? ` (the newest ${SHOWN} of ${newest.length})` : '';
  return section(`Open offers${more}`, ['Action', 'Kind', 'Gives', 'For'], rows, { empty });
}
