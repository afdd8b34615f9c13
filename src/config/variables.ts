/** One variable: how its text is read, what it means, and what stands in when it is unset. */
export interface Variable<T> {
  readonly doc: string;
  /** Shown in --help and in the error when the value is wrong; empty where no value is right. */
  readonly example: string;
  readonly fallback: T | undefined;
  readonly required: boolean;
  readonly secret: boolean;
  /** @throws {Error} whose message is the reason, as "must be ..." */
  readonly parse: (text: string) => T;
  /** How a value is printed where all of it would be too long. */
  show?(value: T): string;
  /** Its name stands for many, `NAME_<CHAIN>_<NETWORK>`; the value lists the ones that are set. */
  readonly family?: true;
  /** Where the hub's configuration has it; read when it is set nowhere else. */
  readonly hub?: HubPlace;
}

/** The module `<prefix>-<service>` of the service's chain and network, and the parameters of which the first that is set counts. */
export interface HubPlace {
  readonly service: string;
  readonly params: readonly string[];
  /** They count only where the module has this one too: `host` is the service's own where `db_host` is that of its database. */
  readonly beside?: string;
  /**
   * A place and the account for it, such as `node`: once one of the group is set elsewhere, the hub has none of them. So no password
   * that was set here is sent to a host that the hub names.
   */
  readonly group?: string;
  /** What the module says by being there, where it has none of the parameters. */
  readonly present?: string;
}

/** One variable of a family: what it is set to, and the words in its name. */
export interface ChainSetting<T> {
  readonly variable: string;
  readonly chain: string;
  readonly network: string;
  readonly value: T;
}

export type Variables = Readonly<Record<string, Variable<unknown>>>;
export type Values<V extends Variables> = { readonly [K in keyof V]: V[K] extends Variable<infer T> ? T : never };

/** Names and values as the process was started with. */
export type Environment = Readonly<Record<string, string | undefined>>;

interface Options<T> {
  readonly doc: string;
  readonly example?: string;
  readonly default?: T;
  readonly secret?: boolean;
  readonly show?: (value: T) => string;
  readonly hub?: HubPlace;
}

type Shape<T, O> = O extends { readonly required: true } | { readonly default: T }
  ? Variable<T>
  : Variable<T | undefined>;
type WithNeed<T> = Options<T> & { readonly required?: true };

function variable<T, O extends WithNeed<T>>(parse: (text: string) => T, example: string, options: O): Shape<T, O> {
  const row: Variable<T | undefined> = {
    doc: options.doc,
    example: options.example ?? example,
    fallback: options.default,
    required: options.required === true,
    secret: options.secret === true,
    ...(options.show && { show: (value) => (value === undefined ? '' : options.show!(value)) }),
    ...(options.hub && { hub: options.hub }),
    parse
  };
  return row as Shape<T, O>;
}

/** Any text but the empty one. */
export const text = <O extends WithNeed<string>>(options: O) => variable<string, O>((value) => value, 'text', options);

/** A text in a form that `parse` checks. */
export const parsed = <T, O extends WithNeed<T>>(parse: (text: string) => T, options: O) =>
  variable<T, O>(parse, 'text', options);

/** A setting for a feature that is missing: the start is refused rather than the setting ignored. @param reason why, and the remedy */
export const unsupported = ({ doc, reason }: { readonly doc: string; readonly reason: string }) => ({
  ...text({ doc }),
  example: '',
  parse: (): undefined => {
    throw new Error(`is refused: ${reason}`);
  }
});

/** A whole number within bounds. */
export const integer = <O extends WithNeed<number> & { readonly min?: number; readonly max?: number }>(options: O) =>
  variable<number, O>(
    (value) => {
      const min = options.min ?? 0;
      const max = options.max ?? Number.MAX_SAFE_INTEGER;
      const number = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
      if (!(number >= min && number <= max)) {
        throw new Error(
          max === Number.MAX_SAFE_INTEGER
            ? `must be a whole number, at least ${min}`
            : `must be a whole number from ${min} to ${max}`
        );
      }
      return number;
    },
    String(options.default ?? options.min ?? 1),
    options
  );

/** A TCP port. Kubernetes injects `tcp://10.0.0.1:10000` under names like HUB_PORT: said when it is met. */
export const port = <O extends WithNeed<number>>(options: O) =>
  variable<number, O>(
    (value) => {
      if (/^tcp:\/\//.test(value)) {
        throw new Error(
          'must be a port number; Kubernetes injects tcp://... for a service of that name: set enableServiceLinks: false or set the variable in the pod'
        );
      }
      const number = /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN;
      if (!(number >= 0 && number <= 65_535)) throw new Error('must be a port number from 0 to 65535');
      return number;
    },
    String(options.default ?? 3006),
    options
  );

/** true or false; 1, yes and on count as true. */
export const flag = <O extends WithNeed<boolean>>(options: O) =>
  variable<boolean, O>(
    (value) => {
      const word = value.toLowerCase();
      if (['1', 'true', 'yes', 'on'].includes(word)) return true;
      if (['0', 'false', 'no', 'off'].includes(word)) return false;
      throw new Error('must be true or false');
    },
    'true',
    options
  );

/** One of a few words. */
export const choice = <const C extends readonly string[], O extends WithNeed<C[number]>>(words: C, options: O) =>
  variable<C[number], O>(
    (value) => {
      if (words.includes(value)) return value as C[number];
      throw new Error(`must be one of ${words.join(', ')}`);
    },
    words[0] ?? '',
    options
  );

/** A JSON value, checked by `read`, which throws the reason. */
export const json = <T, O extends WithNeed<T>>(read: (value: unknown) => T, options: O) =>
  variable<T, O>(
    (value) => {
      let parsed: unknown;
      try {
        parsed = JSON.parse(value);
      } catch (caught) {
        throw new Error(`must be JSON: ${(caught as Error).message}`);
      }
      return read(parsed);
    },
    '{}',
    options
  );

/** Comma-separated entries, trimmed, empty ones dropped, each read by `item`. */
export const list = <T, O extends WithNeed<readonly T[]>>(item: (entry: string) => T, options: O) =>
  variable<readonly T[], O>(
    (value) =>
      value
        .split(',')
        .map((entry) => entry.trim())
        .filter((entry) => entry !== '')
        .map(item),
    'a,b',
    options
  );

/** One setting for each chain and network, under names like `NAME_<CHAIN>_<NETWORK>`; each text is read by `of`. */
export const perChain = <T>(of: Variable<T | undefined>): Variable<readonly ChainSetting<T>[]> =>
  ({ ...of, fallback: [], required: false, family: true }) as unknown as Variable<readonly ChainSetting<T>[]>;

/** Returns a text with the accounts of its URLs masked. */
export function withoutAccounts(text: string): string {
  return text.replace(/(?<=^|\/\/|,)[^/?#,\s]*@/g, '********@');
}

/** Base URL, http or https, without query, fragment or credentials; no trailing slash. */
export function readBaseUrl(entry: string): string {
  const url = URL.canParse(entry) ? new URL(entry) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.search || url.hash || url.username || url.password) {
    throw new Error(`must be base URLs such as http://host:3006, not "${withoutAccounts(entry)}"`);
  }
  return url.href.replace(/(?<!\/)\/+$/, '');
}
