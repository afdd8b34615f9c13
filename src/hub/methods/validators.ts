import Type from 'typebox';
import { CAPABILITIES, type MinimumStakes } from '../../coin/capabilities.ts';
import { isSigningKey } from '../../coin/signing-key.ts';
import { PlatformError } from '../../errors.ts';
import { type RpcCaller, type RpcMethod, rpcMethod } from '../../service/rpc/method.ts';
import { StreamedResult } from '../../service/rpc/streamed-result.ts';
import { shapeOf } from '../../wire/data/shape.ts';
import type { HubDatabase } from '../store/database.ts';
import type { Validator } from '../store/validators.ts';
import {
  CountSchema,
  closed,
  DATABASE_ERRORS,
  DEFAULT_LIMIT,
  LimitSchema,
  Nullable,
  OneOf,
  PubkeySchema,
  Success,
  success,
  TimeSchema
} from './common.ts';
import type { PushSettings } from './pushes.ts';

/** 0 to 65535. */
const PORT = '(?:[0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])';
const Address = Type.String({
  pattern: `^(?:wss?://)?(?:\\[[0-9A-Fa-f:]{2,45}\\]|[A-Za-z0-9._-]{1,200}):${PORT}$`,
  description: 'host:port, or the same as ws:// or wss://'
});
const Registration = Type.Object({ signing_pubkey: PubkeySchema, addr: Address }, closed);
const registration = shapeOf(Registration);

/** Returns whether an entry of `syncvalidators` is a validator: others are skipped. */
export function isRegistration(entry: unknown): entry is { readonly signing_pubkey: string; readonly addr: string } {
  return registration.Check(entry) && isSigningKey(entry.signing_pubkey);
}

const ValidatorSchema = Type.Object({
  signing_pubkey: PubkeySchema,
  addr: Type.String(),
  chains: Nullable(Type.String()),
  status: OneOf(['active', 'suspended', 'removed']),
  created_at: TimeSchema,
  updated_at: TimeSchema
});
const RewardSchema = Type.Object({
  round_number: CountSchema,
  reward_type: Type.String(),
  amount: Type.String(),
  block_index: CountSchema,
  trusted: Type.Boolean({ description: 'whether a caller with the key, or on the machine of the hub, told it' })
});
const CapabilitySchema = Type.Object({
  signing_pubkey: PubkeySchema,
  capability: Type.String(),
  qualified: Type.Number(),
  self_test_ok: Nullable(Type.Number()),
  enabled: Type.Number(),
  self_test_at: Nullable(TimeSchema),
  self_test_msg: Nullable(Type.String()),
  qualified_at_block: Nullable(Type.Number())
});

interface ValidatorSettings extends PushSettings {
  /** HUB_CAPABILITY_CONFIG. */
  readonly minimumStakes: MinimumStakes;
}

/** Validators that are read at once, some 48 KB: a list has one page, unless strangers fill the table. */
const PAGE_ROWS = 200;

/** Lists all active validators: of a long list one page is in memory, and the next is read when its reader has taken it. */
async function listValidators(
  database: HubDatabase,
  { charge }: Pick<RpcCaller, 'charge'>
): Promise<Validator[] | StreamedResult<Validator[]>> {
  const read = async (after: string) => {
    const page = await database.readOnce('pageOfValidators', after, PAGE_ROWS);
    charge({ rows: page.length });
    return page;
  };
  const first = await read('');
  if (first.length < PAGE_ROWS) return first;
  return StreamedResult.ofRows(async function* () {
    for (let page = first; page.length > 0; page = await read(page.at(-1)!.signing_pubkey))
      yield Buffer.from(page.map((row) => `,${JSON.stringify(row)}`).join(''));
  });
}

