import { isIP } from 'node:net';
import Type, { type TSchema } from 'typebox';
import { ACCOUNT_ROLES } from '../../config/database.ts';
import { PlatformError } from '../../errors.ts';
import { type RpcMethod, rpcMethod } from '../../service/rpc/method.ts';
import { ByName } from '../../wire/by-name.ts';
import { KeptConfigs } from '../kept-configs.ts';
import type { ConfigEdit } from '../store/configs.ts';
import type { HubDatabase } from '../store/database.ts';
import { DATABASE_ERRORS, Success, success } from './common.ts';

/** Parameters of a module in a configuration. @see the section "Hub configuration store" of the specification */
const PARAM_NAMES = [
  ...['host', 'port', 'service_port', 'db_host', 'db_port', 'name', 'user', 'pass'],
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
/** Epoch seconds stay below it for three thousand years; milliseconds have been above it since 1973. */
const FIRST_MILLISECONDS = 100_000_000_000;

const Tree = <V extends TSchema>(value: V) => ByName(ByName(ByName(ByName(value))));

const ConfigsSchema = Type.Object({
  configs: Tree(Type.String()),
  seq: Type.Number({ description: 'number of the last committed write' }),
  watermark: Type.Number({ description: 'epoch seconds of the newest change; 0 when there is none' }),
  entries: Type.Number({ description: 'entries of the whole configuration: fewer than a reader has means removals' })
});

/** Settings that decide who may read passwords. */
interface ConfigSettings {
  /** Whether the hub has a key; without one everybody may read everything. */
  readonly hasKey: boolean;
  /** HUB_SENSITIVE_READ_AUTH: true, nobody reads without the key; false, everybody reads passwords; undefined, they are masked. */
  readonly readNeedsKey: boolean | undefined;
}

/** The methods that read and write the configuration. */
export function configMethods(
  database: HubDatabase,
  { hasKey, readNeedsKey }: ConfigSettings
): Readonly<Record<string, RpcMethod>> {
  const configs = new KeptConfigs(database);
  return {
    getallconfigs: rpcMethod({
      summary:
        'The configuration by coin, network, module and parameter: all of it, or what changed since; passwords with the key',
      params: Type.Object({
        since_updated_at: Type.Optional(
          Type.Number({ minimum: 0, description: 'epoch seconds: the watermark of an earlier answer' })
        )
      }),
      result: ConfigsSchema,
      write: false,
      needsKey: readNeedsKey ?? false,
      errors: DATABASE_ERRORS,
      async run({ since_updated_at: since }, caller) {
        if (since !== undefined && since >= FIRST_MILLISECONDS)
          throw new PlatformError('REQUEST_INVALID', {
            reason: `since_updated_at ${since} must be seconds, not milliseconds: send the watermark of an earlier answer`
          });
        return await configs.read(since, hasKey && readNeedsKey === undefined && !caller.hasKey);
      }
    }),
    updateconfig: rpcMethod({
      summary: 'Writes entries of the configuration, all or none; null removes a parameter',
      params: Type.Object({ config: Tree(Type.Unknown()) }, { additionalProperties: false }),
      result: Success,
      write: true,
      errors: DATABASE_ERRORS,
      async run({ config }) {
        const edits = [...editsOf(config)];
        await database.write('applyConfigEdits', edits);
        return success;
      }
    })
  };
}

/** @throws {PlatformError} REQUEST_INVALID naming the entry; then nothing is written */
function* editsOf(
  config: Record<string, Record<string, Record<string, Record<string, unknown>>>>
): Generator<ConfigEdit> {
  for (const [coin, networks] of Object.entries(config)) {
    checkName('coin', coin, 16);
    for (const [network, modules] of Object.entries(networks)) {
      checkName('network', network, 16);
      for (const [module, params] of Object.entries(modules)) {
        checkName('module', module, 64);
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

function checkName(level: string, name: string, longest: number): void {
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
