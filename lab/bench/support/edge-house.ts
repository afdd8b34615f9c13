import { freePort } from '../../../src/devnet/processes/free-port.ts';
import { blockText } from '../../../src/wire/data/database.ts';
import { type StartedProcess, startServiceProcess } from '../../../test/support/service-process.ts';
import { startGuardedNats } from '../../../test/support/sync/guarded-nats.ts';
import { openRelay, pointAt, RelaySource } from '../../../test/support/sync/relay-source.ts';
import { eventually } from '../../../test/support/sync/sync-process.ts';
import { Helper } from './processes/helper.ts';
import type { SubscribersAsk } from './processes/subscribers.ts';

const EDGE_KEY = 'key-of-a-bench-of-edges-0123456789';

type Guarded = Awaited<ReturnType<typeof startGuardedNats>>;

/** An edge in a process of its own. */
interface EdgeProcess {
  readonly started: StartedProcess;
  readonly pid: number;
  /** Place of its subscriptions to a database. */
  at(database: string): { readonly url: string; readonly key: string };
}

/** Starts an edge, and waits until it is ready. */
export async function startEdge({ nats, reader }: Pick<Guarded, 'nats' | 'reader'>): Promise<EdgeProcess> {
  const port = await freePort();
  const started = startServiceProcess('edge', {
    EDGE_API_HOST: '127.0.0.1',
    EDGE_API_PORT: String(port),
    EDGE_API_KEY: EDGE_KEY,
    SYNC_NATS_URL: nats.url,
    SYNC_NATS_CREDS: reader,
    WS_MAX_PER_IP: '100000',
    MAX_CONNECTIONS: '100000',
    LOG_LEVEL: 'warn'
  });
  await eventually('the edge is ready', 60_000, async () => {
    if (started.child.exitCode !== null) throw new Error(started.output());
    return (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null))?.status === 200;
  });
  const at = (database: string) => ({ url: `ws://127.0.0.1:${port}/subscribe/${database}`, key: EDGE_KEY });
  return { started, pid: started.child.pid!, at };
}

/** A stream of blocks that are invented here, and an edge that passes them on. */
export async function openFedEdge(blockBytes: number) {
  const guarded = await startGuardedNats();
  const relay = openRelay({ url: guarded.nats.url, creds: guarded.publisher });
  const source = new RelaySource(guarded.nats, 'bench');
  await source.keep(relay, pointAt(0, 'a', 0));
  await source.block(relay, 'a', blockBytes);
  await source.isPublished(relay);
  const edge = await startEdge(guarded);
  const at = edge.at('decoder/bench/regtest');
  const crowd = new Helper<SubscribersAsk>('subscribers.ts');
  return {
    edge,
    at,
    crowd,
    /** Publishes the next block. */
    block: () => source.block(relay, 'a', blockBytes),
    /** The block of a height, as `after` names it. */
    after: (height: number) => `${height}:${blockText({ block_hash: `a${height}` })}`,
    end: async () => {
      crowd.end();
      edge.started.child.kill('SIGTERM');
      await edge.started.exited;
      await relay.close();
    }
  };
}
