import { workerData } from 'node:worker_threads';
import { chainNetwork } from '../../src/coin/chains.ts';
import { IndexerAnswers, type IndexerAsks } from '../../src/indexer/api/answers.ts';
import type { IndexerReport } from '../../src/indexer/loop/report.ts';
import { type IndexerActorData, IndexerThread } from '../../src/indexer/loop/thread.ts';
import { rulesOf } from '../../src/indexer/profile/rules.ts';
import { createLogger } from '../../src/log.ts';
import { actorKey } from '../../src/wire/state/actor.ts';
import { hostActor } from '../runtime/thread/actor-host.ts';

const data = workerData as IndexerActorData;
const log = createLogger('indexer', data.logLevel).child({
  database: actorKey({ kind: 'indexer', chain: data.chain, network: data.network }),
  schema: data.indexer.name
});
const rules = rulesOf(data.profile, chainNetwork(data.chain, data.network), data.commitmentDomain);
const answers = new IndexerAnswers({
  ledger: data.indexer,
  prices: data.prices,
  rules,
  tickers: () => thread.tickers,
  isBusy: () => thread.isBusy
});
const host = hostActor<IndexerAsks, Record<never, never>, { report: IndexerReport }>({
  handlers: answers.handlers,
  stop: () => thread.stop(),
  log
});
const thread: IndexerThread = new IndexerThread({ data, rules, host, log });
await thread.run(() => answers.close());
