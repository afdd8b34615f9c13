import Type from 'typebox';
import type { HubConfig } from '../../config/services/hub.ts';
import type { RpcCaller, RpcMethod } from '../../service/rpc/method.ts';

/** Settings of the methods by which indexers push. */
export interface PushSettings {
  /** Callers that need HUB_API_KEY for a push, if there is a key. */
  readonly pushNeedsKey: NonNullable<RpcMethod['needsKey']>;
  /** Whether what a caller pushes takes the place of what a stranger pushed, and stays when a stranger pushes again. */
  readonly isTrusted: (caller: Pick<RpcCaller, 'hasKey' | 'isLocal'>) => boolean;
}

/** The rules of a hub: where it has no key nobody can show one, so callers on its machine alone are trusted. */
export const pushRules = ({
  HUB_API_KEY: key,
  HUB_PUSH_AUTH
}: Pick<HubConfig, 'HUB_API_KEY' | 'HUB_PUSH_AUTH'>): PushSettings => ({
  pushNeedsKey: HUB_PUSH_AUTH ?? 'remote',
  isTrusted: (caller) => caller.isLocal || (key !== undefined && caller.hasKey)
});

/** Result of a push. */
export const Outcome = Type.Object({
  accepted: Type.Boolean(),
  reason: Type.Optional(Type.String({ description: 'why it was not' })),
  generation: Type.Optional(
    Type.Integer({ description: 'of what the hub has instead; a push of a later generation takes its place' })
  )
});
