import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** State of a hub in its set. */
interface PeerCounts {
  readonly phase: string;
  readonly view: number;
  readonly seq: number;
  readonly peers: readonly string[];
  readonly accused: number;
  readonly waiting: number;
  readonly round: { readonly counted: number; readonly missed: number; readonly deviation: number | null } | null;
}

/** Members up to which all hubs are connected to all. */
const MOST_CONNECTED = 32;

/** Sources of the metrics of a hub in validator mode. */
interface MeasuredSet {
  /** Hubs of the set. */
  readonly members: number;
  /** Other hubs that must be connected for a decision. */
  readonly needed: number;
  readonly standing: () => PeerCounts;
}

/** Buckets for the time that a write waits for its set, in seconds: the time-out of a leader is 2. */
const COMMIT_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];

/** Registers the metrics of a hub in validator mode. @returns what takes the seconds that each of its writes has waited */
export function describeHubSet(
  registry: Registry,
  { members, needed, standing }: MeasuredSet
): (commitSeconds: number) => void {
  const gauge = (name: string, help: string, read: (now: PeerCounts) => number | undefined) => {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.reset();
        const value = read(standing());
        if (value !== undefined) this.set(value);
      }
    });
  };
  gauge('hub_consensus_seq', 'last place of the log that is applied here', ({ seq }) => seq);
  gauge('hub_consensus_view', 'view of the set: each change is another leader', ({ view }) => view);
  gauge('hub_consensus_halted', '1 where this hub votes no more', ({ phase }) => (phase === 'halted' ? 1 : 0));
  gauge('hub_consensus_missing', 'hubs of the set that are not connected', ({ peers }) =>
    members > MOST_CONNECTED ? undefined : members - 1 - peers.length
  );
  gauge('hub_consensus_lacking', 'hubs that are missing for a decision', ({ peers }) =>
    Math.max(0, needed - peers.length)
  );
  gauge('hub_consensus_pending', 'operations that wait for a decision of the set', ({ waiting }) => waiting);
  gauge('hub_peers', 'hubs of the set that are connected', ({ peers }) => peers.length);
  new Counter({
    name: 'hub_equivocations_total',
    help: 'pairs of messages for one place that others signed, since the start',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(standing().accused);
    }
  });
  gauge('hub_round_submissions', 'hubs whose prices count in the last round', ({ round }) => round?.counted);
  gauge(
    'hub_round_missed',
    'hubs that qualify for prices, and told none in the last round',
    ({ round }) => round?.missed
  );
  gauge(
    'hub_price_deviation',
    'largest part by which a price of this hub differs from the one that was decided in the last round',
    ({ round }) => round?.deviation ?? undefined
  );
  const commits = new Histogram({
    name: 'hub_consensus_commit_seconds',
    help: 'time from a write at this hub until it was decided and applied here',
    buckets: COMMIT_SECONDS,
    registers: [registry]
  });
  return (seconds) => commits.observe(seconds);
}
