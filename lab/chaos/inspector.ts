import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';

const LISTENING = /Debugger listening on (ws:\/\/\S+)/g;
const OPEN_DEADLINE_MS = 10_000;

interface Attached {
  readonly sessionId: string;
  readonly workerInfo: { readonly title: string };
}

/**
 * Runs a script in one thread of a Node process, by way of its inspector, and does not wait for its end.
 *
 * The process must have been started with `--inspect-port=127.0.0.1:0`; until SIGUSR1 it knows of no inspector.
 *
 * @param thread part of the thread's name; null: the first one
 * @param log everything that the process has printed
 * @returns false when there is no such thread now
 */
export async function runInThread(
  pid: number,
  thread: string | null,
  script: string,
  log: () => string
): Promise<boolean> {
  const url = await inspectorOf(pid, log);
  if (!url) return false;
  const socket = new WebSocket(url, { perMessageDeflate: false });
  socket.on('error', () => undefined); // the process may end by what runs in it
  try {
    await once(socket, 'open');
    const evaluate = { id: 1, method: 'Runtime.evaluate', params: { expression: script } };
    if (thread === null) {
      socket.send(JSON.stringify(evaluate));
      await sleep(200);
      return true;
    }
    const attached: Attached[] = [];
    socket.on('message', (data: Buffer) => {
      const { method, params } = JSON.parse(data.toString('utf8')) as { method?: string; params: Attached };
      if (method === 'NodeWorker.attachedToWorker') attached.push(params);
    });
    send(socket, 1, 'NodeWorker.enable', { waitForDebuggerOnStart: false });
    await sleep(300);
    const found = attached.find(({ workerInfo }) => workerInfo.title.includes(thread));
    if (!found) return false;
    send(socket, 2, 'NodeWorker.sendMessageToWorker', {
      sessionId: found.sessionId,
      message: JSON.stringify(evaluate)
    });
    await sleep(200);
    return true;
  } catch {
    return false;
  } finally {
    socket.terminate();
  }
}

async function inspectorOf(pid: number, log: () => string): Promise<string | null> {
  const before = [...log().matchAll(LISTENING)].length;
  process.kill(pid, 'SIGUSR1');
  for (const deadline = Date.now() + OPEN_DEADLINE_MS; Date.now() < deadline; await sleep(50)) {
    const lines = [...log().matchAll(LISTENING)];
    // An inspector that is open already is not opened again, and says nothing.
    if (lines.length > before || (lines.length > 0 && Date.now() > deadline - OPEN_DEADLINE_MS + 1_000))
      return lines.at(-1)![1]!;
  }
  return null;
}

function send(socket: WebSocket, id: number, method: string, params: object): void {
  socket.send(JSON.stringify({ id, method, params }));
}
