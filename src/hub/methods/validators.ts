import Type from 'typebox';
import { Compile } from 'typebox/compile';
import { PlatformError } from '../../errors.ts';
import { type RpcMethod, rpcMethod } from '../../service/rpc/method.ts';
import type { HubDatabase } from '../store/database.ts';
import {
  insertRewards,
  selectCapabilities,
  selectValidator,
  selectValidators,
  upsertValidator
} from '../store/validators.ts';
import {
  CountSchema,
  closed,
  DATABASE_ERRORS,
  Nullable,
  OneOf,
  PubkeySchema,
  Success,
  success,
  TimeSchema
} from './common.ts';

const Address = Type.String({
  pattern: '^(?:wss?://)?(?:\\[[0-9A-Fa-f:]{2,45}\\]|[A-Za-z0-9._-]{1,200}):[0-9]{1,5}$',
  description: 'host:port, or the same as ws:// or wss://'
});
const Registration = Type.Object({ signing_pubkey: PubkeySchema, addr: Address }, closed);
const registration = Compile(Registration);

const ValidatorSchema = Type.Object({
  signing_pubkey: PubkeySchema,
  addr: Type.String(),
  chains: Nullable(Type.String()),
  status: OneOf(['active', 'suspended', 'removed']),
  created_at: TimeSchema,
  updated_at: TimeSchema
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

/** The methods about validators. @param pushNeedsKey HUB_PUSH_AUTH */
export function validatorMethods(
  database: HubDatabase,
  { pushNeedsKey }: { readonly pushNeedsKey: boolean }
): Readonly<Record<string, RpcMethod>> {
  return {
    getvalidators: rpcMethod({
      summary: 'The active validators, by their keys',
      result: Type.Array(ValidatorSchema),
      write: false,
      errors: DATABASE_ERRORS,
      run: () => database.read(selectValidators)
    }),
    getvalidatorstatus: rpcMethod({
      summary: 'One validator, active or not',
      params: Type.Object({ signing_pubkey: PubkeySchema }),
      result: ValidatorSchema,
      write: false,
      errors: [...DATABASE_ERRORS, 'RECORD_UNKNOWN'],
      async run({ signing_pubkey: pubkey }) {
        const found = await database.read((connection) => selectValidator(connection, pubkey.toLowerCase()));
        if (found) return found;
        throw new PlatformError('RECORD_UNKNOWN', { reason: `no validator has the key ${pubkey}` });
      }
    }),
    getvalidatorcapabilities: rpcMethod({
      summary: 'What validators are qualified for, and how their self-tests ended',
      params: Type.Object({ signing_pubkey: Type.Optional(PubkeySchema) }),
      result: Type.Array(CapabilitySchema),
      write: false,
      errors: DATABASE_ERRORS,
      run: ({ signing_pubkey: pubkey }) =>
        database.read((connection) => selectCapabilities(connection, pubkey?.toLowerCase() ?? null))
    }),
    registervalidator: rpcMethod({
      summary: 'Makes a validator active; another key at the same address is removed',
      params: Registration,
      result: Success,
      write: true,
      errors: DATABASE_ERRORS,
      async run({ signing_pubkey, addr }) {
        await database.write((connection) => upsertValidator(connection, signing_pubkey.toLowerCase(), addr));
        return success;
      }
    }),
    syncvalidators: rpcMethod({
      summary: 'Makes each validator of a list active; entries that are none are skipped and counted',
      params: Type.Object({ validators: Type.Array(Type.Unknown(), { maxItems: 1_000 }) }, closed),
      result: Type.Object({ ...Success.properties, skipped: CountSchema }),
      write: true,
      errors: DATABASE_ERRORS,
      async run({ validators }) {
        const usable = validators.filter((entry) => registration.Check(entry));
        await database.write(async (connection) => {
          for (const { signing_pubkey, addr } of usable)
            await upsertValidator(connection, signing_pubkey.toLowerCase(), addr);
        });
        return { ...success, skipped: validators.length - usable.length };
      }
    }),
    pushvalidatorrewards: rpcMethod({
      summary: 'Keeps what validators earned in a round; the same again is skipped',
      params: Type.Object({
        round: CountSchema,
        reward_type: Type.String({ pattern: '^[A-Za-z0-9_-]{1,32}$' }),
        block_index: CountSchema,
        rewards: Type.Array(
          Type.Object({
            pubkey: PubkeySchema,
            amount: Type.String({ pattern: '^[0-9]{1,40}(?:\\.[0-9]{1,18})?$' })
          }),
          { maxItems: 1_000 }
        )
      }),
      result: Type.Object({ written: CountSchema, skipped: CountSchema }),
      write: true,
      needsKey: pushNeedsKey,
      errors: DATABASE_ERRORS,
      async run(pushed) {
        const written = await database.push((connection) => insertRewards(connection, pushed));
        return { written, skipped: pushed.rewards.length - written };
      }
    })
  };
}
