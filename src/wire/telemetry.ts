import Type, { type Static } from 'typebox';
import { OrNull } from './or-null.ts';

const text = (maxLength: number) =>
  Type.String({ maxLength, pattern: '^[\\x20-\\x7e]*$', description: 'printable ASCII' });
const optional = (maxLength: number) => Type.Optional(OrNull(text(maxLength)));
const closed = { additionalProperties: false } as const;

/** Events of a ping; any other that a sender names counts as a heartbeat. */
export const PING_EVENTS = ['install', 'update', 'start', 'heartbeat'] as const;

/** One service of an installation. */
const PingModuleSchema = Type.Object(
  {
    module: text(64),
    coin: optional(16),
    network: optional(24),
    version: optional(32),
    running: Type.Optional(Type.Boolean())
  },
  closed
);

/** All that a usage ping may hold. @see the section "Telemetry sender" of the specification */
export const PingSchema = Type.Object(
  {
    install_id: Type.String({
      pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$',
      description: 'a random UUID, version 4, in small letters'
    }),
    event: Type.Optional(text(32)),
    node_version: optional(32),
    os_platform: optional(32),
    os_release: optional(64),
    arch: optional(16),
    docker_version: optional(32),
    modules: Type.Optional(Type.Array(PingModuleSchema, { maxItems: 100 }))
  },
  closed
);
export type Ping = Static<typeof PingSchema>;
export type PingModule = Static<typeof PingModuleSchema>;
