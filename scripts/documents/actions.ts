import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ACTIONS } from '../../src/coin/action/names.ts';
import { CHAINS, chainNetwork } from '../../src/coin/chains.ts';
import { HANDLERS, isBuilt, UNBUILT_FORMATS } from '../../src/indexer/actions/handlers.ts';
import { ROOT } from '../root.ts';
import { conditionOf } from './action-conditions.ts';
import { wrapDoc } from './wrap.ts';

export const ACTIONS_FILE = join(ROOT, 'docs', 'actions.md');

/** Returns the actions that are not built, by name. */
function unbuiltActions(): string {
  return [...ACTIONS]
    .filter((action) => !isBuilt(action))
    .sort()
    .join(', ');
}

/** Returns the formats that are not built: `LIST 2, 4, 5; …`. */
function unbuiltFormats(): string {
  return Object.entries(UNBUILT_FORMATS)
    .map(([action, formats]) => `${action} ${formats.join(', ')}`)
    .join('; ');
}

const LEAST_PAYMENTS = CHAINS.map((chain) => chainNetwork(chain, 'mainnet'))
  .map(({ leastPayment, ticker }) => `${leastPayment.toLocaleString('en')} satoshis of ${ticker}`)
  .join(', ');

const HEAD = `# Actions

Generated from the handlers by \`npm run configuration\`. Do not edit.

An action is a text \`ACTION|VERSION|FIELD|…\`. Every action gets a number and a row in \`actions\`. Its own table has a row for each of its parts. The status of a part is \`valid\`, or \`invalid: \` and the first status in the list of its action whose condition holds. The indexer judges parts in order, each on the ledger that the earlier parts left.

## Rules for all

### Fields

Spaces around a field are removed. A missing field is empty, and fields beyond the format are ignored. An empty field changes nothing. Digits are those of ASCII, and lengths count code points of Unicode.

| field | valid text | rule |
|---|---|---|
| ACTION | a name in any case | TRANSFER is another name of SEND, ADDR of ADDRESS, DROP of AIRDROP, CAST of BROADCAST, MSG of MESSAGE. An action with any other name is recorded as UNKNOWN, in \`actions\` alone |
| VERSION | a whole number up to 255, of at most three digits, with or without quotes around it | Empty is 0. ISSUE, MINT and SEND may leave it out: if the first field is longer than two characters or no number, their format is 0, and that field is the first of the format |
| whole number | 1 to 15 digits | Rows of ISSUE and MESSAGE keep it without leading zeros |
| amount | 1 to 40 digits, then at most as many decimals as its token has; no sign, no exponent, no point at the end | Empty is badly formed. 0 is an amount, and moves rows of 0 |
| MAX_SUPPLY | an amount of at most 10^21 units | 0 is no cap. No token has more than 10^36 units, so that the database can add up all its rows |
| ticker | a name in any case | It is looked up in any case |
| \`^id\` | \`^\` and a number without leading zeros | \`^12\` names the ticker or address with the id 12, but not in DESTINATION of a SEND |
| list | the number of a LIST | The members after its newest valid edit count |

Shares of an amount are cut down to the places of its token. Text that is longer than its column is cut, and a text that is no number is NULL in a column of numbers. Only refused actions have such values: a valid row that does not fit its table stops the indexer.

### Parts and rows

| case | rule |
|---|---|
| An action has no fields | It has one part of empty fields |
| Parts repeat, and the format ends with one MEMO | The last field is the MEMO of all parts if it is one field more than whole parts. Otherwise the last part is filled up with empty fields |
| Parts of a SEND have the same ticker and destination | They are one part, at the place of the first and with the last MEMO |
| Parts of a DESTROY have the same ticker and MEMO | They are one part in the same way |
| A part has a badly formed amount | It stays alone. If the ticker is unknown, 18 places are read |
| Parts of an AIRDROP | They are never joined |
| Rows of one action have the same address and ticker | They are one row |

### Lists and sleep

| rule | condition |
|---|---|
| A list excludes an address | The allow list lacks the address, or the block list has it. An allow list without members excludes everybody |
| An address or token sleeps | RESUME_BLOCK of its newest valid SLEEP is -1 or above the block |

### Ids

| thing | rule |
|---|---|
| ticker | It gets its id with its first valid ISSUE. Rows of refused actions about other tickers have none: see [ids of tickers](#ids-of-tickers) for exceptions |
| address | It gets its id when an action meets it: first the source, then the addresses that the action credits, in their order, then those in its fields. The fields of a refused action count too if its version is known. A text that is no address of its chain gets none |
| both addresses of a DISPENSER | They get their ids in byte order |

### Effects

| action | effect |
|---|---|
| ISSUE, MINT | ISSUE credits MINT_SUPPLY to its source, and sends it on to TRANSFER_SUPPLY. MINT does the same with its DESTINATION; the source keeps it if it is the DESTINATION. Locks are never taken away |
| AIRDROP | Gives the amount once to each member of a list of addresses, or to each holder of a token of a list of tickers, the source included. The lists of the token exclude addresses |
| DIVIDEND | Pays each holder but the source its holding times the amount. The lists of DIVIDEND_TICK exclude addresses |
| CALLBACK | Takes all units of all holders but the source, and pays each its holding times CALLBACK_AMOUNT. [LIMITS](#what-limits-bounds) says which holders, where they are very many or the lists of CALLBACK_TICK exclude some |
| SWEEP | Cancels offers, then moves every balance, then gives away each ownership that no offer holds, tickers in byte order. Each ownership is given by an action ISSUE of its own, with the transaction of the SWEEP |
| LIST | Judges each different item by itself. An item that is given as text and as \`^id\` is one. \`TICK (unknown)\` or \`ADDRESS (format)\` refuses an item and not the action |

### Fees

| subject | rule |
|---|---|
| amount | The gas of the profile's schedule times its price, rounded half up to 8 places. In the default profile all gas is 0, and there are no rows in \`fees\` |
| time | A valid part pays last |
| paid in the coin | If an output goes to FEE_DESTINATION, the first such output pays. The commands of a BATCH use it up one after the other |
| paid in the gas token | Otherwise the source pays in the gas token, and DONATE1 gets it. It is destroyed if FEE_PREFERENCE of the source is 1, or if the profile has no DONATE1 |
| ISSUE | Pays for a new ticker alone, and not for the gas token |
| offer | Pays when it is made. From PAID_EDITS on, an edit pays for the days beyond 90 from now that the offer did not have |
| LIST | Pays nothing |
| CALLBACK, SWEEP | Pay for each holder; for each balance, ownership and open offer that is moved |
| price in the coin | The fee by the prices of \`<gas token>/USD\` and \`<coin>/USD\`, rounded half up to 18 places and then to 8. They are those of the valid round of PRICE with the highest number, if its TIMESTAMP is at most 1,800 s old. 95 hundredths of it suffice |
| Litecoin, Dogecoin | The rounds of the Bitcoin ledger count four hours later, and their age counts from then ([indexer.md](operating/indexer.md#prices-of-another-chain)) |

### Actions that are not active

An action that the profile has not activated, or that is built later, has the status \`invalid: ACTION is not yet activated\`. An action that is not built has only its row in \`actions\`: ${unbuiltActions()}. These formats have that status in every profile: ${unbuiltFormats()}.

## Choices

Where deployed indexers differ, or their behaviour is not known, this one does the following.

- Only a new sub-token needs its parent. Its owner keeps it when the parent is sold.
- An ISSUE never repeats the MINT_SUPPLY of an earlier one. Each ISSUE rounds MAX_SUPPLY, MAX_MINT and MINT_ADDRESS_MAX of its token half up to its DECIMALS. A cap stays at least one smallest unit, since 0 is none. Blocks of the mint window are whole numbers, whatever the token's places. \`0\` as ALLOW_LIST or BLOCK_LIST removes the list.
- Controllers need contracts, of which there are none.
- A FILE with a GATE_TICKER is for those who hold GATE_MIN_AMOUNT of it, or any unit where that is empty. From then on a SEND of the token that leaves its destination with that much must be in a BATCH with a MESSAGE of format 2 to that destination, which hands over the key. The destination's holding before the action and the part are added up, and compared with the least amount of all files of the token. The content of the message is not checked.
- Members of a list are in byte order.
- In \`mappings_actions\` the type 1 is a ticker and 2 an address, each once an action. The items of a LIST are not among them. An ISSUE beside an action has its own: source, new owner and ticker. \`mappings_files\` has the ticker (type 1) of a valid FILE, once its owner links the FILE to an ISSUE of the token, in either order. \`leg_ordinal\` counts parts from 0.

## Rules for safety

Other indexers do not have these rules. Each has a height in the profile (\`activations\`): by default 0, and on main networks early in 2027, so that all indexers of one ledger can have it by then.

| rule | from its height on | reason |
|---|---|---|
| CANONICAL_ADDRESSES | An address counts in each of its spellings (Litecoin's script addresses of both prefixes, segwit in capitals), and rows have the usual one. A segwit version that no rule spends is no address. So do the addresses of offers and matches of earlier blocks: payee, receiver, and who gets a rest. Lists of earlier blocks keep their members; an edit of a list adds the account | Below it an address counts as it is written. What was sent to another spelling stays there, where nobody can act. And an offer at another spelling takes the coins of whoever pays it, and gives nothing |
| DISPENSER_LIMITS | A payment asks the dispensers that the paid address opened before those of others there, each group the oldest first. What an address pays to itself is no payment: no dispenser is asked, and no decoder keeps it. Otherwise its change would use up its dispensers. Payments that a dispenser refuses count among the 1,000 after which it is closed unless it is refilled. A BATCH opens dispensers at the address of its source alone. An address that set no DISPENSER_PREFERENCE is for the first source that opens a dispenser there, and one that set 1 for nobody else | Otherwise one transaction would buy a row for each payment to an address for ever, in ledgers and decoders, at the address of whoever is paid most, and one BATCH as much at a hundred addresses. And a stranger's older dispenser, opened when an address was new, would take the payments for its own. And whoever sold there once could come back for ever, against the owner's will |
| DISPENSER_NOTICE | An edit that ends a dispenser earlier ends it an hour after the edit at the earliest, and \`dispenser_edits\` has that time | A cancel and edits of lists wait an hour, since payments are under way. An EXPIRATION one second ahead let the seller keep them for nothing |
| EXACT_AMOUNTS | A waiting amount is checked again when it is used. A dispenser whose GIVE_AMOUNT by now has more places than its token takes no refill. An order with such an amount matches nothing and waits for its end. An amount of the gas token (stakes, deposits, fees, rewards, bounties) has at most 8 places, or its DECIMALS where they are fewer | DECIMALS may fall while nobody has a unit. Then half a unit of an indivisible token would change hands, or a whole one for the price of a half |
| FAIR_FILLS | A fill keeps the price of both orders to the unit. What is left of an order ends with the match after which it can be filled no more | Below it, each side of a fill is rounded half up to its token's places. A taker of indivisible tokens could choose amounts by which he paid 1 for 149 where 100 were offered, again and again |
| LOCKED_CAPS | An ISSUE is refused if its DECIMALS would round a locked cap | 1.5 units in whole ones would be 2, above what was promised for ever |
| KEPT_TERMS | The terms of a CALLBACK stay as they are while anybody but the owner has units, those in the escrow of an offer too: while the supply is more than the owner's balance | Below it, units in offers count as nobody's. An owner whose holders all offer theirs could change the price to 0 and take everything for nothing |
| UNPAID_ENDS | An order that does not pay for a match within its time ends. Its seller has his units back | A bid needs no escrow: one of 40 bytes that nobody means to pay would take every offer of its pair from the market, for ever |
| UNPAID_DUST | An order does not end with a match that is worth less than nodes take as a payment to any address: ${LEAST_PAYMENTS} | Whoever sold one unit to a bid, for less than can be paid, would end it, whatever its size |
| PAID_EDITS | An edit of an offer pays for the days beyond 90 by which it stays open longer | An offer of many years would cost what one of 90 days does, and an edit of 20 bytes |
| LIMITS | One action or block costs others a bounded amount: see below | A few hundred bytes make millions of rows |

### What LIMITS bounds

The figures are in [networks.md](operating/networks.md#limits).

| subject | rule |
|---|---|
| units of a block | One for each action, for each further part of a SEND, DESTROY or AIRDROP, for each row of credits, debits and escrows, for each item of a LIST, and for each holder and item that a CALLBACK or SWEEP moves; two more for each dispense, six more for each dispenser that is opened |
| full block | Once its actions have used \`blockUnits\`, or those of a source its share of them, it refuses every further BATCH, every new DISPENSER, ORDER or SWAP, and every action that looks at others. An ORDER or SWAP that is being matched expires at once, with what is left of it: if it stayed open beside others that fit, whoever comes next would take the difference in price |
| shares | A source may use half of what nobody needs yet: of the units that are left, less 100 for each source with a later action in the block that has a status \`(block limit)\`. If its equal part of all that is left is more, it may use that; and everything if nobody follows, where one action may exceed what is left. What it has used in the block before counts as left. An AIRDROP, DIVIDEND or LIST that exceeds the share is refused, a CALLBACK or SWEEP moves a third as many as there are units. Looks are shared in the same way. Otherwise a BATCH of 45 bytes, whose AIRDROPs fill the block, would close it to all who come later. So they have 100 units each, or their equal part, whatever those in front use; and one that needs more than half of a block is valid when its source is alone there, or last. A smaller part than half would keep out honest actions, and only slow those down who fill blocks |
| looks | Possible recipients of an AIRDROP count apart, 10 of them for a unit of the block; so do three for each holder whom a DIVIDEND or CALLBACK looks at, and ten for each item that the source of a SWEEP has of what its flags name, moved or not. An AIRDROP looks at each address of its list, even if the token bars it, and twice more for each list of the token that is asked about it; to the holders of tokens, each token is such a look, and each holding is three, even if it brings no new recipient. Holders are counted before they are read: where a block has not as many looks left, the AIRDROP is refused (\`RECIPIENTS (block limit)\`), and so is a DIVIDEND or CALLBACK of a token that more hold than any block may look at. Each list of the token in which these pay counts two looks more for each holder that it is asked about, before it is read. A holding counts for three because it is read with its address, and one block may not fill the memory of an indexer. Trades that a match passes over count two for a unit; where as much as both have left would pass the taker's price, so that a smaller fill is searched for, 20 more looks count. COLLECT, DELEGATE and format 0 of PRICE look at each key that their source ever staked behind, that PRICE also at each key of all sources, and at those of each source that has a delegated key; SLASH at those of the sources that its key was delegated to. STAKE, UNSTAKE and DELEGATE look at the key that they name. A key with several stakes counts once for each; up to 50 keys and stakes are read whatever the block has looked at before. An action that moves nothing thus closes the block only to others of its kind |
| SWEEP | It moves \`parts\` items at most: offers first, the oldest in front, then balances and ownerships, tickers in byte order. Anybody can give its source more than that; a later SWEEP moves the rest. The items are counted before they are read: where the block has not ten looks left for each, it is refused (\`ITEMS (block limit)\`), and so is every SWEEP of a source that has more items than a block has units. Otherwise one of 9 bytes would read more than fits into memory. Such a source sends each token by a SEND, or sweeps by fewer flags |
| AIRDROP of 0 | It credits nobody |
| many holders | A CALLBACK takes the units of \`parts\` holders and pays for those alone: those with the most units, of equal ones the first in byte order. The owner sends another one for the rest. A DIVIDEND pays the \`parts\` greatest shares in the same order. Otherwise whoever gives a speck to very many would end both for ever. An AIRDROP to more than \`parts\` is refused: its sender may name receivers in lists |
| holders who may not be paid | A CALLBACK passes over those whom the lists of CALLBACK_TICK exclude, and they keep their units. It is refused where no other is left. Otherwise whoever gives a speck to one of them would end it for ever |
| ends | A block ends a third as many offers as it has units left, and 1,000 at least, the longest overdue first. The others wait, open, for the next block: otherwise everything written in a thousand blocks would fall due in one. A dispenser that waits so can no longer be edited, and sells nothing (\`dispenser expired\`), since decoders no longer keep payments to it. An ORDER or SWAP that waits so can no longer be edited or cancelled, and is not matched: it ends when another meets it |
| polls | A tally looks at each option, each ballot, each delegation of its token that has not ended, and with WEIGHT_MODE \`stake\` at each key of those; at ballots and delegations twice unless WEIGHT_MODE is \`balance\`. A block has a look for two of its units at polls that end, whatever its actions have used, and as many at polls that may be decided before their end; those with fewer voters than MIN_VOTERS are not looked at. Of each kind it looks at one poll at least. The others wait for the next block, those first that should have ended first, and take no more ballots (\`poll closed\`) |
| matches | An ORDER or SWAP that passes over 1,000 others with lists of their own then looks at those without lists alone, and expires after \`parts\` others that do not fit. It may pass over 50 whatever the block has looked at before. One whose GET_ADDRESS the lists of its tokens exclude is refused (\`GET_ADDRESS (not authorized)\`); where lists exclude it later, it ends when another meets it, and itself matches nothing. Otherwise offers that nobody can take, or that exclude everybody, would cost each later one a look, for 90 days |
| payments | \`dispenses\` dispensers serve one payment, and the next one refuses it with \`DISPENSE (limit)\`. After the first empty dispenser the payment passes over empty ones, and after ten refusals over those that would refuse it: each is two looks, as at trades, and two more for each list of its tokens and of its own; 50 dispensers are free. In a full block one dispenser serves it, after one refusal at most that has a row. What is paid is gone: a refusal in front may not end what a payment buys |
| lists | \`list_items\` has all members under a LIST, and under its newest edit of each block. It has none for edits that changed nothing, or that a block has no room for. A block has room for \`wholeList\` members, or for one of each 8 characters of its actions if that is more. For a list of more than \`wholeList\` members it has none until as many items changed as the list has members. The members are then those kept last, with what \`list_edits\` of later valid edits added (\`lists.edit\` 1) or took away (2) |

## Aliases in a BATCH

From the height of BATCH_ALIASES on, the commands of a BATCH may be named by their aliases. The height is 0 by default on test networks and never on main networks, as in deployed ledgers.

## Ids of tickers

From the height of REFUSED_TICKERS on, by default 0, a ticker gets an id in \`index_tickers\` from the first row that names it. That is so for a refused action too, and for a ticker without a token. Deployed ledgers do so from their first block, and \`^12\` counts such ids. CALLBACK_TICK of an ISSUE comes before TICK; other actions number tickers in the order of their text, part by part. Another spelling of a token is that token; without a token, each spelling has an id of its own. There is no id for a \`^id\` that names no ticker, for a text that begins with \`^\`, and for a ticker that shares its first 200 characters with another. An index of a release without the rule is refused: build it anew, or set the rule to a later height, as all who share the ledger must.

## Offers

- An offer debits what it gives and adds an escrow. A release adds an escrow of minus the amount. Time is the median of the block's own time and those of up to ten blocks below it.
- An open offer ends in the first block whose time is above its EXPIRATION: first orders, swaps and dispensers in the order of their numbers, then awaited payments whose two hours are over, then dispensers that were cancelled an hour ago. A cancelled dispenser does not expire within its hour; then the address that cancelled it gets what it holds.
- An offer that names no EXPIRATION ends after 90 days. An empty field of an edit changes nothing, \`0\` removes a list. Edits of a dispenser's lists count after an hour, and so does an earlier end (DISPENSER_NOTICE). An edit of an order or swap looks for a match again.
- Formats 1 and 2 are recorded as \`ORDER_CANCEL\`, \`ORDER_EDIT\` and so on. Events without a text are actions too: \`ORDER_MATCH\`, \`ORDER_EXPIRE\`, \`DISPENSE\`, \`DISPENSER_CLOSE\` and so on. They have no transaction, except DISPENSE and COINPAY. Their source is that of the offer, or the payer. An ownership that changes hands is an action \`ISSUE\` beside it, with its transaction; an ownership that returns to its owner makes none.
- Orders match if the maker's GIVE over GET is not below the taker's GET over GIVE. They match at the maker's price: the best price first, then the oldest. A fill is the largest, up to what both have left, by which neither gets a worse price than he asked: the taker gives what his units cost at the maker's price, rounded up to the next unit of his token (FAIR_FILLS). Two orders without such a fill do not match, though their prices meet; the taker goes on to the next one. An order is complete when either side is used up, or when what it still gets pays for no unit of what it gives; the rest of its GIVE returns to its source in the same action.
- An ownership counts as one unit and changes hands whole, against an exact amount. Swaps match exact amounts of both sides, the oldest first. The coins of both sides are those of this chain.
- A match with the chain's coin waits 7,200 s for a COINPAY. The first output of the COINPAY's transaction that goes to the payee and suffices pays it, as one action; what an output has paid, it pays no other match. A COINPAY without such an output leaves no action. One that comes too late is refused, below LIMITS once for each such output. Without payment the seller gets the units of the match back, and his order is smaller by them. The order that did not pay ends (UNPAID_ENDS), unless the match is worth less than can be paid (UNPAID_DUST). In \`order_matches\` the tick 0 is the chain's coin.
- A cancelled or expired order with awaited payments returns the rest at once, and ends with the last of them. If a payment never comes for an order that was swept, the DESTINATION of the SWEEP gets the units of the match.
- A dispenser serves payments of the coin or of valid SENDs, those of the paid address first, then oldest first, each with what the earlier ones left. A refused dispense leaves the payment to the next dispenser. A dispenser closes after 1,000 dispenses since its last refill. An edit by GET_ADDRESS refills from its own balance.
- GET_ADDRESS may be another address if it has DISPENSER_PREFERENCE 2, took payments for the source before, or got no id in an earlier block. Any action that met it there gave it an id, even a refused one. From DISPENSER_LIMITS on such a dispenser is an action of its own, not a command of a BATCH. Then an address that set no preference is for the first source that opens a dispenser there, in the block in which the address is new; only that source may come back. One that set 1 is for itself alone. Currencies are AUD, BRL, CAD, CHF, CNY, EUR, GBP, INR, JPY, KRW, MXN and USD.
- SWEEP's flags cancel offers. What they hold and the ownerships in them go to DESTINATION, of dispensers after their hour.

### Before a payment

A payment names no dispenser. At an address with DISPENSER_PREFERENCE 2 anybody may sell anything: an older dispenser that asks one base unit takes the payment for as many units of its token as it has. So whoever pays, or opens a dispenser there, first reads the open dispensers of the address (\`dispensers\` of the explorer by \`destination\`, with \`state\` and \`escrow_remaining\`), in the order in which they are asked: those of the address itself, then by number. Those in front that ask no more than the payment take their part of it.

Order by age stays, because nobody but the owner of the address, who is paid anyway, can get in front of a dispenser that a payer has seen. If the dearest came first, or sources took turns, any newer one could, while the payment waits for its block. The owner may cancel what others sell there. An address that sells for itself alone needs no preference, and its dispensers are asked first.

### Prices in a currency

From the height of FIAT_DISPENSERS on, by default 0 on bitcoin-regtest and never elsewhere, a fill may cost FIAT_AMOUNT of a currency, paid in the coin.

| subject | rule |
|---|---|
| price | That of \`<coin>/<FIAT_CODE>\` in the rounds of PRICE whose TIMESTAMP is at most 86,400 s old. The round with the highest number by which the payment buys a fill counts. So a payment that waited a while still buys, and the seller bears what the coin loses in a day |
| cost of fills | It is rounded up to a base unit |
| no price | A dispenser can be opened. Payments get \`no matching oracle price\` |
| payments | GET_AMOUNT is the least payment that counts, as beside any other price: smaller ones are left to other dispensers, and decoders keep none. Without it, dust would end the dispenser for next to nothing. A payment from there on counts among the 1,000, even if it is too small for a fill, and the seller keeps it |
| refused | Such a dispenser below that height, with a GET_TICK, or with an ORACLE_ADDRESS. Oracles' prices of tokens are recorded, and nothing is sold by them |

### Statuses

Statuses of a DISPENSE are \`no matching oracle price\`, \`SOURCE and GET_ADDRESS can not be same\` and \`insufficient funds\`. Deployed indexers write a space after the last one, but \`index_statuses\` holds each text once, and to its collation both are one. Then come \`DESTINATION (GET_TOKEN allow list)\`, \`GET_ADDRESS (GET_TOKEN allow list)\`, the same of the block list, of \`GIVE_TOKEN\`, and of the dispenser (\`GET_ADDRESS (dispenser allow list)\`). A COINPAY has \`COINPAY obligation expired\`.

## Stakes

- Stakes are units of the gas token on Bitcoin. STAKE, UNSTAKE and DELEGATE for contracts are not built, since there are none. Nothing in this section costs gas.
- A stake or key begins to count, and ceases, 6 blocks after its action (Litecoin 24, Dogecoin 60). The units of an ended stake return 1,000 blocks after the UNSTAKE (4,032; 10,080), at the end of that block. That is an action \`UNSTAKE_RELEASE\` without a transaction; the row in \`unstakes\` then has the status \`released\`.
- UNSTAKE ends the rows of \`stakes\` that count and have no end. The rest that it leaves is a new row, which counts from the block in which the old ones end.
- A key is free while no stake of it is without an end or cools down, and no delegation of it has still to end. The key of a stake that DELEGATE 2 revoked is never free again.
- DELEGATE 2 writes a row in \`delegations\` that begins and ends in one block, so it never counts. A key that is missing or badly formed has the id 0.
- COLLECT takes from the address of the role REWARD. Where there is none, the pool is empty. It pays only what was earned on the chain, so an index that is built again knows it too.

## Validators

- The weight of a key in a block is the sum of its stakes that count there. A delegated key has the weight of all stakes of its source. A key that DELEGATE 2 revoked has none once the revocation takes effect, and a banned key never had any.
- Least weights of the capabilities: \`price\` 1,000, \`cross_chain\` 5,000, \`oracle_publish\` 500, \`attestation\` 1,000, \`full_node\` 2,000.
- A quorum is more than two thirds of the weight of all keys that have the capability. Of each source only the heaviest key counts, among all and among those that signed.
- The signers of PRICE's format 0 are validators for \`price\` at BTC_BLOCK_HEIGHT. They sign, by Ed25519, the JSON \`{"round":…,"timestamp":…,"btc_block_height":…,"pairs":[{"pair":…,"price":…}]}\` with the pairs in byte order and without spaces. Other signatures do not count. If a key has two, the last counts.
- A valid round shares 10 units of the gas token among the sources that signed, cut down to 8 places. Each gets a row in \`validator_rewards\` (\`oracle_round\`) for its first signing key in byte order; COLLECT pays it. Format 2, for compressed windows of rounds, is not built.
- A PRICE of format 1 is the statement of its source alone. It moves nothing; a token's price holds a day later.
- ATTEST answers a contract's request. There are no contracts: formats that ask, relay or batch are not built, every answer is refused, and nobody earns a fee.

### SLASH

| subject | rule |
|---|---|
| proof | Two messages of one slot, in base64url without padding: \`EQUIV\\|ENGINE\\|ROUND\\|VIEW\\|\\|\` and a JSON object with a whole \`btc_block_height\`, in UTF-8, of at most 16,384 bytes |
| fields | ENGINE has 1 to 32 ASCII letters, digits, \`_\` and \`-\`; ROUND 1 to 128 of these, \`.\` and \`:\`; VIEW is a whole number |
| signatures | Both are over all bytes of a message |
| engine | \`oracle\` for \`price\`, \`attest\` for \`attestation\`, \`xchain\` for \`cross_chain\`; other capabilities have none |
| loss | The rows of \`stakes\` of the key without an end, or with an end above the block, and its rows of \`unstakes\` that cool down, are cut to 0. The latter get the status \`slashed\`. If the key was delegated at one of the two heights, all keys of that source lose as much. \`capability_slash_debits\` has the amounts before |
| bounty | The units leave the escrow of each staker. The source gets a twentieth, cut down to 8 places, of at least 50 and at most 1,000 units, and never more than the whole. The address of the role REWARD gets the rest; it is burned where there is none |
| ban | The key is banned: it is never free again, and never signs |
| refused SLASH | It has only its row in \`actions\`: its table has no status |

## Votes

- VOTE's format 0 makes a poll among the holders of a token, 1 is a ballot, and 3 lets another vote. A poll closes at the end of block END_BLOCK, after what ends by its time and before stakes come back. That is an action VOTE of format 2 without a transaction, with the poll's source.
- A ballot is one to MAX_SELECTIONS different options, counted from 0, with commas between them (\`0,2\`), each of one or two digits. Where TALLY_MODE is \`split\` each may have a share from 1 to 1,000,000 of at most seven digits (\`0:60,2:40\`); without one the share is 1. Spaces around the parts are removed. \`votes\` has a row for each option; a badly formed ballot has one of option 0. The newest valid ballot of a voter counts.
- Ballots are weighed when the poll closes. The weight of a ballot is 0 if its voter holds nothing, or less than MIN_VOTE_BALANCE.
- Format 3 adds the source's weight to the ballot of DELEGATE_TO, in polls of that token in which the source has no ballot. It goes no further. The newest delegation counts; an empty DELEGATE_TO or the source's own address ends it.
- QUORUM and DECIDE_THRESHOLD are shares of the token's supply from 0 to 1, compared with what voters hold, whatever its weight. Ballots without weight do not count. A poll fails if the weight of all ballots is 0, if their voters hold less than QUORUM, or if they are fewer than MIN_VOTERS. Otherwise the option with the greatest weight wins, of equal ones the first. With DECIDE_THRESHOLD above 0 the poll closes at the end of a block with a ballot of it, if it would not fail and the voters for that option hold that share.
- DEPOSIT is of the gas token and held until the poll closes. Then the source gets it back. If the poll failed, the address of the role REWARD gets it; without such an address it is burned. Callbacks need contracts; fields about them beside CALLBACK_CONTRACT are ignored.

| mode | rule |
|---|---|
| WEIGHT_MODE \`balance\` | the voter's holding |
| WEIGHT_MODE \`stake\` | its stakes that count |
| WEIGHT_MODE \`flat\` | 1 |
| WEIGHT_MODE \`quadratic\` | the square root of its holding, cut down to 18 places |
| WEIGHT_MODE \`time_weighted\` | it does not exist, because averages over time are not kept |
| TALLY_MODE \`approval\` | each option gets the whole weight |
| TALLY_MODE \`split\` | each option gets its share of the weight, cut down to 18 places |

## Blocks

After each write the indexer checks, for tickers that moved, that supply = credits - debits + escrows = balances + escrows. A difference halts it ([indexer.md](operating/indexer.md#checks-and-halts)).

Transactions come in the decoder's order, the commands of a BATCH one after the other. The three hashes of a block are those of \`src/consensus/ledger-hashes.ts\`. A rollback deletes the rows of its blocks, returns to balances what they moved, and makes each token anew from the valid ISSUEs that are left. All ids are assigned again, so two indexers of one chain have the same rows under the same ids.
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
