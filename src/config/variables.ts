/** One variable: parser, meaning and default. */
export interface Variable<T> {
  readonly doc: string;
  /** Shown in --help and in the error for a wrong value; empty when no value is right. */
  readonly example: string;
  readonly fallback: T | undefined;
  readonly required: boolean;
  readonly secret: boolean;
  /** Set for a variable that an installation usually sets; docs/operating/configuration.md marks it. */
  readonly essential?: true;
  /** @throws {Error} whose message is the reason, as "must be ..." */
  readonly parse: (text: string) => T;
  /** Prints a value that would be too long in full. */
  show?(value: T): string;
  /** Set for a name that stands for many, `NAME_<CHAIN>_<NETWORK>`. The value lists those that are set. */
  readonly family?: true;
  /** Place in the hub's configuration, which is read when the variable is set nowhere else. */
  readonly hub?: HubPlace;
}

/**
 * A place in the hub's configuration: the module `<prefix>-<service>` of the service's chain and network. The first of
 * `params` that is set counts.
 */
export interface HubPlace {
  readonly service: string;
  readonly params: readonly string[];
  /** Parameter that the module must also have: without `db_host`, `host` is that of the database. */
  readonly beside?: string;
  /**
   * Group of an address and its account, such as `node`. Once one variable of a group is set elsewhere, none of the
   * group is taken from the hub, so that a password set here is never sent to a host that the hub names.
   */
  readonly group?: string;
  /** Value that the existence of the module means, for a variable without a parameter. */
  readonly present?: string;
}

/** One variable of a family: its value, and the words in its name. */
interface ChainSetting<T> {
  readonly variable: string;
  readonly chain: string;
  readonly network: string;
  readonly value: T;
}

/** Rows by the name of the variable. */
export type Variables = Readonly<Record<string, Variable<unknown>>>;
/** Values by the name of the variable. */
export type Values<V extends Variables> = { readonly [K in keyof V]: V[K] extends Variable<infer T> ? T : never };

/** Names and values with which the process was started. */
export type Environment = Readonly<Record<string, string | undefined>>;

interface Options<T> {
  readonly doc: string;
  readonly example?: string;
  readonly default?: T;
  readonly secret?: boolean;
  readonly essential?: true;
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
    ...(options.essential && { essential: options.essential }),
    ...(options.show && { show: (value) => (value === undefined ? '' : options.show!(value)) }),
    ...(options.hub && { hub: options.hub }),
    parse
  };
  return row as Shape<T, O>;
}

/** Declares a text, which must not be empty. */
export const text = <O extends WithNeed<string>>(options: O) => variable<string, O>((value) => value, 'text', options);

/** Declares a text that `parse` checks. */
export const parsed = <T, O extends WithNeed<T>>(parse: (text: string) => T, options: O) =>
  variable<T, O>(parse, 'text', options);

/** Declares a whole number within bounds. */
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

/** Declares a TCP port. Kubernetes injects `tcp://10.0.0.1:10000` under names like HUB_PORT; the fault then says so. */
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

/** Declares true or false. Accepts 1, yes and on for true; 0, no and off for false. */
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

/** Declares one of a few words. */
export const choice = <const C extends readonly string[], O extends WithNeed<C[number]>>(words: C, options: O) =>
  variable<C[number], O>(
    (value) => {
      if (words.includes(value)) return value as C[number];
      throw new Error(`must be one of ${words.join(', ')}`);
    },
    words[0] ?? '',
    options
  );

/** Declares a JSON value, which `read` checks. @param read throws the reason */
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

/** Declares comma-separated entries. They are trimmed, empty ones dropped, each read by `item`. */
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

/** Declares one setting per chain and network, under names like `NAME_<CHAIN>_<NETWORK>`. `of` reads each text. */
export const perChain = <T>(of: Variable<T | undefined>): Variable<readonly ChainSetting<T>[]> =>
  ({ ...of, fallback: [], required: false, family: true }) as unknown as Variable<readonly ChainSetting<T>[]>;

/** Masks the accounts of URLs in a text. */
export function withoutAccounts(text: string): string {
  return text.replace(/(?<=^|\/\/|,)[^/?#,\s]*@/g, '********@');
}

/** Reads a base URL, http or https, without query, fragment or account. @returns it without a trailing slash */
export function readBaseUrl(entry: string): string {
  const url = URL.canParse(entry) ? new URL(entry) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.search || url.hash || url.username || url.password) {
    throw new Error(`must be base URLs such as http://host:3006, not "${withoutAccounts(entry)}"`);
  }
  return url.href.replace(/(?<!\/)\/+$/, '');
}
