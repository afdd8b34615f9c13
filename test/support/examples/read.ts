/** A transaction that an example has in its chain, and the verdicts that it must get. */
export interface Step {
  readonly kind: 'step';
  /** In the file. */
  readonly line: number;
  readonly height: number;
  /** `A` to `H`, or `nobody`. */
  readonly source: string;
  /** Empty: it only pays. */
  readonly text: string;
  readonly pays: readonly { readonly to: string; readonly coins: string }[];
  /** Statuses of all rows that it makes, in order; null: all are valid. */
  readonly verdicts: string | null;
  /** Their present values where they differ: a known deviation. */
  readonly now: string | null;
  /** Names for its actions in later lines. */
  readonly labels: readonly string[];
}

/** Content that a database must have after a block. */
export interface Check {
  readonly kind: 'check';
  readonly line: number;
  readonly height: number;
  /** A ticker, or a table with what selects its rows. */
  readonly subject: string;
  readonly expected: string;
  readonly now: string | null;
}

export interface Example {
  readonly name: string;
  readonly file: string;
  readonly lines: readonly (Step | Check)[];
  /** Name and reason of a deviation; null: none is known. */
  readonly deviation: string | null;
}

export interface ExampleFile {
  readonly ledger: string;
  readonly examples: readonly Example[];
}

/** The first block that an example may use: all below are empty, or have what every example of the ledger relies on. */
export const FIRST_HEIGHT = 100;

const STEP =
  /^(given|when|and)(?: (\d+))? ([A-H]|nobody)(?: pays ([^:]+))?:(?: (?!=> )(.*?))?(?: => (.*?))?(?: now (.*?))?(?: as ([a-z0-9 ]+))?$/;
const CHECK = /^then(?: (\d+))? ([^:]+): (.*?)(?: now (.*))?$/;

/** Reads a file of examples. @see test/examples/FORMAT @throws {Error} whose message names file and line */
export function readExamples(file: string, content: string): ExampleFile {
  const examples: (Example & { lines: (Step | Check)[]; deviation: string | null })[] = [];
  let ledger = 'bitcoin';
  let height = FIRST_HEIGHT - 1;
  for (const [place, written] of content.split('\n').entries()) {
    const text = written.trim();
    const line = place + 1;
    const fail = (): never => {
      throw new Error(`${file}:${line} cannot be read: ${text}`);
    };
    const open = () => examples.at(-1) ?? fail();
    if (text === '' || text.startsWith('#')) continue;
    const [word = '', rest = ''] = splitAt(text, ' ');
    if (word === 'ledger') ledger = rest;
    else if (word === 'example') {
      examples.push({ name: rest, file, lines: [], deviation: null });
      height = FIRST_HEIGHT - 1;
    } else if (word === 'deviation') open().deviation = rest;
    else if (word === 'then') {
      const [, at, subject = '', expected = '', now] = CHECK.exec(text) ?? fail();
      height = at === undefined ? height : Number(at);
      open().lines.push({ kind: 'check', line, height, subject, expected, now: now ?? null });
    } else {
      const [, kind, at, source = '', pays, payload = '', verdicts, now, labels] = STEP.exec(text) ?? fail();
      height = at === undefined ? height + (kind === 'and' ? 0 : 1) : Number(at);
      if (verdicts === undefined && kind === 'when') fail();
      open().lines.push({
        kind: 'step',
        line,
        height,
        source,
        text: payload,
        pays: readPayments(pays),
        verdicts: verdicts ?? null,
        now: now ?? null,
        labels: labels?.split(' ') ?? []
      });
    }
  }
  return { ledger, examples };
}

function readPayments(text = ''): Step['pays'] {
  return text === ''
    ? []
    : text.split(', ').map((payment) => {
        const [to = '', coins = ''] = payment.split(' ');
        return { to, coins };
      });
}

function splitAt(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
