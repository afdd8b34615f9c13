import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { test } from 'node:test';
import { filesOf, REST_FILES } from '../scripts/testing/tiers.ts';
import { otherFiles } from '../scripts/testing/unit.ts';
import { forbiddenImports, importsOf, MAY_IMPORT, ROOMS, roomOf } from './support/rooms.ts';
import { spreadCallsOf } from './support/spread-calls.ts';

const readAll = (pattern: string) => globSync(pattern).map((file) => ({ file, source: readFileSync(file, 'utf8') }));
const files = readAll('{src,actors,machines,workers}/**/*.ts');
/** Files of the services, and scripts and console beside them. */
const filesOfRooms = [...readAll('{scripts,web}/**/*.ts'), ...files];

test('imports point downwards only', () => {
  assert.deepEqual(
    filesOfRooms.flatMap(({ file, source }) => forbiddenImports(file, source)),
    []
  );
});

test('a room names only rooms below it, so there is no cycle of rooms', () => {
  for (const [index, room] of ROOMS.entries()) {
    const named = MAY_IMPORT[room]!.map((entry) => entry.replace(/^type /, '')).filter((entry) => entry in MAY_IMPORT);
    const above = named.filter((other) => ROOMS.indexOf(other) <= index);
    assert.deepEqual(above, [], room);
    assert.ok(
      filesOfRooms.some(({ file }) => roomOf(file) === room),
      `${room} is empty`
    );
  }
});

test('no file imports itself by way of others, types included', () => {
  const imports = new Map(
    filesOfRooms.map(({ file, source }) => [file, importsOf(file, source).map(({ target }) => target)])
  );
  assert.deepEqual(cyclesOf(imports), []);
});

/** One way round for each file at which a search in depth comes back to its own path. */
function cyclesOf(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const [path, done, cycles]: [string[], Set<string>, string[]] = [[], new Set(), []];
  const visit = (file: string): void => {
    const at = path.indexOf(file);
    if (at >= 0) cycles.push([...path.slice(at), file].join(' → '));
    if (at >= 0 || done.has(file)) return;
    path.push(file);
    for (const target of imports.get(file) ?? []) visit(target);
    path.pop();
    done.add(file);
  };
  for (const file of imports.keys()) visit(file);
  return cycles;
}

test('an entry of an actor has at most 100 lines: it wires parts, provides the machine, and reports', () => {
  const entries = readAll('actors/*/*.ts').filter(({ file }) => !file.startsWith('actors/runtime/'));
  assert.ok(entries.some(({ file }) => file === 'actors/source/actor.ts'));
  const long = entries
    .map(({ file, source }) => ({ file, lines: source.split('\n').length - 1 }))
    .filter(({ lines }) => lines > 100);
  assert.deepEqual(long, [], 'move its logic to the room in src/ that it belongs to');
});

test('the stand-ins for peers of other makes share no code with the project', () => {
  const allowed = /^(?:node:|ws$|mysql2\/promise$|\.\/)/;
  const stands = globSync('test/support/stand-in/*.ts');
  assert.ok(stands.length > 0);
  for (const file of stands) {
    const imports = [...readFileSync(file, 'utf8').matchAll(/ from '([^']+)'/g)].map(([, target = '']) => target);
    const foreign = imports.filter((target) => !allowed.test(target));
    assert.deepEqual(foreign, [], file);
  }
});

test('the lab imports of the tests only their support', () => {
  const taken = globSync('lab/**/*.ts').flatMap((file) =>
    importsOf(file, readFileSync(file, 'utf8'))
      .filter(({ target }) => target.startsWith('test/') && !target.startsWith('test/support/'))
      .map(({ target }) => `${file} imports ${target}`)
  );
  assert.deepEqual(taken, []);
});

/** Everything that a guardian loads. It stays in memory beside each service: what is added here is paid once for each. */
const OF_GUARDIAN = [
  'src/config/environment.ts',
  'src/main.ts',
  'src/process/guardian-log.ts',
  'src/process/guardian.ts',
  'src/process/self.ts',
  'src/services.ts'
];

test('a guardian loads its own few files, and no package', () => {
  const loaded = new Set(['src/main.ts']);
  for (const file of loaded)
    for (const { target, isType, isLazy } of importsOf(file, readFileSync(file, 'utf8')))
      if (!isType && !isLazy && !target.startsWith('node:')) loaded.add(target);
  assert.deepEqual(Array.from(loaded).sort(), OF_GUARDIAN);
});

test('the environment is read only in src/config', () => {
  const readers = files.filter(
    ({ file, source }) => !file.startsWith('src/config/') && /\bprocess\.env\b/.test(source)
  );
  assert.deepEqual(
    readers.map(({ file }) => file),
    []
  );
});

