import { readFileSync } from 'node:fs';

/** Where the kernel lists our children: this process's only thread that makes any is the first. */
const CHILDREN = `/proc/self/task/${process.pid}/children`;
/** Of waitpid(2): answer at once, whether or not it has ended. */
const WNOHANG = 1;

/**
 * For the first process of a container: takes note of the end of each process that the kernel made our child because its
 * parent died. Nobody else does, and what nobody waits for keeps its place in the process table.
 *
 * @param isOurs says which children somebody else here waits for
 */
export async function reapOrphans(isOurs: (pid: number) => boolean): Promise<void> {
  const { dlopen } = await import('node:ffi');
  const { functions } = dlopen(null, { waitpid: { arguments: ['i32', 'pointer', 'i32'], return: 'i32' } });
  const reap = () => {
    const children = readFileSync(CHILDREN, 'utf8').trim();
    if (children === '') return;
    for (const pid of children.split(' ').map(Number)) if (!isOurs(pid)) functions.waitpid(pid, 0n, WNOHANG);
  };
  reap();
  process.on('SIGCHLD', reap);
}
