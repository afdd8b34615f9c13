import { FILE_FORMAT } from '../../../coin/action/file.ts';
import { formatAmount, parseTokenAmount } from '../../../consensus/amount.ts';
import { type Check, defineAction, type Step } from '../../rules/action-definition.ts';
import { lengthOf, MEMO_CHECKS, orNull, readIndex, sourceSleeps } from '../../rules/checks.ts';
import { tickKey } from '../../state/keys.ts';
import type { Token } from '../../state/token.ts';

interface File {
  readonly name: string;
  readonly type: string;
  readonly title: string;
  readonly memo: string;
  /** Ticker of the token whose holders may read the file; empty for a file that everybody may read. */
  readonly gate: string;
  readonly gateToken: Token | null;
  readonly method: string;
  readonly keyHash: string;
  readonly leastText: string;
}

const MAX_NAME = 250;
const MAX_TYPE = 255;
const MAX_LEAST = 40;
/** AES-256-GCM. */
const ENCRYPTION_METHOD = 1;

function read({ action: { fields }, ledger }: Step): File[] {
  const { get } = fields;
  const gate = get('GATE_TICKER');
  return [
    {
      name: get('NAME'),
      type: get('TYPE'),
      title: get('TITLE'),
      memo: get('MEMO'),
      gate,
      gateToken: gate === '' ? null : ledger.token(gate),
      method: get('ENCRYPTION_METHOD'),
      keyHash: get('KEY_HASH'),
      leastText: get('GATE_MIN_AMOUNT')
    }
  ];
}

/**
 * Returns the least holding that opens the file: 0 for an empty text, null for a text that is no amount above 0 of the
 * token.
 */
function leastOf({ leastText, gateToken }: File): bigint | null {
  if (leastText === '') return 0n;
  const isPlain = leastText.length <= MAX_LEAST && !/^0\d/.test(leastText);
  return (isPlain && parseTokenAmount(leastText, gateToken!.decimals)) || null;
}

/** Returns a check that a file which everybody may read passes. */
const gated = (status: string, fails: (file: File, step: Step) => boolean): Check<File> => [
  status,
  (file, step) => file.gate !== '' && fails(file, step)
];

/** Describes the bytes that its transaction carries, for everybody or for those who hold enough of a token. */
export const FILE = defineAction<File>({
  name: 'FILE',
  table: 'files',
  formats: { 0: FILE_FORMAT },
  read,
  checks: [
    sourceSleeps,
    ['NAME (length)', ({ name }) => lengthOf(name) > MAX_NAME],
    ['TYPE (length)', ({ type }) => lengthOf(type) > MAX_TYPE],
    ['TITLE (length)', ({ title }) => lengthOf(title) > MAX_NAME],
    ...MEMO_CHECKS,
    gated('ENCRYPTION_METHOD (must be 1)', ({ method }) => readIndex(method) !== ENCRYPTION_METHOD),
    gated('KEY_HASH (format)', ({ keyHash }) => !/^[0-9a-f]{64}$/i.test(keyHash)),
    gated('GATE_TICKER (unknown)', ({ gateToken }) => gateToken === null),
    gated('SOURCE (not GATE_TICKER issuer)', ({ gateToken }, { action }) => gateToken!.owner !== action.source),
    gated('GATE_TICKER (ownership escrowed)', ({ gateToken }) => gateToken!.escrowActionIndex !== null),
    ['GATE_MIN_AMOUNT', (file) => (file.gate === '' ? file.leastText !== '' : leastOf(file) === null)]
  ],
  row: ({ name, type, title, memo }) => ({
    name: orNull(name),
    title: orNull(title),
    type_id: orNull(type),
    memo_id: orNull(memo)
  }),
  apply: (file, { action, ledger }) => {
    const { gateToken, keyHash, leastText } = file;
    if (gateToken === null) return;
    const least = leastOf(file)!;
    ledger.record('gated_files', {
      action_index: action.index,
      gate_ticker: gateToken.tick,
      encryption_method: ENCRYPTION_METHOD,
      key_hash: keyHash.toLowerCase(),
      publisher_address: action.source,
      gate_min_amount: leastText === '' ? null : formatAmount(least),
      status_id: 'valid'
    });
    const key = tickKey(gateToken.tick);
    const known = ledger.get('gate', key);
    ledger.set('gate', key, known === null || least < known ? least : known);
  }
});