test("the program's place on disk, and that it may be one file, are known in one room", () => {
  const knowing = files.filter(({ source }) => /\bimport\.meta\.|\bnode:sea\b/.test(source)).map(({ file }) => file);
  assert.deepEqual(knowing.sort(), ['src/process/program.ts', 'src/process/self.ts']);
});

test('encoder, decoder and indexer read the text of an action by one module', () => {
  const splits = /\.split\('[|;]'\)/;
  // It knows a FILE by the module, and then edits its fields as they were written.
  const own = ['src/encoder/creation/file-compression.ts'];
  const others = files.filter(
    ({ file, source }) => /^src\/(?:encoder|decoder)\//.test(file) && splits.test(source) && !own.includes(file)
  );
  assert.deepEqual(
    others.map(({ file }) => file),
    []
  );
  for (const room of ['encoder', 'decoder', 'indexer'])
    assert.ok(
      files.some(({ file, source }) => file.startsWith(`src/${room}/`) && source.includes("coin/action/command.ts'")),
      room
    );
});

test('nothing is compressed synchronously outside workers', () => {
  const blockers = files.filter(
    ({ file, source }) =>
      !file.startsWith('workers/') && /\b(?:gzip|gunzip|deflate|inflate|brotli|zstd|unzip)\w*Sync\b/i.test(source)
  );
  assert.deepEqual(
    blockers.map(({ file }) => file),
    []
  );
});

