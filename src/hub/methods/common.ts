import Type from 'typebox';

/** What every method that asks the database may be refused with. */
export const DATABASE_ERRORS = ['DATABASE_UNAVAILABLE', 'DATABASE_REFUSED'] as const;

/** The answer of a write that has nothing else to say. */
export const Success = Type.Object({ status: Type.Literal('success') });
/** @see Success */
export const success = { status: 'success' } as const;
