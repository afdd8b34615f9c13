type Conditions = Readonly<Record<string, string>>;

const BLOCK_FULL = 'the source has used up its share of the `blockUnits` of the limits';
const BEYOND_SHARE = `${BLOCK_FULL}, or would exceed it`;

/** Conditions of statuses that have the same meaning in every action. */
const COMMON: Conditions = {
  'VERSION (unknown)': 'the version is none of those above, and none that is known and not built',
  'TICK (unknown)': 'no token has that ticker or id',
  'TICK (sleeping)': 'the token sleeps',
  'TICK (ownership escrowed)': 'an open offer holds the ownership of the token',
  'SOURCE (sleeping)': 'the source sleeps',
  'SOURCE (not authorized)': "the token's lists exclude the source",
  'DESTINATION (not authorized)': "the token's lists exclude the destination",
  'DESTINATION (unresolvable ^id)': 'no address has that id',
  'DESTINATION (format)': 'it is empty or no address of this chain',
  'AMOUNT (format)': 'it is no amount of the token',
  'KEYS (block limit)':
    'it would read more than 50 keys or stakes, and the source has already looked at as much as it may',
  'MEMO (pipe)': 'it contains `|`',
  'MEMO (semicolon)': 'it contains `;`',
  'MEMO (length)': 'it is longer than 250 characters',
  'insufficient funds': 'the source holds less than the amount',
  'insufficient fee (native coin output required)':
    'the profile names a FEE_DESTINATION, no output pays it, and the chain is not Bitcoin',
  'insufficient funds (FEE)':
    'no output pays FEE_DESTINATION, and the source holds less of the gas token than the fee and what the action takes',
  'fee output has zero value': 'the first output to FEE_DESTINATION pays 0',
  'no current oracle price for X/USD (missing or stale beyond 1800s)':
    'no valid PRICE of the last half hour names the gas token, or the coin',
  'invalid oracle price for X/USD': 'it names 0 for it',
  'insufficient native coin fee (paid: a, expected: b, min: c)':
    'what earlier commands left of that output is less than 95 % of the fee in the coin',
  'GAS (insufficient)': 'each command is known to cost gas, and the source cannot pay the cheapest',
  'COMMAND (block limit)': BLOCK_FULL,
  'RECIPIENTS (block limit)': BEYOND_SHARE,
  'PARTS (limit)':
    'it has more than 250 parts, and the source has used up its share of `blockUnits`; this part and those behind it are not carried out, and only this one has a row',
  'RECIPIENTS (limit)': 'receivers are more than `parts` of the limits',
  'ITEM (block limit)': BEYOND_SHARE,
  'ITEM (limit)':
    'items are more than `parts` of the limits; format 1: those that it adds and the members are more than a block has looks',
  'ITEMS (block limit)': `${BLOCK_FULL}, or has more items than a tenth of the looks that are left to it`,
  'DISPENSER (block limit)': BLOCK_FULL,
  'ORDER (block limit)': BLOCK_FULL,
  'SWAP (block limit)': BLOCK_FULL,
  'ACTION (BTC only)': 'the chain is not Bitcoin',
  'SIGNING_PUBKEY (required)': 'the field is empty',
  'SIGNING_PUBKEY (format)': 'it is not 64 hex digits; capitals are read as small letters',
  'AMOUNT (must be greater than 0)': 'it is 0',
  'PUBKEY (format)': 'one of that many keys is not 64 hex digits; capitals are read as small letters',
  'SIG (format)': 'one of the signatures is not 128 hex digits',
  'SOURCE (does not own this stake)': 'an open stake of the key is of another source',
  'EXPIRATION (format)': 'it is given and no whole number',
  'EXPIRATION (past)': 'it is given and not above the time of the block',
  'ALLOW_LIST (unknown)': 'it is given, not `0`, and no LIST or edit of one has that number',
  'ALLOW_LIST (unsupported)': 'the list is not of addresses',
  'BLOCK_LIST (unknown)': 'it is given, not `0`, and no LIST or edit of one has that number',
  'BLOCK_LIST (unsupported)': 'the list is not of addresses',
  'CONTROLLER (unknown)': 'it is given: there are no contracts',
  'ACTION_CLASS (unknown)':
    'it is none of `transfer`, `trade`, `burn`, `mint`, `stake`, `ownership`, `all`, in any case',
  'ACTION_CLASS (not bound)': 'UNBIND is `1`: nothing is bound',
  'CONTROLLER (null)': 'CONTROLLER is empty',
  'GIVE_COIN (unsupported COIN network)': 'it is none of `BTC`, `LTC`, `DOGE`, in any case',
  'GET_COIN (unsupported COIN network)': 'the same of GET_COIN',
  'GIVE_COIN (network)': "it is not this chain's coin",
  'GET_COIN (network)': "it is not this chain's coin",
  'GET_COIN (cross-chain not enabled)': "it is not this chain's coin",
  'GIVE_TICK (unknown)': 'no token has that ticker or id',
  'GET_TICK (unknown)': 'it is given, and no token has that ticker or id',
  'GIVE_AMOUNT (format)': "it is given and no amount of the token; the chain's coin has 8 places",
  'GET_AMOUNT (format)': 'the same of GET_AMOUNT',
  'GET_AMOUNT (must be positive)': 'GET_OWNERSHIP is not `1`, and the amount is empty or 0',
  'GET_ADDRESS (unresolvable ^id)': 'no address has that id',
  'GET_ADDRESS (format)': 'it is given and no address of this chain; where it is empty, the source is meant',
  'GIVE_OWNERSHIP (format)': 'it is not empty, `0` or `1`',
  'GET_OWNERSHIP (format)': 'it is not empty, `0` or `1`',
  'GIVE_TICK (native coin has no ownership)': 'GIVE_OWNERSHIP is `1`, and GIVE_TICK is empty',
  'GET_TICK (native coin has no ownership)': 'GET_OWNERSHIP is `1`, and GET_TICK is empty',
  'GIVE_AMOUNT (must be empty when GIVE_OWNERSHIP=1)': 'GIVE_OWNERSHIP is `1`, and an amount is given',
  'GET_AMOUNT (must be empty when GET_OWNERSHIP=1)': 'GET_OWNERSHIP is `1`, and an amount is given',
  'SOURCE (not GIVE_TICK owner)': 'GIVE_OWNERSHIP is `1`, and the source does not own the token',
  'GIVE_TICK (ownership already escrowed)': 'GIVE_OWNERSHIP is `1`, and an open offer holds the ownership',
  'GIVE_AMOUNT (required and greater than 0 when GIVE_OWNERSHIP=0)':
    'GIVE_OWNERSHIP is not `1`, and the amount is empty or 0',
  'insufficient funds (GIVE_AMOUNT)': 'the source holds less of the token; nothing is asked of the coin',
  'insufficient funds (GIVE_ESCROW)': 'the source of the action holds less of the token'
};

