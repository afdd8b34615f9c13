// Loaded by each process of tests. Node 26 ends a file's process with results still on their way to the runner (nodejs/node issue
// 64833), which then counts fewer tests than ran: what is written at once is not lost.
const { _handle: pipe } = process.stdout as unknown as { _handle?: { setBlocking?: (isBlocking: boolean) => void } };
pipe?.setBlocking?.(true);
