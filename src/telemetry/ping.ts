import { execFile } from 'node:child_process';
import { arch, platform, release } from 'node:os';
import { promisify } from 'node:util';
import { findNetwork } from '../coin/find-network.ts';
import type { Ping, PingModule } from '../wire/telemetry.ts';
import type { Start } from './preference.ts';

/** Content of a ping, except for facts of the machine. */
export interface PingSubject {
  readonly installId: string;
  readonly event: string;
  readonly version: string;
  /** Every service that the program has. */
  readonly services: readonly string[];
  /** The services that run. Only a network that the registry knows is named. */
  readonly running: readonly Pick<Start, 'service' | 'network'>[];
}

const DOCKER_TIMEOUT_MS = 3_000;
/** Characters that may stand in a version. */
const VERSION = /^[0-9A-Za-z.+-]{1,32}$/;

/** Makes the whole ping: nothing is added on its way. */
export async function makePing(subject: PingSubject): Promise<Ping> {
  const { installId, event, version, services, running } = subject;
  return {
    install_id: installId,
    event,
    node_version: version,
    os_platform: platform(),
    os_release: plain(release(), 64),
    arch: arch(),
    docker_version: await readDockerVersion(),
    modules: services.flatMap((module): PingModule[] => {
      const own = running.filter(({ service }) => service === module);
      if (own.length === 0) return [{ module, version, running: false }];
      return own.map(({ network }) => ({ module, version, running: true, ...chainOf(network) }));
    })
  };
}

function chainOf(spelling: string | undefined): Pick<PingModule, 'coin' | 'network'> {
  const found = spelling === undefined ? undefined : findNetwork(spelling);
  return found ? { coin: found.chain, network: found.network } : {};
}

/** Reads Docker's version; null where no container engine answers. */
async function readDockerVersion(): Promise<string | null> {
  const question = ['version', '--format', '{{.Server.Version}}'];
  const answer = await promisify(execFile)('docker', question, { timeout: DOCKER_TIMEOUT_MS }).catch(() => null);
  const version = answer?.stdout.trim() ?? '';
  return VERSION.test(version) ? version : null;
}

const plain = (text: string, longest: number) => text.replaceAll(/[^\x20-\x7e]/g, '').slice(0, longest);
