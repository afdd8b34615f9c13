/** Has each connection take the next job when it is done with one. @throws what a job throws first; the others may still be running */
export async function spread<C, J>(
  connections: readonly C[],
  jobs: readonly J[],
  work: (connection: C, job: J) => Promise<void>
): Promise<void> {
  const waiting = jobs.values();
  const take = async (connection: C) => {
    for (const job of waiting) await work(connection, job);
  };
  await Promise.all(connections.map(take));
}
