import { readFile } from 'node:fs/promises';
import Type, { type Static } from 'typebox';
import { Value } from 'typebox/value';
import { replayTransition } from '../../../actors/runtime/supervision/replay.ts';
import { PlatformError } from '../../errors.ts';
import { ByName } from '../../wire/by-name.ts';
import { OrNull } from '../../wire/or-null.ts';
import type { Transition } from '../../wire/state/transition.ts';
import type { Command, OptionTable } from '../command.ts';
import { readArguments } from '../options.ts';

const Facts = ByName(Type.Unknown());
const ExportSchema = Type.Object({
  entries: Type.Array(
    Type.Object({
      kind: Type.String(),
      seq: Type.Integer(),
      actor: Type.Object({ dbType: Type.String(), chain: Type.String(), network: Type.String() })
    })
  )
});
const TransitionSchema = Type.Object({
  machine: Type.String(),
  event: Type.String(),
  from: OrNull(Type.String()),
  to: Type.String(),
  at: Type.Number(),
  detail: Type.Optional(Facts),
  before: Type.Optional(Facts)
});
const OPTIONS = {
  json: { type: 'boolean', default: false, help: ['print JSON: the counts, and each transition that parted'] }
} as const satisfies OptionTable;
type Entry = Static<typeof ExportSchema>['entries'][number];

/**
 * Command `platform-node replay FILE`: runs a timeline that the console exported through the machines of this version.
 */
export const replayCommand: Command = {
  name: 'replay',
  summary: 'runs an exported timeline through the machines again; exits 0 when each goes the same way',
  words: [{ word: '<file>', help: ['a timeline exported by the console: {"entries": [...]}'] }],

  options: OPTIONS,

  async run(argv: readonly string[]): Promise<number> {
    const { values, words } = readArguments(argv, OPTIONS);
    const [file, ...more] = words;
    if (!file || more.length > 0) throw new PlatformError('COMMAND_INVALID', { reason: 'name one exported file' });
    const counts = { same: 0, parted: 0, skipped: 0 };
    const differences: { readonly entry: Entry; readonly step: Transition; readonly found: string }[] = [];
    for (const entry of (await readExport(file)).filter(({ kind }) => kind === 'transition')) {
      if (!Value.Check(TransitionSchema, entry))
        throw new PlatformError('INPUT_INVALID', { reason: `entry ${entry.seq} of ${file} is not a transition` });
      const step = entry as unknown as Transition;
      const { outcome, found } = replayTransition(step);
      counts[outcome] += 1;
      if (outcome === 'parted') differences.push({ entry, step, found });
    }
    const summary = `${counts.same} transitions the same, ${counts.parted} parted, ${counts.skipped} skipped (starts)`;
    const lines = differences.map(({ entry, step, found }) => describe(entry, step, found));
    const results = differences.map(({ entry, found }) => ({ ...entry, now: found }));
    console.log(values.json ? JSON.stringify({ ...counts, differences: results }) : [...lines, summary].join('\n'));
    return counts.parted === 0 ? 0 : 1;
  }
};

function describe({ seq, actor }: Entry, { at, machine, event, from, to }: Transition, found: string): string {
  const place = `${actor.dbType}/${actor.chain}/${actor.network} ${machine}`;
  return `${seq} ${new Date(at).toISOString()} ${place}: ${event} led from ${from} to ${to}; now: ${found}`;
}

async function readExport(file: string): Promise<Entry[]> {
  let content: unknown;
  try {
    content = JSON.parse(await readFile(file, 'utf8'));
  } catch (caught) {
    throw new PlatformError('INPUT_INVALID', { reason: `${file}: ${(caught as Error).message}` }, { cause: caught });
  }
  if (!Value.Check(ExportSchema, content))
    throw new PlatformError('INPUT_INVALID', { reason: `${file} is not an exported timeline` });
  return content.entries;
}
