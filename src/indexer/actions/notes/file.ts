import { defineAction, type Step } from '../../rules/action-definition.ts';
import { lengthOf, MEMO_CHECKS, orNull, sourceSleeps } from '../../rules/checks.ts';

interface File {
  readonly name: string;
  readonly type: string;
  readonly title: string;
  readonly memo: string;
  readonly gate: string;
}

const MAX_NAME = 250;
const MAX_TYPE = 255;

function read({ action: { fields } }: Step): File[] {
  const { get } = fields;
  return [{ name: get('NAME'), type: get('TYPE'), title: get('TITLE'), memo: get('MEMO'), gate: get('GATE_TICKER') }];
}

/** Names the bytes that its transaction carries. Files for the holders of a token are not active yet. */
export const FILE = defineAction<File>({
  name: 'FILE',
  table: 'files',
  formats: { 0: 'NAME|TYPE|TITLE|MEMO|GATE_TICKER|ENCRYPTION_METHOD|KEY_HASH|GATE_MIN_AMOUNT|COMPRESSION' },
  read,
  checks: [
    sourceSleeps,
    ['NAME (length)', ({ name }) => lengthOf(name) > MAX_NAME],
    ['TYPE (length)', ({ type }) => lengthOf(type) > MAX_TYPE],
    ['TITLE (length)', ({ title }) => lengthOf(title) > MAX_NAME],
    ...MEMO_CHECKS,
    ['GATE_TICKER (format)', ({ gate }) => gate !== '']
  ],
  row: ({ name, type, title, memo }) => ({
    name: orNull(name),
    title: orNull(title),
    type_id: orNull(type),
    memo_id: orNull(memo)
  })
});
