import Type, { type TSchema } from 'typebox';
import { PlatformError } from '../../errors.ts';
import { type RpcMethod, rpcMethod } from '../../service/rpc/method.ts';
import { ByName } from '../../wire/by-name.ts';
import { editsOf } from '../config-edits.ts';
import { KeptConfigs } from '../kept-configs.ts';
import type { HubSetMember } from '../remote-set.ts';
import type { HubDatabase } from '../store/database.ts';
import { DATABASE_ERRORS, Success, success } from './common.ts';
import { OF_THE_SET } from './set-writes.ts';

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

/** Returns the methods that read and write the configuration. @param set  null: this hub writes directly */
export function configMethods(
  database: HubDatabase,
  set: HubSetMember | null,
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
        ),
        min_seq: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: Number.MAX_SAFE_INTEGER,
            description: 'waits up to 4 seconds until this write is in the answer, whichever hub of a set took it'
          })
        )
      }),
      result: ConfigsSchema,
      write: false,
      needsKey: readNeedsKey ?? false,
      errors: [...DATABASE_ERRORS, 'SEQUENCE_NOT_REACHED'],
      async run({ since_updated_at: since, min_seq = 0 }, caller) {
        if (since !== undefined && since >= FIRST_MILLISECONDS)
          throw new PlatformError('REQUEST_INVALID', {
            reason: `since_updated_at ${since} must be seconds, not milliseconds: send the watermark of an earlier answer`
          });
        if (min_seq > 0) await caller.aside(() => configs.reach(min_seq, caller));
        return await configs.read(since, hasKey && readNeedsKey === undefined && !caller.hasKey);
      }
    }),
    updateconfig: rpcMethod({
      summary: 'Writes entries of the configuration, all or none; null removes a parameter',
      params: Type.Object({ config: Tree(Type.Unknown()) }, { additionalProperties: false }),
      result: Success,
      write: true,
      audited: ({ config }) => [...namesIn(config)].join(', '),
      errors: [...DATABASE_ERRORS, ...(set === null ? [] : OF_THE_SET)],
      async run({ config }, { aside }) {
        const edits = [...editsOf(config)];
        if (set === null) await database.write('applyConfigEdits', edits);
        else await aside(() => set.write(edits));
        return success;
      }
    })
  };
}

/** Yields the entries of a tree by their names, as `litecoin/mainnet/x-indexer/pass`; its values may be secrets. */
function* namesIn(tree: object, path = ''): Generator<string> {
  for (const [name, branch] of Object.entries(tree)) {
    const own = `${path}${name}`;
    if (typeof branch === 'object' && branch !== null && own.split('/').length < 4) yield* namesIn(branch, `${own}/`);
    else yield own;
  }
}
