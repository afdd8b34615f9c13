import type { Platform } from '../../src/devnet/platform.ts';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import { type Service, startService } from '../../src/devnet/processes/process.ts';
import { orderOf, planOf } from '../../src/devnet/services.ts';
import { type DevnetSettings, HOST } from '../../src/devnet/settings.ts';
import type { NodeAddress, Part } from '../../src/installation/plan.ts';

/** Changes to a part's variables; undefined takes one away. */
type Variables = Readonly<Record<string, string | undefined>>;

interface BesideOrder {
  /** End of the names of its directory and its log. */
  readonly name: string;
  readonly variables: Variables;
  /** More words of its command. */
  readonly words?: readonly string[];
  /** Default: the platform's. */
  readonly node?: NodeAddress;
}

/** A service beside those of the platform. */
interface BesideService extends Service {
  readonly url: string;
  readonly logFile: string;
}

/** Starts services beside those of the platform: of the same chain and hub, with ports and settings of their own. */
export class Beside {
  readonly #platform: Platform;
  readonly #settings: DevnetSettings;
  readonly #signal: AbortSignal;
  readonly #running = new Set<Service>();

  constructor(platform: Platform, settings: DevnetSettings, signal: AbortSignal) {
    this.#platform = platform;
    this.#settings = settings;
    this.#signal = signal;
  }

  /** Key of the hub and the sync services. */
  get apiKey(): string {
    return this.#settings.apiKey;
  }

  /** Directory of the platform. */
  get directory(): string {
    return this.#settings.directory;
  }

  /** @throws {PlatformError} PROCESS_EXITED with the end of its log */
  async start(part: Part, { name, variables, words = [], node }: BesideOrder): Promise<BesideService> {
    const port = await freePort();
    const settings = { ...this.#settings, ports: { ...this.#settings.ports, [part]: port } };
    const { database, coin } = this.#platform;
    const order = orderOf(settings, planOf(settings, database, node ?? coin), part);
    const logFile = order.logFile.replace(/\.log$/, `-${name}.log`);
    const service = await startService(
      {
        ...order,
        name,
        args: [...order.args, ...words],
        env: { ...order.env, ...variables },
        directory: `${order.directory}-${name}`,
        logFile
      },
      this.#signal
    );
    this.#running.add(service);
    const stop = async (signal?: NodeJS.Signals) => {
      this.#running.delete(service);
      await service.stop(signal);
    };
    return { ...service, url: `http://${HOST}:${port}`, logFile, stop };
  }

  async stop(): Promise<void> {
    for (const service of this.#running) await service.stop();
    this.#running.clear();
  }
}
