import Type from 'typebox';
import { type RpcMethod, rpcMethod } from '../../service/rpc/method.ts';
import type { HubSetMember } from '../remote-set.ts';
import type { HubDatabase } from '../store/database.ts';
import {
  CountSchema,
  DATABASE_ERRORS,
  DEFAULT_LIMIT,
  LimitSchema,
  Nullable,
  OneOf,
  PubkeySchema,
  TimeSchema
} from './common.ts';
import { PhaseSchema, TroubleSchema } from './state.ts';

const SignedSchema = Type.Object({
  sender: PubkeySchema,
  message: Type.Unknown({ description: 'what it signed: kind, view, place and digest' }),
  sig: Type.String()
});

/** Returns the methods of a hub in validator mode about its set. */
export function federationMethods(database: HubDatabase, set: HubSetMember): Readonly<Record<string, RpcMethod>> {
  const { self, keys, quorum, votes, isSafe } = set;
  return {
    getfederation: rpcMethod({
      summary: 'The set of hubs that this one is of, how far it is, and which of the others are connected to it',
      result: Type.Object({
        self: PubkeySchema,
        phase: PhaseSchema,
        view: CountSchema,
        leader: PubkeySchema,
        seq: Type.Integer({ description: 'last place of the log that is applied here' }),
        quorum: OneOf(['specified', 'byzantine']),
        votes: Type.Integer({ description: 'votes that decide' }),
        safe: Type.Boolean({ description: 'whether two decisions of one need more liars than the set is made for' }),
        members: Type.Array(
          Type.Object({ pubkey: PubkeySchema, connected: Type.Boolean({ description: 'true for the hub itself' }) })
        ),
        trouble: Type.Optional(TroubleSchema),
        tests: Type.Array(
          Type.Object({
            pubkey: PubkeySchema,
            capability: Type.String(),
            ok: Type.Boolean(),
            reason: Nullable(Type.String())
          }),
          { description: 'outcomes of the last self-tests, as each hub told its own' }
        )
      }),
      write: false,
      run: () => {
        const { phase, view, seq, peers, tests } = set.state();
        const members = keys.map((pubkey) => ({ pubkey, connected: pubkey === self || peers.includes(pubkey) }));
        const leader = keys[view % keys.length]!;
        const trouble = set.trouble();
        const facts = { self, phase, view, leader, seq, quorum, votes, safe: isSafe, members, tests: [...tests] };
        return trouble ? { ...facts, trouble } : facts;
      }
    }),
    getoraclepublisherstatus: rpcMethod({
      summary: 'Whether this hub publishes rounds of prices in its turn, and why it does not',
      result: Type.Object({ active: Type.Boolean(), reason: Nullable(Type.String()) }),
      write: false,
      run: () => {
        const isOwn = (test: { pubkey: string; capability: string }) =>
          test.pubkey === self && test.capability === 'oracle_publish';
        const { ok = false, reason = 'it has not tested itself yet' } = set.state().tests.find(isOwn) ?? {};
        return { active: ok, reason };
      }
    }),
    getevidence: rpcMethod({
      summary:
        'Pairs of messages that a hub of the set signed for one place, which no honest hub does; newest first, up to 4 MiB',
      params: Type.Object({ limit: LimitSchema }),
      result: Type.Array(
        Type.Object({
          against: PubkeySchema,
          place: Type.String({ description: 'view, place of the log, and kind of message' }),
          first: SignedSchema,
          second: SignedSchema,
          noted_at: TimeSchema
        })
      ),
      write: false,
      errors: DATABASE_ERRORS,
      async run({ limit = DEFAULT_LIMIT }) {
        const found = await database.read('selectEvidence', limit);
        return found.map(({ first, second, ...more }) => ({
          ...more,
          first: JSON.parse(first),
          second: JSON.parse(second)
        }));
      }
    })
  };
}
