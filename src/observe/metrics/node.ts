import { Gauge, type Registry } from 'prom-client';
import type { TakeCounters } from './metrics.ts';

/** Silence from which a node counts as away, in milliseconds. */
const SILENCE_MS = 5_000;

/** A client of a coin node, as metrics read it. */
interface MeasuredNode {
  /** Milliseconds for which the node has left requests unanswered. */
  readonly silentMs: number;
  /** Seconds since the node's last answer; null before it. */
  readonly answerAgeS: number | null;
}

/** Registers the metrics of a coin node that a service without actors asks. @param service first word of their names */
export function describeNode(registry: Registry, service: string, node: MeasuredNode): TakeCounters {
  const gauge = (name: string, help: string, read: () => number | null) =>
    new Gauge({
      name: `${service}_${name}`,
      help,
      registers: [registry],
      collect() {
        this.reset();
        const value = read();
        if (value === null) this.remove();
        else this.set(value);
      }
    });
  gauge('node_up', '1 while the coin node answers', () =>
    Number(node.answerAgeS !== null && node.silentMs < SILENCE_MS)
  );
  gauge('node_age_seconds', 'since the coin node last answered', () => node.answerAgeS);
  return () => undefined;
}