const lockConditions = (condition: (lock: string) => string, mark: string): Conditions =>
  Object.fromEntries(
    ['MAX_SUPPLY', 'MAX_MINT', 'DESCRIPTION', 'SLEEP', 'CALLBACK', 'MINT', 'MINT_SUPPLY'].map((lock) => [
      `LOCK_${lock} (${mark})`,
      condition(lock)
    ])
  );

const offered = {
  'TICK (sleeping)': 'GIVE_TICK sleeps',
  'SOURCE (not authorized)': "GIVE_TICK's lists exclude the source"
};

/** Condition of an ORDER or SWAP at its opening. */
const BARRED = { 'GET_ADDRESS (not authorized)': 'from the height of LIMITS on, the lists of either token exclude it' };

const listed = (name: 'ORDER' | 'SWAP'): Conditions => ({
  [`${name}_ACTION_INDEX (unknown)`]: `no valid ${name} has that number`,
  'SOURCE (not owner)': 'another address made it',
  [`${name}_ACTION_INDEX (${name.toLowerCase()} not open)`]:
    'its status is not `open`, or its end waits for a block with room'
});

const changed: Conditions = {
  'GIVE_ESCROW (format)': 'it is given and no amount of the token',
  'DISPENSER_ACTION_INDEX (unknown)': 'no valid DISPENSER has that number',
  'SOURCE (not owner)': 'the source is neither who opened it nor its GET_ADDRESS',
  'DISPENSER_ACTION_INDEX (dispenser not open)': 'its status is not `open`, or its end waits for a block with room',
  'GIVE_ESCROW (must be empty when GIVE_OWNERSHIP=1)': 'the dispenser gives an ownership, and an amount is given',
  'MAX_REFILLS (dispenser refill limit reached)': 'GIVE_ESCROW is above 0, and it was refilled 5 times'
};

