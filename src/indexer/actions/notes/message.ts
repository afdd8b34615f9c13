import { COINS } from '../../profile/rules.ts';
import { defineAction, type Step } from '../../rules/action-definition.ts';
import { indexColumn, lengthOf, orNull, readIndex, sourceSleeps } from '../../rules/checks.ts';

interface Message {
  readonly coin: string;
  /** Address; null for an `^id` that names nothing. */
  readonly destination: string | null;
  /** Whether the destination is an address of the coin. */
  readonly isAddress: boolean;
  readonly method: string;
  readonly key: string;
  readonly encrypted: string;
  readonly plain: string;
}

const MAX_TEXT = 1_048_576;
const METHOD_OF_FORMAT_2 = '1';

function read({ action, ledger, rules }: Step): Message[] {
  const { get } = action.fields;
  const coin = get('COIN').toUpperCase();
  const named = ledger.addressOf(get('DESTINATION'));
  const address = named === null ? undefined : rules.readAddress(named, coin, action.block.height);
  return [
    {
      coin,
      destination: address ?? named,
      isAddress: address !== undefined,
      method: action.format === 2 ? METHOD_OF_FORMAT_2 : get('ENCRYPTION_METHOD'),
      key: get('ENCRYPTION_KEY'),
      encrypted: get('ENCRYPTED_MESSAGE'),
      plain: get('PLAINTEXT_MESSAGE')
    }
  ];
}

const asksForKey = ({ action: { format } }: Step) => format === 0 || format === 1;

/** Sends a text to an address, of this chain or another. */
export const MESSAGE = defineAction<Message>({
  name: 'MESSAGE',
  table: 'messages',
  formats: {
    0: 'COIN|DESTINATION|ENCRYPTION_METHOD|ENCRYPTION_KEY',
    1: 'COIN|DESTINATION|ENCRYPTION_METHOD|ENCRYPTION_KEY',
    2: 'COIN|DESTINATION|ENCRYPTED_MESSAGE',
    3: 'COIN|DESTINATION|PLAINTEXT_MESSAGE'
  },
  read,
  checks: [
    ['DESTINATION (unresolvable ^id)', ({ destination }) => destination === null],
    ['COIN (value)', ({ coin }) => !COINS.has(coin)],
    ['DESTINATION (format)', ({ isAddress }) => !isAddress],
    ['ENCRYPTION_METHOD (format)', ({ method }, step) => asksForKey(step) && readIndex(method) === null],
    sourceSleeps,
    ['ENCRYPTION_METHOD (value)', ({ method }, step) => asksForKey(step) && ![1, 2, 3].includes(Number(method))],
    ['ENCRYPTION_KEY (length)', ({ key }) => lengthOf(key) > MAX_TEXT],
    ['ENCRYPTED_MESSAGE (length)', ({ encrypted }) => lengthOf(encrypted) > MAX_TEXT],
    ['PLAINTEXT_MESSAGE (length)', ({ plain }) => lengthOf(plain) > MAX_TEXT]
  ],
  row: (message) => ({
    coin: orNull(message.coin),
    destination_id: COINS.has(message.coin) && message.isAddress ? message.destination : null,
    encryption_method: indexColumn(message.method),
    encryption_key: orNull(message.key),
    encrypted_message: orNull(message.encrypted),
    plaintext_message: orNull(message.plain)
  })
});
