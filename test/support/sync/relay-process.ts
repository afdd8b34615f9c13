import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { atEnd } from '../cleanup.ts';

const PROGRAM = fileURLToPath(new URL('../../fixtures/relay-publisher.ts', import.meta.url));
const DEADLINE_MS = 20_000;

/** Order to a process that publishes: blocks to broadcast. */
export interface RelayOrder {
  readonly branch: string;
  readonly blocks: number;
}

/** A process that publishes the blocks it is told to. */
interface RelayProcess {
  readonly child: ChildProcess;
  /** Orders blocks, and waits for nothing. */
  order(branch: string, blocks: number): void;
  /** Orders blocks, and waits until the stream has them. */
  publish(branch: string, blocks: number): Promise<void>;
  /** Waits until it says so: the state of its stream, the messages that wait, and the blocks that it has broadcast. */
  isAnswered(beginning: string): Promise<void>;
}

/** @param creds file with the seed of its nkey; absent: it has none */
export function startRelayProcess(url: string, chain: string, creds?: string): RelayProcess {
  const child = fork(PROGRAM, [url, chain, ...(creds === undefined ? [] : [creds])]);
  atEnd(async () => void child.kill('SIGKILL'));
  let ordered = 0;
  const order = (branch: string, blocks: number) => {
    ordered += blocks;
    child.send({ branch, blocks } satisfies RelayOrder);
  };
  const isAnswered = async (beginning: string) => {
    const signal = AbortSignal.timeout(DEADLINE_MS);
    for (;;) {
      const [message] = await once(child, 'message', { signal });
      if (String(message).startsWith(beginning)) return;
    }
  };
  return {
    child,
    order,
    isAnswered,
    publish: async (branch, blocks) => {
      order(branch, blocks);
      await isAnswered(`publishing 0 ${ordered}`);
    }
  };
}
