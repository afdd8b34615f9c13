import Type, { type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import { callMethod, reasonOf } from '../../../service/rpc/call-method.ts';
import { textTable } from '../../table.ts';

/** Place of a hub, and the key that it asks for. */
export interface HubPlace {
  readonly url: string;
  readonly apiKey: string | undefined;
}

const PATIENCE_MS = 5_000;
const LETTERS_OF_A_KEY = 12;

const FederationSchema = Type.Object({
  self: Type.String(),
  phase: Type.String(),
  view: Type.Number(),
  leader: Type.String(),
  seq: Type.Number(),
  quorum: Type.String(),
  votes: Type.Number(),
  safe: Type.Boolean(),
  trouble: Type.Optional(Type.Object({ code: Type.String(), reason: Type.String(), remedy: Type.String() })),
  members: Type.Array(Type.Object({ pubkey: Type.String(), connected: Type.Boolean() }))
});
const federation = Compile(FederationSchema);

/** One hub's word about its set. */
export interface HubWord {
  readonly url: string;
  /** Null where it did not answer. */
  readonly answer: Static<typeof FederationSchema> | null;
  readonly reason: string | null;
}

/** Calls a method of a hub. @throws an Error that says what came instead */
export async function askHub({ url, apiKey }: HubPlace, method: string, params: object = {}): Promise<unknown> {
  return await callMethod(url, method, params, { apiKey, signal: AbortSignal.timeout(PATIENCE_MS) });
}

/** Asks hubs how they stand in their set. */
export async function askAll(places: readonly HubPlace[]): Promise<readonly HubWord[]> {
  return await Promise.all(
    places.map(async (place): Promise<HubWord> => {
      try {
        const answer = await askHub(place, 'getfederation');
        if (!federation.Check(answer)) throw new Error('is no hub in validator mode');
        return { url: place.url, answer, reason: null };
      } catch (caught) {
        return { url: place.url, answer: null, reason: reasonOf(caught) };
      }
    })
  );
}

/** Pairs of messages that a hub noted. */
interface HubEvidence {
  readonly url: string;
  /** Null where it did not answer. */
  readonly evidence: readonly unknown[] | null;
  readonly reason: string | null;
}

/** Asks hubs which of the set signed two messages for one place. */
export async function askEvidence(places: readonly HubPlace[]): Promise<readonly HubEvidence[]> {
  return await Promise.all(
    places.map(async (place): Promise<HubEvidence> => {
      try {
        const answer = await askHub(place, 'getevidence');
        if (!Array.isArray(answer)) throw new Error('is no hub in validator mode');
        return { url: place.url, evidence: answer, reason: null };
      } catch (caught) {
        return { url: place.url, evidence: null, reason: reasonOf(caught) };
      }
    })
  );
}

/** Returns one line for each pair of messages, and for each hub that did not answer. */
export function evidenceText(found: readonly HubEvidence[]): string {
  const pairs = found.flatMap(({ url, evidence }) => (evidence ?? []).map((pair) => `${url} ${JSON.stringify(pair)}`));
  const silent = found
    .filter(({ evidence }) => evidence === null)
    .map(({ url, reason }) => `${url} not reached: ${reason}`);
  const none = 'no hub has signed two messages for one place, as far as these have seen';
  const isNone = pairs.length === 0 && silent.length < found.length;
  return [...(isNone ? [none] : pairs), ...silent].join('\n');
}

/** Returns one line for each hub: what it does and how far it is. */
export function statusText(words: readonly HubWord[]): string {
  const lines = words.map(({ url, answer, reason }) => {
    if (!answer) return [url, 'not reached', '-', '-', '-', reason ?? '-'];
    const { phase, view, seq, members, votes, safe, self, trouble } = answer;
    const connected = members.filter((member) => member.connected).length;
    const isFew = connected < votes ? `needs ${votes} hubs` : safe ? '-' : 'one liar can make two decisions of one';
    const why = trouble ? `${trouble.code}: ${trouble.reason}; ${trouble.remedy}` : isFew;
    return [url, phase, String(view), String(seq), `${connected} of ${members.length}`, `${shortKey(self)} ${why}`];
  });
  return textTable([['hub', 'phase', 'view', 'seq', 'connected', 'key and why'], ...lines]);
}

/** Returns one line for each member: which of the hubs that were asked are connected to it. */
export function peersText(words: readonly HubWord[]): string {
  const heads = words.map(({ answer, url }) => (answer ? shortKey(answer.self) : url));
  const keys = [
    ...new Set(words.flatMap(({ answer }) => answer?.members.map(({ pubkey }) => pubkey) ?? []))
  ].toSorted();
  const lines = keys.map((key) => [
    key,
    ...words.map(({ answer }) => {
      if (!answer) return '?';
      if (answer.self === key) return answer.leader === key ? 'leads' : 'self';
      return answer.members.find(({ pubkey }) => pubkey === key)?.connected ? 'yes' : 'no';
    })
  ]);
  return textTable([['member', ...heads], ...lines]);
}

function shortKey(key: string): string {
  return key.slice(0, LETTERS_OF_A_KEY);
}

/** Returns whether all hubs answered and vote, enough are connected to each, and none of them says why it decides nothing. */
export function isWell(words: readonly HubWord[]): boolean {
  return words.every(
    ({ answer }) =>
      answer !== null &&
      !['halted', 'starting'].includes(answer.phase) &&
      !answer.trouble &&
      answer.members.filter(({ connected }) => connected).length >= answer.votes
  );
}
