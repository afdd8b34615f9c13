import { stage } from '../host/stage.ts';
import { SimulatedThread, type ThreadOptions } from '../host/threads.ts';

export const isMainThread = false;
export const threadId = 1;
export const resourceLimits = {};

/** Data of the thread that is being started: an entry reads it at once. */
export let workerData: unknown;

/** `node:worker_threads`: threads that the scheduler runs. */
export class Worker extends SimulatedThread {
  constructor(entry: URL, options: ThreadOptions) {
    super(stage, entry, options, (data) => {
      workerData = data;
    });
  }
}

/** The calling thread's end of its port. */
export const parentPort = {
  postMessage: (message: unknown) => SimulatedThread.current().toMain(message),
  on: (event: string, listener: (message: unknown) => void) => SimulatedThread.current().port.on(event, listener)
};