/** Conditions that only one action has, or that differ in it. */
const OF_ACTION: Readonly<Record<string, Conditions>> = {
  ADDRESS: {
    'FEE_PREFERENCE (format)': 'it is given and no whole number',
    'REQUIRE_MEMO (format)': 'it is given and no whole number',
    'DISPENSER_PREFERENCE (format)': 'it is given and no whole number',
    'FEE_PREFERENCE (value)': 'it is given and not 0, 1 or 2',
    'REQUIRE_MEMO (value)': 'it is given and not 0 or 1; empty is 0',
    'DISPENSER_PREFERENCE (value)': 'it is given and not 1 or 2; empty keeps the former one'
  },
  AIRDROP: {
    'LIST_ACTION_INDEX (format)': 'it is no whole number',
    'LIST (unknown)': 'no valid LIST, or edit of one, has that number',
    'LIST TYPE (unsupported)': 'the list is neither of tickers nor of addresses',
    'insufficient funds': 'the source holds less than one AMOUNT',
    'insufficient funds (TICK)': 'the source holds less than AMOUNT for every receiver'
  },
  ATTEST: {
    'REQUEST_ID (format)': 'it is not 64 hex digits; capitals are read as small letters',
    'PROVIDER_ID (format)': 'it is not 1 to 32 of ASCII letters, digits, `_`, `.`, `:` and `-`',
    'RESPONSE_PAYLOAD (length)': 'it is longer than 65,536 characters',
    'STATUS (format)': 'it is none of `ok`, `timeout`, `no_quorum`, `provider_error`, in any case',
    'META (length)': 'it is longer than 256 characters',
    'SIG_COUNT (format)': 'it is no whole number from 1 to 100',
    'REQUEST_ID (unknown)': 'always: there are no contracts, so nothing was asked'
  },
  BATCH: {
    'COMMAND (unknown)': 'no text follows the version',
    'COMMAND (limit)':
      'there are more than 250 commands, empty ones included, or their weights are above 250: 25 for AIRDROP and DIVIDEND, 30 for EXECUTE and for DEPLOY but its format 4, else 1',
    'ACTION (unknown)':
      'a name is none of an action, the empty one included; names count in capitals only. An action that is not active or not built refuses itself alone',
    'BATCH (limit)': 'a command is a BATCH; of several limits, that of the first name counts',
    'MINT (limit)': 'two MINTs are of one token; unknown tickers count as one token',
    'ISSUE (limit)': 'there are two ISSUEs of tickers without a point; `^id` counts as one of these',
    'DEPLOY (limit)': 'there are two DEPLOYs',
    'FILE (limit)': 'there are two FILEs: a transaction has one content'
  },
  BROADCAST: {
    'VALUE (format)':
      'it is given and not a decimal: at most one `-` in front, 1 to 40 digits, and after a point 1 to 40 more',
    'FEE (format)': 'the same of FEE',
    'BROADCAST_ACTION_INDEX (format)': 'format 3: it is no whole number',
    'BROADCAST_ACTION_INDEX (status)':
      'format 3: no action of a text with that number was valid; it may be any but COINPAY, of any source',
    'MESSAGE (length)': 'it is longer than 250 characters',
    'VALUE (length)': 'it is longer than 25 characters',
    'FEE (length)': 'it is longer than 11 characters'
  },
  CALLBACK: {
    'CALLBACK_TICK (unknown)': 'the token has none',
    LOCK_CALLBACK: 'the token has that lock',
    'SOURCE (not authorized)': 'the source does not own the token',
    'CALLBACK_BLOCK (format)': 'the token has none',
    'CALLBACK_AMOUNT (format)': 'the token has none, or one with more places than CALLBACK_TICK has by now',
    'CALLBACK_TICK (sleeping)': 'that token sleeps',
    'CALLBACK_BLOCK (block index)': 'it is above the block',
    'CALLBACK_TICK (holder not authorized)':
      "CALLBACK_TICK's lists exclude each holder other than the source, and there is one; below the height of LIMITS they exclude any",
    'insufficient funds (CALLBACK_TICK)': 'the source holds less than the shares of those from whom it takes'
  },
  COLLECT: {
    'no active stake': 'no stake of the source counts in the block',
    'no unclaimed rewards': 'the rewards of the source up to the block are not above its claims',
    'AMOUNT (format)': 'it is given and no amount of the gas token; empty means all',
    'AMOUNT (exceeds unclaimed rewards)': 'it is above them',
    'insufficient reward pool': 'the address of the role REWARD holds less of the gas token'
  },
  DELEGATE: {
    'no active stake': 'format 0: no stake of the source counts in the block',
    'SIGNING_PUBKEY (already in use)': 'format 0: the key is not free',
    'no active delegation or stake key for pubkey':
      'format 2: the source has no delegation and no stake of the key that has not ended',
    'SIGNING_PUBKEY (already revoked)':
      'format 2: the newest of its delegations has an end; where there is none, the key was taken back'
  },
  DESTROY: { 'TICK (use XBRIDGE v1)': 'it is the gas token, and the chain is not Bitcoin' },
  DISPENSER: {
    ...offered,
    'FIAT_CODE (unsupported FIAT)': 'it is given and none of the currencies above, in any case',
    'FIAT_AMOUNT (required when FIAT_CODE is set without ORACLE_ADDRESS)':
      'FIAT_CODE is given, ORACLE_ADDRESS and FIAT_AMOUNT are empty',
    'FIAT_CODE (required when FIAT_AMOUNT is set)': 'FIAT_AMOUNT is given, FIAT_CODE is empty',
    'FIAT_CODE (required when ORACLE_ADDRESS is set)': 'ORACLE_ADDRESS is given, FIAT_CODE is empty',
    'ORACLE_ADDRESS (format)': 'it is given and no address of this chain',
    'GIVE_ESCROW (format)': 'it is given and no amount of the token; empty is 0',
    'GIVE_ESCROW (must be empty when GIVE_OWNERSHIP=1)': 'GIVE_OWNERSHIP is `1`, and an amount is given',
    'GET_AMOUNT (must be positive)': 'it is empty or 0; below FIAT_DISPENSERS only if FIAT_CODE is empty',
    'FIAT_AMOUNT (format)':
      'it is given and not 1 to 15 digits, with at most 2 places after a point; from FIAT_DISPENSERS on 0 neither',
    'ORACLE_ADDRESS (no effective oracle price)': 'it is given',
    'FIAT_CODE (no price snapshot in the settlement window)':
      'it is given, and so is GET_TICK; or the block is below FIAT_DISPENSERS',
    'GET_ADDRESS (not authorized)': "GIVE_TICK's lists exclude it",
    'GET_ADDRESS (dispenser not permitted)': 'it is not the source, and none of the rules under Offers lets it serve'
  },
  DISPENSER_CANCEL: changed,
  DISPENSER_EDIT: changed,
  DIVIDEND: {
    'DIVIDEND_TICK (unknown)': 'no token has that ticker or id',
    'AMOUNT (format)': 'it is no amount of DIVIDEND_TICK',
    'DIVIDEND_TICK (sleeping)': 'that token sleeps',
    'insufficient funds (TICK)': 'the source holds less of DIVIDEND_TICK than all shares'
  },
  FILE: {
    'NAME (length)': 'it is longer than 250 characters',
    'TYPE (length)': 'it is longer than 255 characters',
    'TITLE (length)': 'it is longer than 250 characters',
    'ENCRYPTION_METHOD (must be 1)': 'GATE_TICKER is given, and it is not 1',
    'KEY_HASH (format)': 'GATE_TICKER is given, and it is not 64 hex digits; the row has small letters',
    'GATE_TICKER (unknown)': 'it is given, and no token has that ticker or id',
    'SOURCE (not GATE_TICKER issuer)': 'the source does not own that token',
    'GATE_TICKER (ownership escrowed)': 'an open offer holds the ownership of that token',
    GATE_MIN_AMOUNT:
      'it is given without GATE_TICKER, or is no amount above 0 of that token, or is longer than 40 characters, or has a zero in front'
  },
  ISSUE: {
    'TRANSFER (unresolvable ^id)': 'no address has that id',
    'TRANSFER_SUPPLY (unresolvable ^id)': 'no address has that id',
    'TICK (null)': 'it is empty',
    'TICK (period)': 'it begins or ends with a point',
    'TICK (parent unknown)': 'it is new and has a point, and there is no token of the part before the last point',
    'TICK (parent issued by another address)': 'it is new, and the source does not own that token',
    'TICK (parent ownership escrowed)': "it is new, and an open offer holds that token's ownership",
    'TICK (character)': 'it has characters other than letters and digits of ASCII and ``~!@#$%^&*()_+-={}[]:<>.?``',
    'TICK (id)': 'it begins with `^`, and not only digits and points follow',
    'TICK (caret dot)': 'it begins with `^` and has a point',
    'TICK (unresolvable ^id)': 'it begins with `^`, and no token has that id',
    'TICK (length)':
      'it is longer than 250 characters; after the next two, it is new, has no point, is not the gas token, and is shorter than 4',
    'TICK (reserved)':
      'it is `BTC`, `LTC` or `DOGE` in any case; or it is new and the symbol of another coin whose chain may come later; or it is the gas token, the network is not regtest, and the source has not the role GAS',
    'TICK (BTC-only)': 'it is the gas token, and the chain is not Bitcoin',
    'MAX_SUPPLY (format)':
      "it is given and no amount; amounts of an ISSUE have the places that DECIMALS says, or else the token's; 18 where DECIMALS is bad",
    'MAX_MINT (format)': 'the same of MAX_MINT',
    'MINT_SUPPLY (format)': 'the same of MINT_SUPPLY',
    'CALLBACK_TICK (unknown)': 'it is given, and no token has that ticker or id',
    'CALLBACK_AMOUNT (format)':
      'it is given and no amount of CALLBACK_TICK, or of the one that the token has; 18 places where there is none',
    'CALLBACK_BLOCK (format)': 'it is given and no whole number',
    'MINT_ADDRESS_MAX (format)': 'it is given and no amount',
    'MINT_START_BLOCK (format)': 'it is given and no whole number',
    'MINT_STOP_BLOCK (format)': 'it is given and no whole number',
    ...lockConditions(() => 'it is not empty, `0` or `1`', 'format'),
    'issued by another address': 'the token exists, and the source does not own it',
    ...lockConditions(() => 'the token has the lock, and the field is `0`', 'locked'),
    'MAX_SUPPLY (min/max)': 'it is above 10^21',
    'MAX_SUPPLY < SUPPLY': 'it is above 0 and below the supply',
    'LOCK_MAX_SUPPLY (no max supply)': 'the field is `1`, and MAX_SUPPLY, given or else stored, is 0',
    'DECIMALS (min/max)': 'it is given and no whole number up to 18',
    'DECIMALS (locked)': 'the supply is above 0, and DECIMALS is given and another',
    'TRANSFER (bad address)': 'it is given and no address of this chain',
    'TRANSFER_SUPPLY (bad address)':
      'it is given, not the source, and no address of this chain; where it is the source it counts as empty',
    'MINT_SUPPLY (locked)': 'the token has LOCK_MINT_SUPPLY, and MINT_SUPPLY is above 0',
    'MINT_SUPPLY > MAX_SUPPLY': 'it is above MAX_SUPPLY, given or else stored; 0 stands for 10^36',
    'MINT_SUPPLY exceeds MAX_SUPPLY': 'it is given, and with the supply it is above that',
    'MINT_ADDRESS_MAX > MAX_SUPPLY': 'it is above that',
    'MINT_ADDRESS_MAX < MAX_MINT':
      'one of both is given; MINT_ADDRESS_MAX, given or else stored, is above 0 and below MAX_MINT, given or else stored',
    'MAX_SUPPLY (locked)': 'the token has LOCK_MAX_SUPPLY, and another value is given, or DECIMALS would round the cap',
    'MAX_MINT (locked)': 'the token has LOCK_MAX_MINT, and another value is given, or DECIMALS would round the cap',
    'DESCRIPTION (length)': 'it is longer than 249 characters',
    'DESCRIPTION (locked)': 'the token has LOCK_DESCRIPTION, and another text is given',
    'CALLBACK_BLOCK (locked)': 'the token has LOCK_CALLBACK, and another value is given',
    'CALLBACK_TICK (locked)': 'the same of CALLBACK_TICK',
    'CALLBACK_AMOUNT (locked)': 'the same of CALLBACK_AMOUNT',
    'CALLBACK_BLOCK (block index)': 'the token exists, and the field is given and below the block',
    'CALLBACK_BLOCK (supply distributed)':
      'the token exists, another value is given, and anybody but its owner holds some',
    'CALLBACK_TICK (supply distributed)': 'the same of CALLBACK_TICK',
    'CALLBACK_AMOUNT (supply distributed)': 'the same of CALLBACK_AMOUNT',
    'ALLOW_LIST (bad list)': 'it is given, not 0, and the number of no LIST of addresses or edit of one',
    'BLOCK_LIST (bad list)': 'the same of BLOCK_LIST',
    'CONTROLLER (unknown)': 'format 6, and so the next four: CONTROLLER is given, and there are no contracts',
    'MINT_START_BLOCK < BLOCK_INDEX': 'it is given, above 0 and below the block',
    'MINT_STOP_BLOCK < BLOCK_INDEX': 'it is given, above 0 and below the block',
    'MINT_STOP_BLOCK < MINT_START_BLOCK': 'given or else stored, the stop is above 0 and below the start',
    'TICK (first 200 characters taken)':
      'it is new and has 200 characters or more, and another ticker begins with the same 200: tables in use tell no more of them apart'
  },
  LINK: {
    'COIN1 (unsupported COIN network)': 'it is none of `BTC`, `LTC`, `DOGE`, in any case',
    'COIN2 (unsupported COIN network)': 'the same of COIN2',
    'COIN1_ACTION_INDEX (format)': 'it is no whole number',
    'COIN2_ACTION_INDEX (format)': 'it is no whole number',
    'COIN1_ACTION_INDEX (status)':
      "COIN1 is this chain's, and no action of a text with that number was valid; it may be any but COINPAY",
    'COIN2_ACTION_INDEX (status)': 'the same of COIN2',
    'SOURCE (not authorized)': "COIN2 is this chain's, its action is an ISSUE, and the source does not own the token",
    'TICK (ownership escrowed)': 'an open offer holds the ownership of that token'
  },
  LIST: {
    'ACTION is not yet activated': 'format 0: TYPE is `3`, a list of lists',
    'TYPE (unknown)': 'format 0: it is neither `1`, tickers, nor `2`, addresses',
    'EDIT (unknown)': 'format 1: it is neither `1`, add, nor `2`, remove',
    'LIST_ACTION_INDEX (unknown)': 'formats 1 and 3: no valid LIST, or edit of one, has that number',
    'LIST_ACTION_INDEX (not owner)': 'formats 1 and 3: the source neither made the list nor got it last',
    'DESTINATION (unresolvable ^id)': 'format 3: no address has that id',
    'DESTINATION (format)': 'format 3: it is empty or no address of this chain'
  },
  MESSAGE: {
    'COIN (value)': 'it is none of `BTC`, `LTC`, `DOGE`, in any case',
    'DESTINATION (format)': "it is no address of COIN's chain",
    'ENCRYPTION_METHOD (format)': 'formats 0 and 1: it is no whole number',
    'ENCRYPTION_METHOD (value)': 'formats 0 and 1: it is not 1, 2 or 3',
    'ENCRYPTION_KEY (length)': 'it is longer than 1,048,576 characters',
    'ENCRYPTED_MESSAGE (length)': 'it is longer than 1,048,576 characters',
    'PLAINTEXT_MESSAGE (length)': 'it is longer than 1,048,576 characters'
  },
  MINT: {
    LOCK_MINT: 'the token has that lock',
    'DESTINATION (format)': 'it is given and no address of this chain',
    'AMOUNT > MAX_MINT': 'MAX_MINT is above 0, and the amount above it',
    'mint exceeds MAX_SUPPLY': 'with the supply the amount is above MAX_SUPPLY; 0 stands for 10^36',
    'mint exceeds MINT_ADDRESS_MAX':
      'MINT_ADDRESS_MAX is above 0, and below the amount and all that the source has minted of the token',
    MINT_START_BLOCK: 'the block is below it',
    MINT_STOP_BLOCK: 'it is above 0, and the block above it'
  },
  ORDER: {
    ...offered,
    ...BARRED,
    'cannot trade native coin for native coin': 'both tickers are empty',
    'GIVE_TICK (unknown)': 'it is given, and no token has that ticker or id'
  },
  ORDER_CANCEL: listed('ORDER'),
  ORDER_EDIT: listed('ORDER'),
  PRICE: {
    'ROUND (format)': 'it is no whole number',
    'TIMESTAMP (format)': 'it is no whole number',
    'BTC_BLOCK_HEIGHT (format)': 'it is no whole number',
    'PAIR_COUNT (format)': 'it is no whole number from 1 to 100',
    'PAIR (format)':
      'one of that many pairs is not 2 to 10 capitals and digits, one of `/`, `_` and `-` or nothing, and 3 capitals; or two are equal',
    'PRICE (format)': 'one is not 1 to 11 digits with at most 8 places after a point, or not above 0, or above 10^10',
    'SIG_COUNT (format)': 'what follows the pairs is no whole number from 1 to 100',
    'BTC_BLOCK_HEIGHT (block index)': 'it is above the block, or more than 144 below it',
    'ROUND (already finalized)': 'a valid PRICE has that round',
    'SOURCE (not qualified)': 'the stakes of the source that count in the block are below 500',
    'SIG (no quorum)': 'those of the signers that count are no quorum',
    'COIN (unsupported)': 'it is none of `BTC`, `LTC`, `DOGE`, in any case',
    'TICK (format)': 'it is empty or longer than 250 units of UTF-16; no token need have it',
    'FIAT (unsupported)': 'it is none of the currencies above, in any case',
    'VALUE (format)': 'it is no amount of 8 places, or 0; the row keeps it as it is written',
    'FEE (format)': 'it is given and no amount of 18 places from 0 to 1'
  },
  SEND: {
    'MEMO (required)': "it is empty, and the destination's newest ADDRESS says REQUIRE_MEMO",
    'SOURCE (not authorized)': "the token's lists exclude the source",
    'insufficient funds': 'the source holds less than the amount, after the parts before this one',
    'gated token transfer requires key handoff message':
      'the destination could open a file of the token afterwards, and the BATCH has no MESSAGE of format 2 to it'
  },
  SLASH: {
    'CAPABILITY (unknown)': 'it is none of those above, in any case',
    'OFFENDER_PUBKEY (format)': 'it is not 64 hex digits; capitals are read as small letters',
    'MSG_A (format)': 'it is no message of a slot',
    'SIG_A (format)': 'it is not 128 hex digits',
    'MSG_B (format)': 'it is no message of a slot',
    'SIG_B (format)': 'it is not 128 hex digits',
    'ENGINE_TAG (not slashable)': "the engine of MSG_A is not the capability's",
    'MSG_B (other slot)': 'the two differ before their JSON',
    'MSG_B (same content)': 'the two have the same JSON, byte for byte',
    'OFFENDER_PUBKEY (already slashed)': 'the key is banned',
    'OFFENDER_PUBKEY (not in snapshot)':
      'the height of a message is above the block, or the key had not the capability in that block',
    'SIG_A (not signed)': 'it is no signature of MSG_A by the key',
    'SIG_B (not signed)': 'it is no signature of MSG_B by the key'
  },
  SLEEP: {
    'RESUME_BLOCK (format)': 'it is not 1 to 15 digits, with a `-` in front or none',
    'RESUME_BLOCK (block_index)': 'it is below the block and neither -1, for ever, nor 0, awake',
    'TICK (not authorized)': 'format 1: the source does not own the token',
    LOCK_SLEEP: 'format 1: the token has that lock',
    'TICK (unknown)': 'format 1: no token has that ticker or id'
  },
  STAKE: {
    'AMOUNT (format)': 'it is no amount of the gas token',
    'SIGNING_PUBKEY (already in use)': 'format 1: a stake holds the key',
    'SIGNING_PUBKEY (already delegated)': 'format 1: a delegation of the key has still to end',
    'SIGNING_PUBKEY (no active stake to top up)': 'format 2: no open stake of the key counts in the block',
    'SOURCE (does not own this stake)': 'format 2: an open stake of the key is of another source',
    'insufficient funds (STAKE)': 'the source holds less of the gas token'
  },
  SWAP: { ...offered, ...BARRED, 'GET_TICK (unknown)': 'no token has that ticker or id' },
  SWAP_CANCEL: listed('SWAP'),
  SWAP_EDIT: listed('SWAP'),
  SWEEP: {
    'DESTINATION (null)': 'it is empty',
    'DESTINATION (format)': 'it is no address of this chain',
    'BALANCES (format)': 'it is not `0` or `1`; empty is `1`',
    'OWNERSHIP (format)': 'OWNERSHIPS is not `0` or `1`; empty is `1`',
    'ORDERS (format)': 'it is not `0` or `1`; empty is `0`',
    'SWAPS (format)': 'it is not `0` or `1`; empty is `0`',
    'DISPENSERS (format)': 'it is not `0` or `1`; empty is `0`'
  },
  UNSTAKE: {
    'SIGNING_PUBKEY (no active stake or unstake already in progress)': 'no open stake of the key counts in the block',
    'AMOUNT (format)': 'it is given and no amount of the gas token; empty means all',
    'AMOUNT (exceeds active stake)': 'it is above the sum of those stakes'
  },
  VOTE: {
    'TICK (missing)': 'it is empty',
    'SOURCE (must hold TICK to create poll)': 'the source holds nothing of the token',
    'END_BLOCK (must be a future block)': 'it is no whole number above the block',
    'END_BLOCK (too far)': 'it is more than 105,120 above the block',
    'OPTIONS (need at least 2)': 'it has no comma',
    'OPTIONS (format)': 'it is not 2 to 32 different texts of 1 to 64 characters with commas between them',
    'MAX_SELECTIONS (range)': 'it is given and no whole number from 1 to the number of options; empty is 1',
    'TALLY_MODE (value)': 'it is given and none of `approval`, `split`, in any case; empty is the first',
    'WEIGHT_MODE (value)':
      'it is given and none of `balance`, `stake`, `flat`, `quadratic`, in any case; empty is the first',
    'quadratic WEIGHT_MODE requires MIN_VOTE_BALANCE > 0':
      'WEIGHT_MODE is `quadratic`, and MIN_VOTE_BALANCE is no amount above 0',
    'QUORUM (fraction 0-1)': 'it is given and no amount of 18 places from 0 to 1; empty is 0',
    'MIN_VOTERS (non-negative integer)': 'it is given and no whole number; empty is 0',
    'MIN_VOTE_BALANCE (non-negative amount)': 'it is given and no amount of the token; empty is 0',
    'DECIDE_THRESHOLD (fraction 0-1)':
      'it is given and no amount of 18 places from 0 to 1; empty is 0, by which nothing is decided',
    'QUESTION (length)': 'it is longer than 1,000 characters',
    'DEPOSIT (non-negative amount)': 'it is given and no amount of the gas token; empty is 0',
    'CALLBACK_CONTRACT (unknown)': 'it is given: there are no contracts',
    'insufficient funds (DEPOSIT)': 'the source holds less of the gas token',
    'POLL_REF (format)': 'it is no whole number',
    'POLL_REF (unknown poll)': 'no valid poll has that number',
    'SOURCE (must hold TICK to vote)': "the source holds nothing of the poll's token",
    'BALLOT (empty)': 'it is empty',
    'BALLOT (exceeds MAX_SELECTIONS)': 'it names more options',
    'BALLOT (option index out of range)': 'a part is no number of an option, or has a share where votes are not split',
    'BALLOT (duplicate option)': 'it names an option twice',
    'BALLOT (share must be > 0 in split mode)': 'a share is no whole number from 1 to 1,000,000',
    'poll closed': 'the poll has closed',
    'DELEGATE_TO (unresolvable ^id)': 'no address has that id',
    'DELEGATE_TO (format)': 'it is given and no address of this chain'
  }
};

/** Returns the condition for a status of an action in words; undefined when none is written. */
export function conditionOf(action: string, status: string): string | undefined {
  return OF_ACTION[action]?.[status] ?? COMMON[status];
}