/** Returns the methods about validators. */
export function validatorMethods(
  database: HubDatabase,
  { pushNeedsKey, isTrusted, minimumStakes }: ValidatorSettings
): Readonly<Record<string, RpcMethod>> {
  return {
    getvalidators: rpcMethod({
      summary: 'The active validators, by their keys',
      result: Type.Array(ValidatorSchema),
      write: false,
      errors: DATABASE_ERRORS,
      run: (_, caller) => listValidators(database, caller)
    }),
    getvalidatorstatus: rpcMethod({
      summary: 'One validator, active or not, and its newest rewards',
      params: Type.Object({ signing_pubkey: PubkeySchema }),
      result: Type.Object({
        validator: ValidatorSchema,
        unclaimedRewards: Type.String({
          description: 'all that trusted callers told: no hub learns what COLLECT paid'
        }),
        recentRewards: Type.Array(RewardSchema),
        slashProposals: Type.Array(Type.Unknown(), { description: 'none: this hub has no consensus' })
      }),
      write: false,
      errors: [...DATABASE_ERRORS, 'RECORD_UNKNOWN'],
      async run({ signing_pubkey: pubkey }) {
        const found = await database.read('selectValidator', pubkey.toLowerCase());
        if (found) {
          const { total, newest } = await database.read('selectRewards', pubkey.toLowerCase());
          return { validator: found, unclaimedRewards: total, recentRewards: newest, slashProposals: [] };
        }
        throw new PlatformError('RECORD_UNKNOWN', { reason: `no validator has the key ${pubkey}` });
      }
    }),
    getvalidatorcapabilities: rpcMethod({
      summary: 'What validators are qualified for, and how their self-tests ended',
      params: Type.Object({
        signing_pubkey: Type.Optional(PubkeySchema),
        capability: Type.Optional(OneOf(CAPABILITIES)),
        limit: LimitSchema
      }),
      result: Type.Array(CapabilitySchema),
      write: false,
      errors: DATABASE_ERRORS,
      run: async ({ signing_pubkey: pubkey, capability, limit = DEFAULT_LIMIT }) =>
        await database.read('selectCapabilities', {
          pubkey: pubkey?.toLowerCase() ?? null,
          capability: capability ?? null,
          most: limit
        })
    }),
    getcapabilitythresholds: rpcMethod({
      summary: 'The stake that a validator needs for each capability',
      result: Type.Object({
        thresholds: Type.Array(
          Type.Object({
            capability: OneOf(CAPABILITIES),
            min_stake: Nullable(Type.String({ description: 'units of the gas token; null: it qualifies nobody' })),
            disabled: Type.Boolean()
          })
        )
      }),
      write: false,
      run: () => ({
        thresholds: CAPABILITIES.map((capability) => {
          return { capability, min_stake: minimumStakes[capability] ?? null, disabled: false };
        })
      })
    }),
    registervalidator: rpcMethod({
      summary: 'Makes a validator active; another key at the same address is removed',
      params: Registration,
      result: Success,
      write: true,
      audited: ({ signing_pubkey, addr }) => `${addr} ${signing_pubkey}`,
      errors: DATABASE_ERRORS,
      async run({ signing_pubkey, addr }) {
        if (!isSigningKey(signing_pubkey))
          throw new PlatformError('REQUEST_INVALID', { reason: 'signing_pubkey is no key of Ed25519' });
        await database.write('upsertValidator', signing_pubkey.toLowerCase(), addr);
        return success;
      }
    }),
    rotatevalidator: rpcMethod({
      summary: 'Gives the validator at an address another key',
      params: Type.Object({ addr: Address, new_signing_pubkey: PubkeySchema }, closed),
      result: Success,
      write: true,
      audited: ({ addr, new_signing_pubkey: pubkey }) => `${addr} ${pubkey}`,
      errors: [...DATABASE_ERRORS, 'RECORD_UNKNOWN'],
      async run({ addr, new_signing_pubkey: pubkey }) {
        if (!isSigningKey(pubkey))
          throw new PlatformError('REQUEST_INVALID', { reason: 'new_signing_pubkey is no key of Ed25519' });
        if (!(await database.read('hasValidatorAt', addr)))
          throw new PlatformError('RECORD_UNKNOWN', { reason: `no active validator has the address ${addr}` });
        await database.write('upsertValidator', pubkey.toLowerCase(), addr);
        return success;
      }
    }),
    deregistervalidator: rpcMethod({
      summary: 'Removes a validator, by its key or its address',
      params: Type.Object({ signing_pubkey: Type.Optional(PubkeySchema), addr: Type.Optional(Address) }, closed),
      result: Success,
      write: true,
      audited: ({ signing_pubkey: pubkey, addr }) => [addr, pubkey].join(' ').trim(),
      errors: [...DATABASE_ERRORS, 'RECORD_UNKNOWN'],
      async run({ signing_pubkey: pubkey, addr }) {
        if ((pubkey === undefined) === (addr === undefined))
          throw new PlatformError('REQUEST_INVALID', { reason: 'send either signing_pubkey or addr' });
        const named = { pubkey: pubkey?.toLowerCase() ?? null, addr: addr ?? null };
        await database.write('removeValidator', named);
        return success;
      }
    }),
    syncvalidators: rpcMethod({
      summary: 'Makes each validator of a list active; entries that are none are skipped and counted',
      params: Type.Object({ validators: Type.Array(Type.Unknown(), { maxItems: 1_000 }) }, closed),
      result: Type.Object({ ...Success.properties, skipped: CountSchema }),
      write: true,
      audited: ({ validators }) => `${validators.length} entries`,
      errors: DATABASE_ERRORS,
      async run({ validators }) {
        const usable = validators.filter(isRegistration);
        await database.write('upsertValidators', usable);
        return { ...success, skipped: validators.length - usable.length };
      }
    }),
    pushvalidatorrewards: rpcMethod({
      summary: 'Keeps what validators earned in a round; the same again is skipped',
      params: Type.Object(
        {
          round: CountSchema,
          reward_type: Type.String({ pattern: '^[A-Za-z0-9_-]{1,32}$' }),
          block_index: CountSchema,
          rewards: Type.Array(
            Type.Object(
              {
                pubkey: PubkeySchema,
                amount: Type.String({ pattern: '^[0-9]{1,40}(?:\\.[0-9]{1,18})?$' })
              },
              closed
            ),
            { maxItems: 1_000 }
          )
        },
        closed
      ),
      result: Type.Object({ written: CountSchema, skipped: CountSchema }),
      write: true,
      needsKey: pushNeedsKey,
      errors: DATABASE_ERRORS,
      async run(pushed, caller) {
        const written = await database.push('insertRewards', pushed, isTrusted(caller));
        return { written, skipped: pushed.rewards.length - written };
      }
    })
  };
}
