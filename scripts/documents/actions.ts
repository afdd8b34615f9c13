import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HANDLERS, UNBUILT_FORMATS } from '../../src/indexer/rules/handlers.ts';
import { ROOT } from '../root.ts';
import { conditionOf } from './action-conditions.ts';
import { wrapDoc } from './wrap.ts';

export const ACTIONS_FILE = join(ROOT, 'docs', 'actions.md');

/** Returns the formats that are not built: `LIST 2, 4, 5; …`. */
function unbuiltFormats(): string {
  return Object.entries(UNBUILT_FORMATS)
    .map(([action, formats]) => `${action} ${formats.join(', ')}`)
    .join('; ');
}

const HEAD = `# Actions

Generated from the handlers by \`npm run configuration\`. Do not edit.

An action is a text \`ACTION|VERSION|FIELD|…\`. Every action gets a number and a row in \`actions\`; its
own table has a row for each of its parts, with the status \`valid\` or \`invalid: \` and the first
status below that holds. The indexer judges parts in order, each on what the ones before it left.

## Rules for all

- Fields lose the spaces around them, names count in any case, tickers are looked up in any case. An
  empty field leaves a thing as it is. Fields that are missing are empty, those too many are left out.
  TRANSFER is another name of SEND, ADDR of ADDRESS, DROP of AIRDROP, CAST of BROADCAST and MSG of
  MESSAGE.
- A version is a whole number up to 255 of at most three digits, with or without quotes around it;
  empty is 0. ISSUE, MINT and SEND may leave it out: where the first field is longer than two
  characters or no number, their format is 0 and that field is the first of the format. A name that
  no action has is recorded as UNKNOWN, in \`actions\` alone.
- A whole number is 1 to 15 digits; rows of ISSUE and MESSAGE keep it without zeros in front. Digits are those of ASCII, lengths count code points of Unicode.
- A list bars an address that is missing in the allow list, or that is in the block list. An address
  or token sleeps while the RESUME_BLOCK of its newest valid SLEEP is -1 or above the block.
- \`^12\` names the ticker or address with the id 12, but not in SEND's DESTINATION; with a zero in
  front it names nothing.
- An amount is 1 to 40 digits, and after a point at least one more and no more than its token has
  places: no sign, no exponent. An empty amount is badly formed; 0 is an amount, and moves rows of 0.
  Shares are cut down to the token's places.
- Where parts repeat and a format ends with one MEMO, the last field is the memo of all when it is one
  field more than whole parts; else the last part is filled up with empty fields. An action without
  fields has one part of empty ones. AIRDROP's parts are never joined.
- Parts of a SEND with equal ticker and destination are one part, at the place of the first and with
  the last memo; so are those of a DESTROY with equal ticker and memo. A part with a badly formed
  amount stays alone; 18 places are read where the ticker is unknown. Rows of one action with equal
  address and ticker are one row. A MINT whose DESTINATION is its source keeps it.
- A MAX_SUPPLY is at most 10^21 units, and 0 is none. No token has more than 10^36 units, so that the
  database can add up all rows of it.
- A ticker gets its id with its first valid ISSUE; rows of refused actions about others have none.
  Addresses get ids when an action meets them: the source, then whom it credits in their order, then
  those of its fields, also of a refused action whose version is known; what is no address of its
  chain gets none. Both addresses of a DISPENSER get theirs in byte order.
- Text that is longer than its column is cut, and what is no number is NULL in a column of numbers.
  Only refused actions have such values: a valid row that does not fit its table stops the indexer.
- An allow list without members admits nobody. A token names a list by the number of its LIST; what
  counts are the members after its newest valid edit.
- An ISSUE credits MINT_SUPPLY to its source, and sends it on to TRANSFER_SUPPLY. A MINT with a
  DESTINATION does the same. Locks are never taken away.
- AIRDROP gives the amount to each member of a list of addresses, or to each holder of a token of a
  list of tickers, once each, the source too; the token's lists leave some out. DIVIDEND pays each
  holder but the source its holding times the amount; DIVIDEND_TICK's lists leave some out. CALLBACK
  takes all units of all holders but the source, and pays each its holding times CALLBACK_AMOUNT.
- SWEEP cancels offers, then moves every balance, then gives away each ownership that no offer holds,
  tickers in byte order, each by an action ISSUE of its own with the transaction of the SWEEP.
- A LIST judges each different item by itself, one that is given as text and as \`^id\` once: \`TICK (unknown)\` or \`ADDRESS (format)\` refuses an
  item and not the action.
- Fees: gas by the profile's schedule times its price, cut to 8 places half up; by the default profile
  all are 0, and there are no rows in \`fees\`. A valid part pays last: by the first output to
  FEE_DESTINATION, which the commands of a BATCH draw down, else in the gas token, which DONATE1 gets;
  where the source's FEE_PREFERENCE is 1, or the profile has no DONATE1, it is destroyed. ISSUE pays for
  a new ticker alone and not for the gas token, an offer when it is made, a LIST nothing; CALLBACK for each
  holder, SWEEP for each balance, ownership and open offer that it moves. A fee in coins is what the fee
  costs by the prices of \`<gas token>/USD\` and \`<coin>/USD\`, to 18 places half up and then to 8, in the valid round of PRICE
  with the highest number, if its TIMESTAMP is at most 1,800 s old; 95 hundredths of it suffice. On
  Litecoin and Dogecoin the rounds of the Bitcoin ledger count four hours later, and their age from then
  ([indexer.md](indexer.md#prices-of-another-chain)).
- What the profile has not activated, and what is built later, is recorded with the status
  \`invalid: ACTION is not yet activated\`; of an action that is not built the row in \`actions\` is
  all. So are these formats, in no profile active: ${unbuiltFormats()}.

## Choices

Where deployed indexers differ, or nothing is known of them, this one does the following.

- A sub-token's parent is asked only when the sub-token is new: its owner keeps it when the parent
  is sold.
- An ISSUE never repeats the MINT_SUPPLY of an earlier one. Each rounds MAX_SUPPLY, MAX_MINT and
  MINT_ADDRESS_MAX of its token half up to its DECIMALS; a cap stays at least one smallest unit, since
  0 is none. Blocks of the mint window are whole
  numbers, whatever the token's places. \`0\` as ALLOW_LIST or BLOCK_LIST takes the list away.
- Controllers need contracts, of which there are none.
- A FILE with a GATE_TICKER is for those who hold GATE_MIN_AMOUNT of it, any unit where that is empty.
  From then on a SEND of the token that leaves its destination with as much must stand in a BATCH with
  a MESSAGE of format 2 to that destination, which hands over the key: what it held before the action
  and the part are counted, and the least of all files. What the messages say is not looked at.
- Members of a list stand in byte order.
- In \`mappings_actions\` the type 1 is a ticker and 2 an address, each once an action;
  what a LIST lists is not among them; an ISSUE beside an action has its own: source, new owner and ticker. \`mappings_files\` has the ticker (type 1) that a valid FILE
  belongs to, once its owner links the FILE to an ISSUE of it, in either order. \`leg_ordinal\` counts parts from 0.

## Rules for safety

Other indexers do not have these rules. Each has a height in the profile (\`activations\`), by default
0, on main networks early in 2027, so that all indexers of one ledger can have it by then.

- CANONICAL_ADDRESSES: an address counts in each of its
  spellings (Litecoin's script addresses of both prefixes, segwit in capitals), rows have the usual
  one, and a segwit version that no rule spends is no address. Below it an address counts as it is
  written: what was sent to an old spelling stays there, where nobody can act. Lists and offers of
  earlier blocks keep what they name; an edit of the list adds the account.
- DISPENSER_LIMITS: payments that a dispenser refuses count among the 1,000 after which it is closed
  unless it is refilled. Else one transaction would buy a row for each payment to an address for
  ever, in ledgers and decoders, at the address of whoever is paid most.
- EXACT_AMOUNTS: an amount that waits is asked again when it is used, since DECIMALS may fall while
  nobody has a unit. A dispenser whose GIVE_AMOUNT has more places than its token by now takes no
  refill; an order with such an amount matches nothing and waits for its end. Else half a unit of an
  indivisible token changes hands, or a whole one for the price of a half. An amount of the gas token
  (stakes, deposits, fees, rewards, bounties) has no more places than that token: 8, or its DECIMALS
  where they are fewer.
- LOCKED_CAPS: an ISSUE whose DECIMALS would round a cap that is locked is refused: 1.5 units in whole
  ones would be 2, above what was promised for ever.
- LIMITS: what one action or block may cost those who did not ask for it
  ([networks.md](networks.md#limits)). A block counts a unit for each action, for each row of credits,
  debits and escrows, and for each holder and item that a CALLBACK, LIST or SWEEP looks at; two more
  for each dispense. When its actions have used up \`blockUnits\`, a BATCH and whatever
  looks at others is refused, a new ORDER or SWAP too, and one that is being matched rests as it
  stands. Those who may get something of an AIRDROP or DIVIDEND count apart, 20 of them for a unit of
  the block, and so do trades that a match passes over, two for a unit: who moves nothing closes the
  block to others of his kind alone. An AIRDROP of 0 credits nobody. Below the height a few hundred bytes make millions of rows.
- LIMITS, of ends: a block ends a third as many offers as it has units left, 1,000 at least, those
  whose time is over longest. The others wait for the next block and are open until then; a
  dispenser that waits so is not edited any more and sells nothing (\`dispenser expired\`), since
  decoders no longer keep payments to it. A poll's tally counts a unit for each ballot and
  each delegation of its token; in a full block the oldest poll alone is looked at, and the others
  wait for the next one. Else what was written in a thousand blocks would fall due in one.
- LIMITS, of matches: an ORDER or SWAP that passes over 1,000 others with lists of their own looks at
  those without lists alone, and waits after \`parts\` others. Else offers that keep everybody out would cost each later one a look, for 90 days.
- LIMITS, of payments: one is served by \`dispenses\` dispensers, and the next one refuses it with
  \`DISPENSE (limit)\`; after the first one that is empty it passes over empty ones; in a full block
  one serves it.
- LIMITS, of lists: \`list_items\` has all members under a LIST and under its newest edit of each block.
  Of edits that a block has no room for, and of edits of lists of more than \`wholeList\` members until
  as many items changed as it has members, it has none: then members are those kept last, and what
  \`list_edits\` of later valid edits added (\`lists.edit\` 1) or took away (2).

## Aliases in a BATCH

From the height of BATCH_ALIASES on, the commands of a BATCH may be named by their aliases: by default
0 on test networks, never on main networks, as in deployed ledgers.

## Ids of tickers

From the height of REFUSED_TICKERS on, by default 0, a ticker has an id in \`index_tickers\` from the
first row that names it, also where the action is refused and no token has it. Deployed ledgers do
so from their first block, and \`^12\` counts such ids. CALLBACK_TICK of an ISSUE comes before TICK;
other actions deal ids in the order of their text, leg by leg. Another spelling of a token is that
token; of what no token has, each spelling has an id of its own. A \`^id\` that names no ticker, a
text that begins with \`^\`, and a ticker whose first 200 characters another one has get none. An index
of a release without the rule is refused: build it anew, or set the rule to a height that is still
to come, as all who share the ledger must.

## Offers

- An offer debits what it gives and adds an escrow; a release adds an escrow of minus the amount.
  Time is the median of the block's own time and those of up to ten blocks below it. An open offer
  ends in the first block whose time is above its EXPIRATION: orders, swaps and dispensers in the order
  of their numbers, then awaited payments whose two hours are over, then dispensers that were cancelled an hour ago. A dispenser
  that was cancelled does not expire within its hour: what it holds goes to who cancelled it.
- An offer that names no EXPIRATION ends after 90 days. An edit's empty fields change nothing, \`0\`
  takes a list away. Edits of a dispenser's lists count after an hour; an edit of an order or swap
  looks for a match again.
- Formats 1 and 2 are recorded as \`ORDER_CANCEL\`, \`ORDER_EDIT\` and so on. What no text asks for
  is an action too: \`ORDER_MATCH\`, \`ORDER_EXPIRE\`, \`DISPENSE\`, \`DISPENSER_CLOSE\` and so on,
  without a transaction except DISPENSE and COINPAY. It has the source of the offer, or who paid.
  An ownership that changes hands is an action \`ISSUE\` beside it, with its transaction; back to its
  owner it makes none.
- Orders match where the maker's GIVE over GET is not below the taker's GET over GIVE, at the
  maker's price: the best price first, then the oldest. A fill is as much as both have left, each
  side rounded half up to its token's places; with a side of 0 there is none. An order is complete
  when either side is used up; what it has left to give goes back to its source in the same action.
- An ownership counts as one unit and changes hands whole, against an exact amount. Swaps match
  exact amounts of both sides, the oldest first; their coins are tokens of this chain.
- A match with the chain's coin waits 7,200 s for a COINPAY. Each output of the COINPAY's
  transaction that goes to the payee and suffices is one action; an output pays only once. One that
  pays nothing leaves no action. Unpaid, the seller gets the units of the match back: his
  order is smaller by them. The order that was to pay is open for what the match had used of it, to
  whoever comes next. In \`order_matches\` the tick 0 is the chain's coin.
- A cancelled or expired order with awaited payments gives back the rest at once and ends with the
  last of them. When a payment never comes for an order that was swept, SWEEP's DESTINATION gets what
  it would have bought.
- A dispenser serves payments of the coin or of valid SENDs, oldest first, each with what the ones
  before it left; a refused dispense leaves the payment to the next. After 1,000 dispenses since
  its last refill it closes. An edit by GET_ADDRESS refills from its own balance.
- GET_ADDRESS may be another's if that address has DISPENSER_PREFERENCE 2, took payments for the
  source before, or got no id in an earlier block: any action that met it there, a refused one too,
  counts as activity of it. Currencies are AUD, BRL, CAD, CHF, CNY,
  EUR, GBP, INR, JPY, KRW, MXN and USD.
- From the height of FIAT_DISPENSERS on, by default 0 on bitcoin-regtest and never elsewhere, a fill may
  cost FIAT_AMOUNT of a currency, paid in the coin: the price is that of \`<coin>/<FIAT_CODE>\` in the
  rounds of PRICE whose TIMESTAMP is at most 86,400 s old, and of these in the one with the highest
  number by which the payment buys a fill, so a payment that waited a while still buys. A seller
  bears what the coin loses in a day. What fills cost is rounded up to a base unit. No price is asked for
  when it is opened; a payment while there is none gets \`no matching oracle price\`. Every payment
  counts among the 1,000, also one that is too small for a fill. Below that height, with a GET_TICK, and
  with an ORACLE_ADDRESS they are refused: prices of tokens by oracles are recorded, and nothing is
  sold by them.
- SWEEP's flags cancel offers; what they hold and the ownerships in them go to DESTINATION, of
  dispensers after their hour.

Statuses of a DISPENSE: \`no matching oracle price\`; \`SOURCE and GET_ADDRESS can not be same\`; \`insufficient funds\` (deployed
indexers write a space after it, but \`index_statuses\` holds each text once, and to its collation
both are one); then
\`DESTINATION (GET_TOKEN allow list)\`, \`GET_ADDRESS (GET_TOKEN allow list)\`, the same of the block
list, of \`GIVE_TOKEN\`, and of the dispenser (\`GET_ADDRESS (dispenser allow list)\`). Of a COINPAY:
\`COINPAY obligation expired\`.

## Stakes

- Stakes are units of the gas token on Bitcoin. STAKE, UNSTAKE and DELEGATE for contracts are not built,
  since there are none. Nothing here costs gas.
- A stake or key begins to count, and ends, 6 blocks after its action (Litecoin 24, Dogecoin 60). A
  stake that was ended gives its units back 1,000 blocks after the UNSTAKE (4,032; 10,080), at the
  end of that block, by an action \`UNSTAKE_RELEASE\` without a transaction; the row in \`unstakes\`
  then has the status \`released\`.
- UNSTAKE ends the rows of \`stakes\` that count and have no end. What it leaves is a new row of its
  own, which counts from the block in which the old ones end.
- A key is free while no stake of it is without an end or cools down, and no delegation of it has
  still to end. The key of a stake that DELEGATE 2 took back never is free again.
- DELEGATE 2 writes a row in \`delegations\` that begins and ends in one block, so that it never
  counts. A key that is missing or badly formed has the id 0.
- COLLECT takes from the address of the role REWARD. Where there is none, the pool is empty. What it
  pays was earned on the chain: nobody can tell an indexer of other rewards, which an index that is
  built again would not know.

## Validators

- The weight of a key in a block is the sum of its stakes that count there, or of all stakes of the
  source that it is delegated to. A key that was taken back by DELEGATE 2 has none from that
  revocation's end on, a barred key never had any. Capabilities by weight: \`price\` 1,000,
  \`cross_chain\` 5,000, \`oracle_publish\` 500, \`attestation\` 1,000, \`full_node\` 2,000.
- A quorum is more than two thirds of the weight of all keys that have the capability. Of each
  source the heaviest key counts, among all and among those that signed.
- The signers of PRICE's format 0 are validators for \`price\` at BTC_BLOCK_HEIGHT. They sign, by
  Ed25519, the JSON \`{"round":…,"timestamp":…,"btc_block_height":…,"pairs":[{"pair":…,"price":…}]}\`
  with the pairs in byte order and without spaces. Signatures of others count nothing; of two of a key
  the last counts.
- A valid round shares 10 units of the gas token among the sources that signed, cut down to 8 places.
  Each gets a row in \`validator_rewards\` (\`oracle_round\`) for its first signing key in byte order;
  COLLECT pays it. Format 2, for compressed windows of rounds, is not built.
- A PRICE of format 1 is what its source says. It moves nothing; a token's price holds a day later.
- SLASH takes two messages of one slot, in base64url without padding: \`EQUIV|ENGINE|ROUND|VIEW||\` and
  a JSON object with a whole \`btc_block_height\`, in UTF-8, of at most 16,384 bytes. ENGINE is 1 to 32 of ASCII
  letters, digits, \`_\` and \`-\`; ROUND 1 to 128 of these, \`.\` and \`:\`; VIEW a whole number. Both
  signatures are over all bytes of a message. The engine of \`price\` is \`oracle\`, of \`attestation\`
  \`attest\`, of \`cross_chain\` \`xchain\`; of other capabilities none.
- A valid SLASH cuts to 0 what stands behind the key: its rows of \`stakes\` without an end, or whose
  end is above the block, and its rows of \`unstakes\` that cool down, which get the status \`slashed\`.
  Where the key was delegated at one of the two heights, it is so with all keys of that source. What
  they held leaves the escrow of each staker: a twentieth, cut down to 8 places, at least 50 units, at
  most 1,000 and never above the whole, is credited to the source, the rest to the address of the role
  REWARD. Where there is none it is burned. The rows of \`capability_slash_debits\` have the amounts
  before. The key is barred: it is never free again, and never signs.
- ATTEST answers what a contract has asked. There are no contracts: formats that ask, relay or
  batch are not built, every answer is refused, and nobody earns a fee.
- A refused SLASH has its row in \`actions\` alone: its table has no status.

## Votes

- Who holds a token may ask its holders: VOTE's format 0 makes a poll, 1 is a ballot, 3 lets another
  vote. A poll closes at the end of block END_BLOCK, after what ends by its time and before stakes come
  back, by an action VOTE of format 2 without a transaction, with the poll's source.
- A ballot is one to MAX_SELECTIONS different options, counted from 0, with commas between them
  (\`0,2\`), each of one or two digits. Where TALLY_MODE is \`split\` each may have a share from 1 to
  1,000,000 of at most seven digits (\`0:60,2:40\`); without one the share is 1. Spaces around the
  parts are lost. \`votes\` has a row for each option; a ballot that is badly formed has one of
  option 0. The newest valid ballot of a voter counts.
- What counts is weighed when the poll closes: what the voter holds (\`balance\`), what it has staked
  that counts (\`stake\`), 1 (\`flat\`), or the square root of what it holds, cut down to 18 places
  (\`quadratic\`). It is 0 for who holds nothing, or less than MIN_VOTE_BALANCE. \`approval\` gives each
  option the whole weight, \`split\` its share of it, cut down to 18 places. Averages over time
  (\`time_weighted\`) are not kept.
- Format 3 adds the source's weight to the ballot of DELEGATE_TO, in polls of that token in which the
  source has no ballot; it goes no further. The newest counts; an empty DELEGATE_TO or the source's own
  address ends it.
- QUORUM and DECIDE_THRESHOLD are shares of the token's supply from 0 to 1: what voters hold counts,
  whatever it weighs. Ballots without weight count nothing. A poll fails where the weight of all ballots
  is 0, their voters hold less than QUORUM, or they are fewer than MIN_VOTERS. Else the option with the
  greatest weight wins, of equal ones the first. With DECIDE_THRESHOLD above 0 it closes at the end of a
  block with a ballot of it, if it would not fail and those who are for that option hold that share.
- DEPOSIT is of the gas token and held until the poll closes: then the source gets it back, or, where
  the poll failed, the address of the role REWARD gets it. Without such an address it is burned.
  Callbacks need contracts; what is said of them beside CALLBACK_CONTRACT is left out.

## Blocks

After each write, supply = credits - debits + escrows = balances + escrows is checked for the
tickers that moved: those of fewer than 2,000 rows each time, larger ones the more rarely the more
rows they have. A difference halts the indexer.

Transactions come in the decoder's order, the commands of a BATCH one after the other. The three
hashes of a block are those of \`src/consensus/ledger-hashes.ts\`. A rollback deletes the rows of the
blocks it takes back, gives balances back what they moved, and makes each token anew from the valid
ISSUEs that are left. All ids are dealt again, so that two indexers of one chain have the same rows
under the same ids.
`;

