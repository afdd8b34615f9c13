import Type from 'typebox';
import { type RpcMethod, rpcMethod } from '../../service/rpc/method.ts';
import type { RoundsBefore } from '../federation/rounds/decide.ts';
import { publishableAction } from '../federation/rounds/price-action.ts';
import type { LoggedRound } from '../federation/rounds/publishing.ts';
import type { HubDatabase } from '../store/database.ts';
import { CountSchema, DATABASE_ERRORS, LimitSchema, Nullable, OneOf, PubkeySchema, SecondsSchema } from './common.ts';

const KeysSchema = (description: string) => Type.Array(PubkeySchema, { description });
const RoundSchema = Type.Object({
  round: CountSchema,
  timestamp: SecondsSchema,
  btc_block_height: CountSchema,
  pairs: Type.Array(
    Type.Object({
      pair: Type.String(),
      price: Nullable(Type.String({ description: 'null: too few hubs told one, or they are too far apart' })),
      submissions: Type.Integer({ description: 'prices that it rests on, before the lowest and highest are left out' })
    })
  ),
  qualified: KeysSchema('hubs that qualified for prices'),
  counted: KeysSchema('those of them that submitted, once'),
  missed: Type.Array(
    Type.Object({ pubkey: PubkeySchema, in_a_row: Type.Integer({ description: 'rounds up to this one' }) })
  ),
  far: KeysSchema('hubs with a price more than 10 % from the one in the middle'),
  split: KeysSchema('hubs that signed two submissions: neither counts'),
  publishers: KeysSchema(
    'hubs that were ready to publish it: they take turns, from the one in the place of the round modulo their number'
  ),
  signatures: Type.Array(Type.Object({ pubkey: PubkeySchema, sig: Type.String() }), {
    description: 'of the prices, as the ledger asks for them; those that this hub has seen'
  }),
  publishable: Type.Boolean({
    description:
      'whether more than two thirds signed, of the hubs and of those that qualified, and the height of Bitcoin is known'
  }),
  action: Nullable(Type.String({ description: 'text of the PRICE action for the encoder; null: not publishable' }))
});

/** Rounds of an answer: each has some 10 KB. */
const DEFAULT_ROUNDS = 10;

/** Returns the methods of a hub in validator mode about the rounds of prices of its set. @param members  hubs of the set */
export function priceRoundMethods(database: HubDatabase, members: number): Readonly<Record<string, RpcMethod>> {
  return {
    getpricerounds: rpcMethod({
      summary: 'Rounds of prices that the set decided, with who took part and who signed; the newest first',
      params: Type.Object({
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: `default ${DEFAULT_ROUNDS}` }))
      }),
      result: Type.Array(RoundSchema),
      write: false,
      errors: DATABASE_ERRORS,
      async run({ limit = DEFAULT_ROUNDS }) {
        const found = await database.read('selectDecidedRounds', limit);
        return found.map((row) => {
          const decided = JSON.parse(row.decided) as LoggedRound;
          const { round, timestamp, height, pairs, qualified, counted, far, split, publishers } = decided;
          const { missed } = JSON.parse(row.after) as RoundsBefore;
          const signatures = JSON.parse(row.sigs) as { pubkey: string; sig: string }[];
          const action = publishableAction(decided, signatures, members);
          return {
            round,
            timestamp,
            btc_block_height: height,
            pairs: [...pairs],
            qualified: [...qualified],
            counted: [...counted],
            far: [...far],
            split: [...split],
            publishers: [...publishers],
            missed: Object.entries(missed).map(([pubkey, in_a_row]) => ({ pubkey, in_a_row })),
            signatures,
            publishable: action !== null,
            action
          };
        });
      }
    }),
    getslashevidence: rpcMethod({
      summary: 'Hubs of the set that missed rounds, told prices far from the others, or signed two; the newest first',
      params: Type.Object({ limit: LimitSchema }),
      result: Type.Array(
        Type.Object({
          round: CountSchema,
          pubkey: PubkeySchema,
          reason: OneOf(['missed', 'deviation', 'equivocation']),
          detail: Type.Unknown({ description: 'signed submissions, and the prices of the round' })
        })
      ),
      write: false,
      errors: DATABASE_ERRORS,
      async run({ limit = 100 }) {
        const found = await database.read('selectSlashEvidence', limit);
        return found.map(({ detail, reason, ...row }) => ({
          ...row,
          reason: reason as 'missed' | 'deviation' | 'equivocation',
          detail: JSON.parse(detail)
        }));
      }
    })
  };
}
