import Value from 'typebox/value';
import { readBounded } from '../../wire/bounded.ts';
import { parseJson } from '../../wire/json.ts';
import { type ServiceLook, ServiceLookSchema } from '../../wire/state/service-look.ts';
import { reasonOf } from '../rpc/call-method.ts';

/** Last answer of another service. */
export interface ToldService {
  /** Base URL, as it is configured. */
  readonly url: string;
  /** Null before its first answer. */
  readonly look: ServiceLook | null;
  /** Reason why its last answer was none; null when it answered, and before it was asked. */
  readonly fault: string | null;
}

const ASK_EVERY_MS = 1_000;
const TIMEOUT_MS = 2_000;
const MAX_BODY_BYTES = 512 * 1024;
const MAX_FAULT_LETTERS = 200;

/** Other services of the platform, asked for their state while somebody looks at the console. */
export class OtherServices {
  readonly #key: string | undefined;
  #services: readonly ToldService[];
  #askedAt = Number.NEGATIVE_INFINITY;
  #isAsking = false;

  /** @param urls base URLs @param key accepted by all of them */
  constructor(urls: readonly string[], key: string | undefined) {
    this.#services = urls.map((url) => ({ url, look: null, fault: null }));
    this.#key = key;
  }

  /** Whether they are asked with a key. */
  get isKeyed(): boolean {
    return this.#key !== undefined;
  }

  /** Returns the last answers, and asks again if they are older than a second. */
  list(): readonly ToldService[] {
    if (!this.#isAsking && performance.now() - this.#askedAt >= ASK_EVERY_MS) void this.#askAll();
    return this.#services;
  }

  async #askAll(): Promise<void> {
    this.#isAsking = true;
    this.#services = await Promise.all(this.#services.map((before) => this.#ask(before)));
    this.#askedAt = performance.now();
    this.#isAsking = false;
  }

  /** Asks another service, and never throws. The last answer stays, beside the fault. */
  async #ask({ url, look }: ToldService): Promise<ToldService> {
    try {
      const response = await fetch(`${url}/debug/pipeline`, {
        headers: this.#key === undefined ? {} : { 'x-api-key': this.#key },
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS)
      });
      if (response.status === 401) throw new Error('it refused the key: set CONSOLE_SERVICES_KEY to its key');
      if (response.status !== 200) throw new Error(`it answered HTTP ${response.status}`);
      const tooLong = () => new Error(`it answered more than ${MAX_BODY_BYTES} bytes`);
      const answer = parseJson(await readBounded(response.body ?? [], MAX_BODY_BYTES, tooLong));
      if (!Value.Check(ServiceLookSchema, answer)) throw new Error('it answered no state of a service');
      return { url, look: answer, fault: null };
    } catch (caught) {
      return { url, look, fault: reasonOf(caught).slice(0, MAX_FAULT_LETTERS) };
    }
  }
}
