import { constants, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { resourceLimits } from 'node:worker_threads';

const MEBIBYTE = 2 ** 20;
/** Share of the thread's memory (ACTOR_MEMORY_MB) that may be held; above it the thread would soon end. */
const SHARE = 0.7;

interface MajorCollection {
  readonly detail?: { readonly kind?: number };
}

/**
 * Hands items on as long as what the thread holds, as of its last whole garbage collection, leaves room for more.
 *
 * The first collection does not count: it may have begun before the items, and then keeps what others have left since.
 *
 * @param refuse      makes the error of a thread that holds too much
 * @param limitBytes  of a thread's own memory by default
 */
export async function* withinHeap<T>(
  items: AsyncIterable<T>,
  refuse: (heldBytes: number, limitBytes: number) => Error,
  limitBytes = shareOfThread()
): AsyncGenerator<T> {
  let heldBytes = 0;
  let collections = 0;
  const observer = new PerformanceObserver((list) => {
    const before = collections;
    for (const entry of list.getEntries()) {
      if ((entry as MajorCollection).detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR) collections++;
    }
    if (collections > Math.max(1, before)) heldBytes = getHeapStatistics().used_heap_size;
  });
  observer.observe({ entryTypes: ['gc'] });
  try {
    for await (const item of items) {
      if (heldBytes > limitBytes) throw refuse(heldBytes, limitBytes);
      yield item;
    }
  } finally {
    observer.disconnect();
  }
}

function shareOfThread(): number {
  return SHARE * (resourceLimits.maxOldGenerationSizeMb ?? getHeapStatistics().heap_size_limit / MEBIBYTE) * MEBIBYTE;
}