test('properties are written as they are, not spread from an object of the same place', () => {
  const spread = files.filter(({ source }) => /\.\.\.\{ *\w/.test(source)).map(({ file }) => file);
  assert.deepEqual(spread, []);
});

/** Files that spread a list into a call, with what bounds the list. */
const SHORT_LISTS: Readonly<Record<string, string>> = {
  'src/cli/commands/doctor.ts': 'the findings of one service',
  'src/cli/commands/doctor/examine.ts': 'the findings of one database or directory',
  'src/cli/help.ts': 'the commands, and their options',
  'src/cli/commands/status.ts': 'the heights that one service tells',
  'src/coin/script/address.ts': 'a hash of 20 or 32 bytes',
  'src/config/describe.ts': 'the variables of a service',
  'src/config/nearest.ts': 'the letters of a name of a variable',
  'src/config/services/sync.ts': 'the faults of one setting',
  'src/decoder/dispensers/action.ts': 'the dispensers of one action',
  'src/encoder/coins/coins.ts': 'the calls of one batch',
  'src/explorer/live/channel-news.ts': 'the last reorgs',
  'src/explorer/read/replicas.ts': 'the databases of a network that are set',
  'src/hub/federation/consensus/state.ts': 'one vote of each hub of a set',
  'src/hub/oracle/judge.ts': 'the sources of a price',
  'src/indexer/store/markets/market-rows.ts': 'the pairs of one statement',
  'src/indexer/store/markets/markets.ts': 'the blocks of a group',
  'src/indexer/store/sanity.ts': 'the tickers of one statement',
  'src/indexer/trial/trial.ts': 'the commands of one action',
  'src/replication/replica/parts/replica.ts': 'the sources that are set',
  'src/replication/replica/parts/source-set.ts': 'the sources that are set',
  'src/replication/snapshot/artifact-store.ts': 'the snapshots that are built at once',
  'src/replication/source/reading/database-mark.ts': 'the last blocks',
  'src/replication/source/reading/older-changes.ts': 'the last reorgs',
  'src/service/ingress/work-budget.ts': 'an address and its network'
};

test('no list of unknown length is spread into a call, which 100,000 values on the stack would end', () => {
  const spreading = files.flatMap(({ file, source }) => spreadCallsOf(source).map((call) => ({ file, ...call })));
  assert.deepEqual(
    spreading.filter(({ file }) => !(file in SHORT_LISTS)).map(({ file, line, text }) => `${file}:${line} ${text}`),
    [],
    'add its values one by one'
  );
  const kept = new Set(spreading.map(({ file }) => file));
  assert.deepEqual(
    Object.keys(SHORT_LISTS).filter((file) => !kept.has(file)),
    []
  );
  const [refused, free] = [
    [
      'a.push(...rows)',
      'Math.max(0, ...of(rows))',
      'a.splice(0, 1,\n ...rows)',
      'a.push<Row>(...rows)',
      'a.unshift(...[...rows])'
    ],
    [
      'a = [...rows]',
      'a.push([...rows])',
      'a.push({ ...row })',
      "log('push(...rows)')",
      '// push(...rows)',
      'push = (...rows: Row[]) => 1'
    ]
  ];
  for (const source of refused) assert.equal(spreadCallsOf(source).length, 1, source);
  for (const source of free) assert.equal(spreadCallsOf(source).length, 0, source);
});

test('no schema is a record by pattern, which leaves values under names with a line break unchecked', () => {
  const patterned = files.filter(({ source }) => /\bType\.Record\(/.test(source)).map(({ file }) => file);
  assert.deepEqual(patterned, [], 'ByName in src/wire/by-name.ts checks every name');
});

test('a property has the same cases in every run', () => {
  const unseeded = globSync('{test,lab}/**/*.ts', {
    exclude: ['{test,lab}/fuzz/**', 'test/support/fast-check.ts']
  }).filter((file) => /^import .*'fast-check'/m.test(readFileSync(file, 'utf8')));
  assert.deepEqual(unseeded, [], 'test/support/fast-check.ts seeds it');
});

test('the rule catches what it is for, types too', () => {
  const seeded: readonly [file: string, source: string, refused: boolean][] = [
    ['machines/runtime/halt.ts', "import { createPool } from 'mysql2/promise';", true],
    [
      'src/sync/routes/status.ts',
      "import { ActorHandle } from '../../../actors/runtime/supervision/actor-handle.ts';",
      true
    ],
    [
      'src/sync/routes/status.ts',
      "import type { ActorHandle } from '../../../actors/runtime/supervision/actor-handle.ts';",
      true
    ],
    ['src/sync/http/deps.ts', "import type { SourceAsks } from '../../replication/protocol.ts';", false],
    ['src/sync/http/deps.ts', "import { SourceAsks } from '../../replication/protocol.ts';", true],
    ['src/db/connection.ts', "import {\n  a,\n  b\n} from '../../actors/runtime/supervision/ring.ts';", true],
    [
      'src/db/row-stream.ts',
      "import type { SnapshotPlan } from '../replication/source/reading/snapshot-plan.ts';",
      true
    ],
    ['src/replication/replica/database/state.ts', "import { compare } from '../compare/digest-compare.ts';", true],
    ['workers/sync/snapshot.ts', "import fastify from 'fastify';", true],
    ['src/verify/side.ts', "export { connect } from '../db/connection.ts';", true],
    [
      'src/wire/data/block.ts',
      "export type { GroupBlock } from '../../replication/source/reading/group-block.ts';",
      true
    ],
    ['src/coin/rows.ts', "import '../db/connection.ts';", true],
    ['src/sync/start.ts', "const { run } = await import('../cli/service-command.ts');", true],
    ['actors/source/actor.ts', "import { Supervisor } from '../runtime/supervision/supervisor.ts';", true],
    ['web/live.ts', "import { FanOut } from '../src/sync/fan-out/fan-out.ts';", true],
    ['src/nowhere/file.ts', '', true],
    ['src/hub/start.ts', "import { Supervisor } from '../../actors/runtime/supervision/supervisor.ts';", false]
  ];
  for (const [file, source, refused] of seeded) {
    assert.equal(forbiddenImports(file, source).length > 0, refused, `${file}: ${source}`);
  }
  assert.deepEqual(cyclesOf(new Map(Object.entries({ a: ['b'], b: ['c', 'd'], c: [], d: ['a'] }))), ['a → b → d → a']);
});

test('the tests of each planted fault are there', () => {
  const missing = globSync('lab/mutants/*.patch').flatMap((path) => {
    const [, tests = ''] = /^Tests: (.+)$/m.exec(readFileSync(path, 'utf8')) ?? [];
    return tests.split(' ').filter((word) => /\.ts$/.test(word) && globSync(word).length === 0);
  });
  assert.deepEqual(missing, []);
});

test('each planted fault still fits the lines that it changes', () => {
  const unfit = globSync('lab/mutants/*.patch').flatMap((path) => {
    const parts = readFileSync(path, 'utf8')
      .split(/^--- .*\n(?=\+\+\+ )/m)
      .slice(1);
    return parts.flatMap((part) => {
      const [head = '', ...hunks] = part.split(/^@@.*\n/m);
      const file = head.replace(/^\+\+\+ b\//, '').split(/[\t\n]/, 1)[0]!;
      const source = readFileSync(file, 'utf8');
      const before = hunks.map((hunk) => {
        const lines = hunk.split('\n').filter((line) => /^[ -]/.test(line) && !/^--- /.test(line));
        return lines.map((line) => line.slice(1)).join('\n');
      });
      return before.every((text) => source.includes(text)) ? [] : [`${path}: ${file}`];
    });
  });
  assert.deepEqual(unfit, []);
});

test('every file that npm test leaves out is there, and each room of tests has files that it runs', () => {
  const all = otherFiles();
  assert.deepEqual(
    Array.from(REST_FILES).filter((file) => !all.includes(file)),
    []
  );
  const roomsOf = (files: readonly string[]) => new Set(files.map((file) => posix.dirname(file)));
  const quick = roomsOf(filesOf('quick', all));
  assert.deepEqual(
    Array.from(roomsOf(all)).filter((room) => !quick.has(room)),
    []
  );
});