/** Returns docs/actions.md, with the rules of every handler. */
export function renderActions(): string {
  const handlers = [...HANDLERS.values()].flatMap((handler) => handler.parts ?? [handler]);
  const sections = handlers.map(({ name, table, formats, statuses }) =>
    [
      headOf(name, Object.keys(formats), handlers),
      `Table \`${table}\`.`,
      [
        '| format | fields |',
        '|---|---|',
        ...Object.entries(formats).map(([format, fields]) => `| ${format} | ${escapeCell(fields)} |`)
      ].join('\n'),
      statuses.map((status, place) => `${place + 1}. ${describe(name, status)}`).join('\n')
    ].join('\n\n')
  );
  return wrapDoc(`${HEAD}\n${sections.join('\n\n')}\n`);
}

/** Returns the heading of a handler. Handlers of one name are distinguished by their formats. */
function headOf(name: string, formats: readonly string[], all: readonly { readonly name: string }[]): string {
  const isOnly = all.filter((other) => other.name === name).length === 1;
  return isOnly ? `## ${name}` : `## ${name}, format ${formats.join(', ')}`;
}

/** Returns a status with its condition. */
function describe(action: string, status: string): string {
  const condition = conditionOf(action, status);
  return condition === undefined ? `\`${status}\`` : `\`${status}\`: ${condition}`;
}

/** Returns text for a cell, without bars, which would end it. */
const escapeCell = (text: string): string => `\`${text.replaceAll('|', ' → ')}\``;

if (import.meta.main) writeFileSync(ACTIONS_FILE, renderActions());
