import { CHAINS, NETWORKS } from '../../coin/chains.ts';
import type { Ping, PingModule } from '../../wire/telemetry.ts';

/** Stands for a text of a sender that is of no closed list. */
export const OTHER = 'other';

/** Values under which an installation is counted: other texts of a sender are neither stored nor told. */
const SYSTEMS = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'openbsd', 'sunos', 'win32'];
const PROCESSORS = ['arm', 'arm64', 'ia32', 'loong64', 'mips', 'mipsel', 'ppc64', 'riscv64', 's390x', 'x64'];
const SERVICES = ['sync', 'edge', 'hub', 'decoder', 'indexer', 'explorer', 'encoder', 'utxo', 'tracker', 'miner'];
/** Versions are numbers: three of up to three digits, of a container engine the first two. */
const VERSION = /^v?\d{1,3}\.\d{1,3}\.\d{1,3}$/;
const ENGINE = /^\d{1,2}\.\d{1,2}/;

/** Fields of a ping that are kept beside its id, with null for each that it leaves out. */
interface KnownFacts {
  readonly node_version: string | null;
  readonly os_platform: string | null;
  /** As it was sent: TELEMETRY_ADMIN_KEY alone reads it. */
  readonly os_release: string | null;
  readonly arch: string | null;
  readonly docker_version: string | null;
  /** Each service of a network once. */
  readonly modules: readonly PingModule[];
}

/** Reduces a ping to values of the closed lists. */
export function knownFacts(ping: Omit<Ping, 'install_id'>): KnownFacts {
  return {
    node_version: matched(ping.node_version, VERSION),
    os_platform: among(ping.os_platform, SYSTEMS),
    os_release: ping.os_release ?? null,
    arch: among(ping.arch, PROCESSORS),
    docker_version: matched(ping.docker_version, ENGINE),
    modules: knownModules(ping.modules ?? [])
  };
}

function knownModules(modules: readonly PingModule[]): PingModule[] {
  const known = new Map<string, PingModule>();
  for (const { module, coin, network, version, running } of modules) {
    const kept = {
      module: among(module.replace(/^.*-/, ''), SERVICES) ?? OTHER, // whatever the prefix
      ...(coin == null ? {} : { coin: among(coin, CHAINS) }),
      ...(network == null ? {} : { network: among(network, NETWORKS) }),
      ...(version == null ? {} : { version: matched(version, VERSION) }),
      ...(running === undefined ? {} : { running })
    };
    const name = `${kept.module} ${kept.coin} ${kept.network}`;
    if (!known.has(name)) known.set(name, kept);
  }
  return [...known.values()];
}

function among(text: string | null | undefined, values: readonly string[]): string | null {
  if (text == null) return null;
  return values.includes(text.toLowerCase()) ? text.toLowerCase() : OTHER;
}

function matched(text: string | null | undefined, pattern: RegExp): string | null {
  return text == null ? null : (pattern.exec(text)?.[0] ?? OTHER);
}
