import type { Command } from './command.ts';

/** Place of an address among the fields after the version. */
interface Place {
  readonly name: string;
  readonly first: number;
  /** Number of fields after which another one follows; absent for a single field. */
  readonly every?: number;
}

const single = (name: string, first: number): Place => ({ name, first });
const each = (name: string, first: number, every: number): Place => ({ name, first, every });
const GET_ADDRESS = single('GET_ADDRESS', 8);

/** Fields that give an address of this chain something: tokens, payments, a vote, a place on a list. By action and format. */
export const ADDRESS_FIELDS: Readonly<Record<string, Readonly<Record<number, readonly Place[]>>>> = {
  DISPENSER: { 0: [GET_ADDRESS, single('ORACLE_ADDRESS', 11)] },
  ISSUE: { 0: [single('TRANSFER', 6), single('TRANSFER_SUPPLY', 7)], 2: [single('TRANSFER_SUPPLY', 3)] },
  LIST: { 0: [each('ITEM', 2, 1)], 1: [each('ITEM', 3, 1)], 3: [single('DESTINATION', 1)] },
  MINT: { 0: [single('DESTINATION', 2)] },
  ORDER: { 0: [GET_ADDRESS] },
  SEND: {
    0: [single('DESTINATION', 2)],
    1: [each('DESTINATION', 2, 2)],
    2: [each('DESTINATION', 2, 3)],
    3: [each('DESTINATION', 2, 4)]
  },
  SWAP: { 0: [GET_ADDRESS] },
  SWEEP: { 0: [single('DESTINATION', 0)] },
  VOTE: { 3: [single('DELEGATE_TO', 1)] }
};

/** Returns the fields of a command that give something to an address, with their names. */
export function addressFields({ name, format, fields }: Command): { readonly name: string; readonly text: string }[] {
  const places = ADDRESS_FIELDS[name]?.[format ?? -1] ?? [];
  return places.flatMap((place) =>
    fields
      .slice(place.first)
      .filter((_, at) => at % (place.every ?? fields.length) === 0)
      .map((text) => ({ name: place.name, text }))
  );
}
