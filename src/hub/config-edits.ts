import { isIP } from 'node:net';
import { ACCOUNT_ROLES } from '../config/database.ts';
import { PlatformError } from '../errors.ts';
import type { ConfigEdit } from './store/configs.ts';

/** Parameters of a module in a configuration. @see the section "Hub configuration store" of the specification */
const PARAM_NAMES = [
  'host',
  'port',
  'service_port',
  'db_host',
  'db_port',
  'name',
  'user',
  'pass',
  ...ACCOUNT_ROLES.flatMap((role) => [`user_${role}`, `pass_${role}`])
];
/** Grammar of the parameters that readers must parse. User and password may be any text. */
const GRAMMAR: Readonly<Record<string, { readonly is: (text: string) => boolean; readonly rule: string }>> = {
  ...Object.fromEntries(['host', 'db_host'].map((name) => [name, { is: isHost, rule: 'a host name or an address' }])),
  ...Object.fromEntries(
    ['port', 'service_port', 'db_port'].map((name) => [name, { is: isPort, rule: 'a whole number from 1 to 65535' }])
  ),
  name: { is: (text) => /^[A-Za-z0-9_]{1,64}$/.test(text), rule: '1 to 64 letters, digits or _' }
};
/** A reader that puts a tree into plain objects must not change what all objects have. */
const IN_EVERY_OBJECT = new Set(Object.getOwnPropertyNames(Object.prototype));
const MAX_VALUE_LENGTH = 1024;
/** Most characters of each name. */
const LONGEST = { coin: 16, network: 16, module: 64 } as const;
const NAMED = ['coin', 'network', 'module', 'param'] as const;

/** Yields the entries of a tree that `updateconfig` takes. @throws {PlatformError} REQUEST_INVALID naming the entry that it does not */
export function* editsOf(
  config: Record<string, Record<string, Record<string, Record<string, unknown>>>>
): Generator<ConfigEdit> {
  for (const [coin, networks] of Object.entries(config)) {
    checkName('coin', coin);
    for (const [network, modules] of Object.entries(networks)) {
      checkName('network', network);
      for (const [module, params] of Object.entries(modules)) {
        checkName('module', module);
        for (const [param, value] of Object.entries(params)) {
          checkParam(`${coin}/${network}/${module}`, param);
          yield {
            coin,
            network,
            module,
            param,
            value: readValue(param, value, `${coin}/${network}/${module}/${param}`)
          };
        }
      }
    }
  }
}

/** Returns whether a value is an entry as `editsOf` yields them. */
export function isConfigEdit(value: unknown): value is ConfigEdit {
  if (typeof value !== 'object' || value === null || Object.keys(value).length !== NAMED.length + 1) return false;
  const given = value as Readonly<Record<string, unknown>>;
  if (NAMED.some((name) => typeof given[name] !== 'string') || !Object.hasOwn(value, 'value')) return false;
  const { coin, network, module, param, value: text } = given as unknown as ConfigEdit;
  try {
    const [read] = editsOf({ [coin]: { [network]: { [module]: { [param]: text } } } });
    return read?.value === text;
  } catch {
    return false; // it names why; here nobody is told
  }
}

function checkName(level: keyof typeof LONGEST, name: string): void {
  const longest = LONGEST[level];
  if (IN_EVERY_OBJECT.has(name)) {
    const reason = `${level} ${shown(name)} is a name that every object of JavaScript has: choose another`;
    throw new PlatformError('REQUEST_INVALID', { reason });
  }
  if (name.length <= longest && /^[A-Za-z0-9_-]+$/.test(name)) return;
  throw new PlatformError('REQUEST_INVALID', {
    reason: `${level} ${shown(name)} must be 1 to ${longest} letters, digits, _ or -`
  });
}

function checkParam(place: string, param: string): void {
  if (PARAM_NAMES.includes(param)) return;
  throw new PlatformError('REQUEST_INVALID', {
    reason: `${place} has an unknown parameter ${shown(param)}; there are ${PARAM_NAMES.join(', ')}`
  });
}

const shown = (name: string) => JSON.stringify(name.slice(0, 80));

function isHost(text: string): boolean {
  return isIP(text.replace(/^\[(.*)\]$/, '$1')) > 0 || /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252})$/.test(text);
}

function isPort(text: string): boolean {
  return /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535;
}

function readValue(param: string, value: unknown, place: string): string | null {
  const text = textOf(value, place);
  const { is, rule } = GRAMMAR[param] ?? {};
  const isTyped = typeof value !== 'boolean' && (typeof value !== 'number' || is === isPort);
  if (text === null || is === undefined || rule === undefined || (isTyped && is(text))) return text;
  throw new PlatformError('REQUEST_INVALID', { reason: `${place} must be ${rule}; null removes it` });
}

function textOf(value: unknown, place: string): string | null {
  if (value === null) return null;
  const scalar = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  if (!scalar)
    throw new PlatformError('REQUEST_INVALID', {
      reason: `${place} must be text, a number, a boolean, or null to remove it`
    });
  const text = String(value);
  if (/\p{Cc}/u.test(text) || !text.isWellFormed()) {
    const reason = `${place} holds control characters, or half of a surrogate pair: no service takes such a value`;
    throw new PlatformError('REQUEST_INVALID', { reason });
  }
  if (text.length > MAX_VALUE_LENGTH) {
    throw new PlatformError('REQUEST_INVALID', { reason: `${place} is longer than ${MAX_VALUE_LENGTH} characters` });
  }
  return text;
}
