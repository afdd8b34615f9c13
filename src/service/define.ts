import type { ParseArgsOptionDescriptor } from 'node:util';
import type { Checks, Sources } from '../config/load.ts';
import type { Values, Variables } from '../config/variables.ts';
import type { Logger } from '../log.ts';
import type { Needs } from './needs.ts';

/** A service that has started. */
export interface RunningService {
  /** Rejects when the service cannot continue; it must still be stopped then. Absent when nothing ends the service. */
  readonly ended?: Promise<void>;
  /** Stops it gracefully, within SHUTDOWN_GRACE_MS. */
  stop(): Promise<void>;
}

/** Facts of a service that its front door tells: its name, and the charts of its actors. */
export type OpenedBy = Pick<Service, 'name' | 'actors'>;

/** Parts that a service gets at its start, beside its settings. */
export interface Start {
  readonly service: OpenedBy;
  readonly log: Logger;
  /** Ends waits before the service has started. */
  readonly signal: AbortSignal;
  /** Values of the environment and of config.json. */
  readonly local: Sources;
  /** Values of its own options. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** Result of an order. */
export interface Done {
  /** Lines for the operator. */
  readonly text: string;
  /** Exit code of the process; 0 when absent. */
  readonly exitCode?: number;
}

/** An option of a command, with its lines of --help. */
export interface OptionRow extends ParseArgsOptionDescriptor {
  /** Placeholder behind the name, such as `<id>`. */
  readonly value?: string;
  /** Its values, where they are few; shells complete them. */
  readonly choices?: readonly string[];
  readonly help: readonly string[];
}

/** An option of a service's command. */
interface ServiceOption<C> extends OptionRow {
  /** Does one thing in place of the service. */
  order?(config: C): Promise<Done>;
}

/**
 * All that the platform knows of a service. The command line, the guardian, `status`, the console and the documents read
 * it; a service is one folder with this and one line in `src/services.ts`.
 */
export interface Service<V extends Variables = Variables> {
  /** As log, metrics and console name it. */
  readonly name: string;
  /** The word on the command line. */
  readonly command: string;
  readonly summary: string;
  readonly variables: V;
  readonly checks: Checks<NoInfer<V>>;
  /** Names of the variables that tell where it listens, and the key that opens it. */
  readonly place: { readonly host: keyof V & string; readonly port: keyof V & string; readonly key: keyof V & string };
  /** Kinds of its actors, each with the charts that its page shows, in this order. */
  readonly actors: Readonly<Record<string, readonly string[]>>;
  readonly options?: Readonly<Record<string, ServiceOption<Values<V>>>>;
  /** Returns what it needs by its settings, for `doctor`. @throws {PlatformError} HUB_UNREACHABLE */
  needs?(config: Values<V>): Needs | Promise<Needs>;
  /** Finds what is set and hardly meant so, one sentence each. @param isSet whether a name is set here, and not by the hub */
  findWarnings?(config: Values<V>, isSet: (name: string) => boolean): readonly string[];
  /** Starts it; its code is loaded only then. @throws {PlatformError} what the start met */
  start(config: Values<V>, start: Start): Promise<RunningService>;
}

/** Returns the definition as it is; the compiler knows the types of its variables then. */
export function defineService<const V extends Variables>(service: Service<V>): Service<V> {
  return service;
}
