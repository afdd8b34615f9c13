import Type, { type Static } from 'typebox';

/** Fields of probes beside a tip that is too old to tell a lag. */
export const StalenessSchema = Type.Object({
  node_height_stale: Type.Optional(Type.Literal(true, { description: 'the node has not reported a tip for 8 s' })),
  node_age_s: Type.Optional(Type.Integer({ description: 'seconds since the node reported its tip' }))
});
export type Staleness = Static<typeof StalenessSchema>;
