import Type from 'typebox';
import { OrNull } from './or-null.ts';

/** Most characters of an action. A transaction carries as many bytes. */
export const MOST_ACTION_LETTERS = 8_192;

const Whether = Type.Optional(Type.Boolean({ description: 'used without a source; default: false' }));
const Many = Type.Optional(
  Type.Integer({ minimum: 0, maximum: 1_000_000, description: 'used without a source; default: the fewest possible' })
);
const ActionSubject = {
  action: Type.String({ minLength: 1, maxLength: 32, description: 'name in any case, or an alias' }),
  params: Type.Optional(
    Type.Union(
      [
        Type.String({ maxLength: MOST_ACTION_LETTERS }),
        Type.Array(OrNull(Type.String()), { maxItems: MOST_ACTION_LETTERS })
      ],
      {
        description:
          'text after the name on the wire, the version first: `0|TOK|5|…`, or its fields as a list, in which null is an empty one'
      }
    )
  ),
  source: Type.Optional(
    Type.String({
      maxLength: 4_096,
      description: 'address that acts; without it the answer comes from the schedule alone'
    })
  )
};

/** Parameters of the methods that say what an action costs and whether it counts: an indexer answers them, an explorer hands them on. */
export const FEE_QUESTIONS = {
  feeschedule: Type.Object({}),
  feequote: Type.Object({
    ...ActionSubject,
    feeOutputSats: Type.Optional(
      Type.String({ pattern: '^[0-9]{1,16}$', description: 'satoshis that feeDestination is paid' })
    ),
    subtoken: Whether,
    recipients: Many,
    items: Many,
    ownership: Whether,
    edit: Whether,
    shared: Whether,
    days: Type.Optional(Type.Integer({ minimum: 0, maximum: 36_500, description: 'days for which an offer is open' }))
  }),
  preflight: Type.Object({
    ...ActionSubject,
    feeMode: Type.Optional(Type.Unsafe<'xchain' | 'native'>({ type: 'string', enum: ['xchain', 'native'] }))
  }),
  oraclefeequote: Type.Object({
    oracleAddress: Type.String({ minLength: 1, maxLength: 256 }),
    giveTick: Type.String({ minLength: 1, maxLength: 250 }),
    fiatCode: Type.String({ pattern: '^[A-Z]{3,5}$' }),
    giveCoin: Type.Optional(Type.String()),
    getCoin: Type.Optional(Type.String()),
    giveEscrow: Type.Optional(Type.String({ pattern: '^[0-9]{1,40}(?:\\.[0-9]{1,18})?$' })),
    blockTime: Type.Optional(Type.Integer({ minimum: 0, description: 'unix seconds; default: the newest block' }))
  })
} as const;
