import Type, { type Static } from 'typebox';
import { OrNull } from '../or-null.ts';
import { PIPELINE_STATES, type Pipeline, type PipelineState } from './pipeline.ts';

const Text = Type.String({ maxLength: 400 });
const TextOrNull = OrNull(Text);
const NumberOrNull = OrNull(Type.Number());
const State = Type.Unsafe<PipelineState>({ type: 'string', enum: [...PIPELINE_STATES] });

const NodeSchema = Type.Object({
  id: Text,
  lane: TextOrNull,
  role: Text,
  name: Text,
  state: State,
  doing: Text,
  since: NumberOrNull,
  height: NumberOrNull,
  percent: NumberOrNull,
  reason: TextOrNull,
  count: Type.Optional(Type.Number())
});
const EdgeSchema = Type.Object({
  from: Text,
  to: Text,
  state: State,
  height: NumberOrNull,
  lag: NumberOrNull,
  carries: TextOrNull
});

/** Body of `GET /debug/pipeline`: a service, and the way of blocks as it knows it. */
export const ServiceLookSchema = Type.Object({
  /** One for each process; a service that is told of itself knows it by this. */
  instance: Text,
  service: Text,
  version: Text,
  mode: TextOrNull,
  /** Path of its console page. */
  console: Text,
  /** The word of `GET /readyz`. */
  readiness: Text,
  pipeline: Type.Object({
    nodes: Type.Array(NodeSchema, { maxItems: 1_000 }),
    edges: Type.Array(EdgeSchema, { maxItems: 2_000 })
  })
});

export interface ServiceLook extends Omit<Static<typeof ServiceLookSchema>, 'pipeline'> {
  readonly pipeline: Pipeline;
}
