import Type from 'typebox';
import { shapeOf } from '../wire/data/shape.ts';

/** Capabilities for which validators may qualify. @see the section "States and transitions" of the specification */
export const CAPABILITIES = ['price', 'cross_chain', 'oracle_publish', 'attestation'] as const;
type Capability = (typeof CAPABILITIES)[number];

/**
 * Stake that qualifies for a capability, a decimal in units of the gas token. Nobody qualifies for a capability without
 * one.
 */
export type MinimumStakes = Readonly<Partial<Record<Capability, string>>>;

const StakeSchema = Type.Union([
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  Type.String({ pattern: '^[0-9]{1,18}(?:\\.[0-9]{1,8})?$' })
]);
/** Settings of a capability. Other fields are ignored: they are for validators. */
const CapabilitySchema = Type.Object({ MIN_STAKE: Type.Optional(StakeSchema) });
const ConfigSchema = Type.Object({
  CAPABILITIES: Type.Object(
    {
      price: Type.Optional(CapabilitySchema),
      cross_chain: Type.Optional(CapabilitySchema),
      oracle_publish: Type.Optional(CapabilitySchema),
      attestation: Type.Optional(CapabilitySchema)
    },
    { additionalProperties: false }
  )
});
const configChecker = shapeOf(ConfigSchema);

/** Reads the stakes of a capability configuration. @throws {Error} whose message names the place and the reason */
export function readMinimumStakes(value: unknown): MinimumStakes {
  if (!configChecker.Check(value)) {
    const [fault] = configChecker.Errors(value);
    const reason = fault?.keyword === 'boolean' ? `is none of ${CAPABILITIES.join(', ')}` : fault?.message;
    throw new Error(`must name the stakes of capabilities; ${fault?.instancePath || 'it'} ${reason}`);
  }
  return Object.fromEntries(
    CAPABILITIES.flatMap((name) => {
      const stake = value.CAPABILITIES[name]?.MIN_STAKE;
      return stake === undefined ? [] : [[name, String(stake)]];
    })
  );
}
