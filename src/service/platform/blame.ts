import { findNetwork } from '../../coin/find-network.ts';
import type { PipelineState } from '../../wire/state/pipeline.ts';

/** One service of the platform, for one network or database. */
export interface PlatformRow {
  /** The service that is asked. */
  readonly isSelf: boolean;
  /** Its console page; null for what has none, such as a coin node. */
  readonly url: string | null;
  /** `decoder`, `sync server`; null while it never answered. */
  readonly service: string | null;
  readonly version: string | null;
  /** The network or database that it works for; null where it works for all. */
  readonly lane: string | null;
  readonly state: PipelineState;
  readonly doing: string;
  readonly height: number | null;
  readonly lag: number | null;
  /** Reason why it is not well. */
  readonly reason: string | null;
  /** Its subscribers; null where it serves none. */
  readonly subscribers: number | null;
}

/** By service: the ones that its blocks may come from. */
const RESTS_ON: Readonly<Record<string, readonly string[]>> = {
  decoder: ['coin node'],
  tracker: ['coin node'],
  indexer: ['decoder'],
  explorer: ['indexer'],
  'sync server': ['indexer', 'decoder'],
  replica: ['sync server'],
  edge: ['sync server']
};

const stands = ({ state }: PlatformRow) => state === 'failed' || state === 'waiting';

/**
 * Returns rows of which each that rests on one that stands still says so: its lag is not known, and its reason names the
 * first that stands, upstream, where cause and remedy are told.
 */
export function blamed(rows: readonly PlatformRow[]): readonly PlatformRow[] {
  return rows.map((row) => {
    const cause = causeOf(row, rows);
    if (cause === row || row.state === 'failed') return row;
    const reason = `rests on the ${cause.service}, which ${cause.doing === 'does not answer' ? cause.doing : 'does not go on'}`;
    return { ...row, state: 'waiting', lag: null, reason };
  });
}

/** Returns the first row that stands still on the way to a row; the row itself if all before it go on. */
function causeOf(row: PlatformRow, rows: readonly PlatformRow[]): PlatformRow {
  const before = rows.filter((each) => isBefore(each, row));
  const standing = before.filter((each) => stands(causeOf(each, rows)));
  if (before.length === 0 || standing.length < before.length) return row;
  return causeOf(standing[0]!, rows);
}

/** Returns the network of a lane, such as `indexer/LTC/regtest` or `litecoin-regtest`: a hub may spell it in another way. */
export function networkIn(lane: string): string {
  const words = lane.replace('-', '/').split('/').slice(-2);
  const known = findNetwork(words.join(':'));
  return known ? `${known.chain}/${known.network}` : words.join('/');
}

/** Returns whether a row's blocks come from another. One that has more blocks has another source. */
function isBefore(other: PlatformRow, { service, lane, height }: PlatformRow): boolean {
  if (service === null || lane === null || !RESTS_ON[service]?.includes(other.service ?? '')) return false;
  if (other.height !== null && height !== null && other.height < height) return false;
  const isOfLane = service !== 'sync server' || lane.startsWith(`${other.service}/`);
  return isOfLane && other.lane !== null && networkIn(lane) === networkIn(other.lane) && kindsAgree(lane, other.lane);
}

/** Returns whether two lanes of databases, `indexer/litecoin/regtest`, are of one kind; those of networks agree with all. */
function kindsAgree(one: string, other: string): boolean {
  const [kinds, others] = [one.split('/'), other.split('/')];
  return kinds.length < 3 || others.length < 3 || kinds[0] === others[0];
}
