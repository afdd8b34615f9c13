import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { AjvCompiler } from '@fastify/ajv-compiler';
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler';
import { ChunkWriter } from '../../src/replication/snapshot/chunk-writer.ts';
import { SharedBlocks } from '../../src/replication/snapshot/shared-blocks.ts';
import { ClientLimiter } from '../../src/service/ingress/client-limiter.ts';
import { ingress } from '../../src/service/ingress/ingress.ts';
import { lazyCompilers } from '../../src/service/schema/compilers.ts';
import { encodeMessage, infraOnly } from '../../src/wire/data/block.ts';
import type { BlockMessage } from '../../src/wire/data/messages.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { runProgram } from '../../test/support/program.ts';
import { INDEXER, openFrontDoor } from '../../test/support/sync/front-door.ts';
import { alternate, type Figure, report } from './support/figures.ts';
import { chooseParts } from './support/parts.ts';

const RUNS = 7;
const MIB = 2 ** 20;

/** CPU milliseconds of this process, all threads. */
async function cpu(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

async function inCpu(
  what: string,
  most: number,
  own: () => unknown,
  other: () => unknown,
  runs = RUNS
): Promise<Figure[]> {
  await own();
  await other();
  const both = await alternate(
    runs,
    () => cpu(own),
    () => cpu(other)
  );
  return [{ what, ...both, unit: 'ms', compare: 'times', most, aim: most / 2 }];
}

/** A front door made with the compilers of this program, and with those of Fastify, which compile at once. */
function schemas(): Promise<Figure[]> {
  const make = async () => void (await (await openFrontDoor()).app.ready());
  const lazy = { ...lazyCompilers };
  const eager = async () => {
    Object.assign(lazyCompilers, { buildValidator: AjvCompiler(), buildSerializer: SerializerSelector() });
    await make().finally(() => Object.assign(lazyCompilers, lazy));
  };
  return inCpu('CPU of a front door until it is ready, against schemas compiled at once', 0.7, make, eager);
}

/** 256 MiB of text through a writer whose sink gives memory back, and through one whose sink keeps it. */
function chunks(): Promise<Figure[]> {
  const row = 'x'.repeat(100);
  const write = async (sink: () => Promise<void>) => {
    const writer = new ChunkWriter(sink);
    for (let bytes = 0; bytes < 256 * MIB; bytes += row.length) {
      writer.text(row);
      if (writer.flushWhenFull()) await nextTurn();
    }
  };
  return inCpu(
    'CPU of 256 MiB in chunks, against fresh memory for each',
    0.9,
    () => write(async () => undefined),
    () => write(() => new Promise(() => undefined))
  );
}

/** 32 readers of a file of 64 MiB, each at another place. */
async function blocks(): Promise<Figure[]> {
  const directory = mkdtempSync(join(tmpdir(), 'platform-bench-'));
  const path = join(directory, 'file');
  const size = 64 * MIB;
  writeFileSync(path, Buffer.alloc(size, 7));
  const read = async (shared: SharedBlocks | null, file: FileHandle, start: number) => {
    for (let position = start; position < size; ) {
      if (shared) {
        const { bytes, release } = await shared.take(position, size - position);
        position += bytes.length;
        release();
      } else position += (await file.read(Buffer.allocUnsafeSlow(224 * 1024), 0, 224 * 1024, position)).bytesRead;
      await nextTurn();
    }
  };
  const all = async (isShared: boolean) => {
    const file = await open(path, 'r');
    const shared = isShared ? new SharedBlocks(async () => file) : null;
    await Promise.all(Array.from({ length: 32 }, (_, reader) => read(shared, file, reader * MIB)));
    await file.close();
  };
  try {
    const what = 'CPU of 32 readers of 64 MiB, against fresh memory for each block';
    return await inCpu(
      what,
      0.9,
      () => all(true),
      () => all(false)
    );
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Encoding a block of 200 rows in tables that infra-only subscribers do not get, and of ten that they do. */
function infra(): Promise<Figure[]> {
  const rows = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ id: index, block_index: 8, memo: `${index}`.padStart(60, 'm') }));
  const data = { actions: rows(100), credits: rows(100), blocks: rows(1), index_transactions: rows(9) };
  const hashes = { ledger_hash: 'a'.repeat(64), actions_hash: 'b'.repeat(64), contract_hash: null };
  const message = { type: 'block', ...INDEXER, block_index: 8, ...hashes, data } as unknown as BlockMessage;
  const times = (work: () => unknown) => () => {
    for (let n = 0; n < 2_000; n++) work();
  };
  const what = 'CPU of 2000 messages for infra-only subscribers, against those for all others';
  return inCpu(
    what,
    0.3,
    times(() => encodeMessage(infraOnly(message))),
    times(() => encodeMessage(message))
  );
}

/** Measures the longest turn of the event loop. @returns milliseconds */
async function longestTurn(overMs: number): Promise<number> {
  let longest = 0;
  let last = performance.now();
  for (const end = last + overMs; last < end; ) {
    await nextTurn();
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  }
  return longest;
}

/** Measures the time without a turn while 100 connections send 64 KiB of one-byte chunks at once. */
async function slices(): Promise<Figure[]> {
  const requestText = `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(10_900)}`;
  const stall = async (server: Server) => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const sockets = Array.from({ length: 100 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
    await sleep(300);
    for (const socket of sockets) socket.write(requestText);
    const longest = await longestTurn(1_500);
    for (const socket of sockets) socket.destroy();
    server.close();
    return longest;
  };
  const handler = (request: { resume(): unknown }) => void request.resume();
  const clientLimiter = () => new ClientLimiter({ maxPerAddress: 1_000, addressOf: () => undefined });
  const ownIngress = () => ingress({ clientLimiter: clientLimiter(), withCode: false });
  const both = await alternate(
    RUNS,
    () => stall(ownIngress().serverFactory!(handler as never, {}) as Server),
    () => stall(createServer(handler))
  );
  const what = 'longest turn while 100 connections send 64 KiB in chunks of a byte, against a plain server of Node';
  return [{ what, ...both, unit: 'ms', compare: 'times', most: 0.3, aim: 0.1 }];
}

const PARTS = { schemas, chunks, blocks, infra, slices };

const { json, parts } = readArguments(
  `npm run bench -- choices [--only ${Object.keys(PARTS).join()}] [--json FILE]`,
  { json: { type: 'string' }, only: { type: 'string' } },
  ({ json, only }) => ({ json, parts: chooseParts(only, PARTS) })
);

await runProgram(async () => {
  const figures: Figure[] = [];
  for (const run of parts) figures.push(...(await run()));
  report('choices', figures, json);
});
