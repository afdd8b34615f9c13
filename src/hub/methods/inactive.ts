import Type from 'typebox';
import { type RpcMethod, rpcMethod } from '../../service/rpc/method.ts';
import { FailureResult } from './told-failures.ts';

/** Methods of hubs with consensus, and what they are about. */
const OF_CONSENSUS: Readonly<Record<string, string>> = {
  getoraclesubmissions: 'prices that validators submit for a round',
  getattestationstats: 'how attestations by validators go',
  getcrosschaincallstats: 'how calls between chains go',
  getcrosschaincall: 'one call between chains',
  getxcall: 'one call between chains',
  listxcall: 'calls between chains',
  getcheckpointstats: 'how checkpoints by validators go',
  getslashproposals: 'proposals to punish a validator'
};
/** The same of writes. */
const WRITES_OF_CONSENSUS: Readonly<Record<string, string>> = {
  anchorflush: 'writes waiting checkpoints to a chain',
  proposeslashpenalty: 'proposes to punish a validator',
  pauseeffectorspend: 'stops what the hub pays for',
  resumeeffectorspend: 'lets the hub pay again',
  pushxcallreorg: 'takes back calls between chains that a reorg removed',
  pushdexreorg: 'takes back matches between chains that a reorg removed'
};

/** Answers of methods that ask for the state of a part of consensus: it does not run. */
const STATES = {
  getanchorstatus: { active: false },
  getoraclepublisherstatus: { active: false },
  geteffectorspendstatus: { effectors: [] }
} as const;

/**
 * Returns the methods about parts of consensus that this hub does not have: clients in use ask for them, and read
 * `error` or `active`.
 *
 * @param isOfSet  whether it decides with the hubs of a set
 */
export function inactiveMethods(isOfSet: boolean): Readonly<Record<string, RpcMethod>> {
  const why = isOfSet ? 'the hubs of this set do not do that' : 'this hub runs without consensus';
  const none = (about: string, write: boolean): RpcMethod =>
    rpcMethod({
      summary: `${about[0]!.toUpperCase()}${about.slice(1)}: none, because ${why}`,
      result: FailureResult,
      write,
      run: () => ({ error: `not active: ${why}` })
    });
  const of = (names: Readonly<Record<string, string>>, write: boolean) =>
    Object.entries(names).map(([name, about]) => [name, none(about, write)] as const);
  const states = Object.entries(STATES).map(([name, state]) => [
    name,
    rpcMethod({
      summary: `Says that ${why}`,
      result: Type.Object({
        active: Type.Optional(Type.Boolean()),
        effectors: Type.Optional(Type.Array(Type.Unknown()))
      }),
      write: false,
      run: (): { active?: boolean; effectors?: unknown[] } =>
        ({ ...state }) as { active?: boolean; effectors?: unknown[] }
    })
  ]);
  return Object.fromEntries([...of(OF_CONSENSUS, false), ...of(WRITES_OF_CONSENSUS, true), ...states]);
}
