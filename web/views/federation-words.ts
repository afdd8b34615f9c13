/** Answer of `getfederation`. */
export interface FederationWords {
  readonly self: string;
  readonly phase: string;
  readonly view: number;
  readonly leader: string;
  readonly seq: number;
  readonly votes: number;
  readonly safe: boolean;
  readonly members: readonly { readonly pubkey: string; readonly connected: boolean }[];
  readonly tests: readonly {
    readonly pubkey: string;
    readonly capability: string;
    readonly ok: boolean;
    readonly reason: string | null;
  }[];
}

/** A sentence, and how serious it is. */
interface Told {
  readonly text: string;
  readonly kind: 'good' | 'warn' | 'bad';
}

/** Returns the first letters of a key: enough to tell hubs of a set apart. */
export function shortKey(pubkey: string): string {
  return pubkey.slice(0, 8);
}

/** Says why writes wait, or who is missing. */
export function findTrouble(set: FederationWords): Told {
  const { phase, view, leader, seq, votes, safe, members } = set;
  const missing = members.filter(({ connected }) => !connected).map(({ pubkey }) => shortKey(pubkey));
  const there = members.length - missing.length;
  const place = `The log is at ${seq.toLocaleString('en')}, view ${view.toLocaleString('en')}.`;
  const names = `${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'}`;
  if (phase === 'halted') return { text: `This hub is halted: it votes no more. See --rejoin. ${place}`, kind: 'bad' };
  if (there < votes)
    return {
      text: `Writes wait: ${votes} of ${members.length} hubs decide, and ${names} missing here. ${place}`,
      kind: 'bad'
    };
  if (phase === 'changingView')
    return { text: `Writes wait: the hubs look for another leader than ${shortKey(leader)}. ${place}`, kind: 'warn' };
  if (phase === 'catchingUp') return { text: `This hub catches up with the others. ${place}`, kind: 'warn' };
  if (phase === 'starting') return { text: 'This hub is starting.', kind: 'warn' };
  if (missing.length > 0)
    return {
      text: `Writes are decided without all: ${names} missing here; ${shortKey(leader)} leads. ${place}`,
      kind: 'warn'
    };
  if (!safe)
    return { text: `All hubs are connected; this quorum is not safe against a lying hub. ${place}`, kind: 'warn' };
  return { text: `All ${members.length} hubs are connected; ${shortKey(leader)} leads. ${place}`, kind: 'good' };
}
