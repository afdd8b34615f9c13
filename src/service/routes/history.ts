import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import { ByName } from '../../wire/by-name.ts';
import { OrNull } from '../../wire/or-null.ts';
import { type ActorName, actorKey } from '../../wire/state/actor.ts';
import type { ActorView } from '../../wire/state/actor-view.ts';
import { type ActorReport, presentReport } from '../../wire/state/report.ts';

/** Samples of 24 hours, five minutes apart. */
const [EVERY_MS, KEPT] = [300_000, 288];

const WholeOrNull = OrNull(Type.Integer());
const SampleSchema = Type.Array(WholeOrNull, { description: 'Unix milliseconds, height, lag in blocks' });
const HistorySchema = Type.Object({ every_ms: Type.Integer(), databases: ByName(Type.Array(SampleSchema)) });
/** The actors, as far as it samples them. */
interface HistoryDeps {
  readonly actors: {
    list(): readonly ActorView<ActorName>[];
    describe(id: ActorName): { readonly report: ActorReport | null };
  };
}
type Sample = [at: number, height: number | null, lag: number | null];

/** `GET /debug/history`: height and lag of each database over the last 24 hours; a process that starts begins anew. */
export const historyRoute: FastifyPluginAsyncTypebox<HistoryDeps> = async (app, { actors }) => {
  const databases = new Map<string, Sample[]>();
  const sample = () => {
    const at = Date.now();
    for (const { id, state } of actors.list()) {
      const { report } = actors.describe(id);
      const present = report && presentReport(report, state === 'running');
      const kept = databases.get(actorKey(id)) ?? [];
      kept.push([at, present?.height ?? null, present?.lagBlocks ?? null]);
      if (kept.length > KEPT) kept.shift();
      databases.set(actorKey(id), kept);
    }
  };
  const timer = setInterval(sample, EVERY_MS).unref();
  app.addHook('onClose', async () => clearInterval(timer));
  app.get(
    '/debug/history',
    {
      config: {
        isDiagnostic: true,
        doc: { tag: 'Operator', summary: 'Height and lag of each database over 24 hours, every five minutes' }
      },
      schema: { response: { 200: HistorySchema } }
    },
    async () => {
      if (databases.size === 0) sample();
      return { every_ms: EVERY_MS, databases: Object.fromEntries(databases) };
    }
  );
};
