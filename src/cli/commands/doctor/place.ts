import type { StatsFs } from 'node:fs';
import { access, constants, statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, resolve } from 'node:path';
import { reachableUrl } from '../../../config/service-url.ts';
import { findDirectoryFault } from '../../../process/private-directory.ts';
import { checkAlive } from '../../../service/life/probe.ts';
import { type Finding, fault, ok } from './finding.ts';

const LEAST_FREE_BYTES = 2 ** 30;
const GIB = 2 ** 30;

/** Returns whether a disk has room. */
export function diskFinding(check: string, { bavail, bsize }: Pick<StatsFs, 'bavail' | 'bsize'>): Finding {
  const free = bavail * bsize;
  const reason = `${(free / GIB).toFixed(1)} GiB are free`;
  return free < LEAST_FREE_BYTES ? fault(check, reason, 'make room, or name a larger disk') : ok(check, reason);
}

/** Examines a private directory, or the place where it will be made. Changes nothing. */
export async function examineDirectory(variable: string, path: string): Promise<readonly Finding[]> {
  const check = `${variable}=${path}`;
  const there = await nearestThere(resolve(path));
  const space = diskFinding(`disk of ${path}`, await statfs(there));
  const reason = there === resolve(path) ? await findDirectoryFault(path) : await findParentFault(there);
  if (reason !== null) return [fault(check, reason, 'name a directory that only this user may write to'), space];
  return [ok(check, there === resolve(path) ? 'it is private' : 'it is made at the start'), space];
}

async function nearestThere(path: string): Promise<string> {
  const isThere = await access(path).then(
    () => true,
    () => false
  );
  return isThere || path === dirname(path) ? path : await nearestThere(dirname(path));
}

async function findParentFault(path: string): Promise<string | null> {
  return await access(path, constants.W_OK | constants.X_OK).then(
    () => null,
    () => `it cannot be made: this user may not write to ${path}`
  );
}

/** Examines the port on which a service is to listen. */
export async function examinePort(variable: string, host: string, port: number): Promise<Finding> {
  const check = `${variable}=${port}`;
  const code = await findPortFault(host, port);
  if (code === null) return ok(check, 'it is free');
  if (code !== 'EADDRINUSE')
    return fault(check, `this user cannot listen on ${host}:${port} (${code})`, 'choose another port or address');
  return await checkAlive({ url: reachableUrl(host, port) }).then(
    () => ok(check, 'a service of the platform listens there already'),
    () => fault(check, 'another program listens there', `stop it, or set ${variable} to another port`)
  );
}

/** Returns the system's code for why nobody can begin to listen there now; null when somebody can. */
export async function findPortFault(host: string, port: number): Promise<string | null> {
  const { promise, resolve: settle } = Promise.withResolvers<string | null>();
  const trial = createServer();
  trial.once('error', ({ code = 'error' }: NodeJS.ErrnoException) => settle(code));
  trial.listen(port, host, () => trial.close(() => settle(null)));
  return await promise;
}
