import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { readConfigFile } from '../../../src/config/config-file.ts';
import { silentLogger } from '../../../src/log.ts';
import { Download } from '../../../src/replication/client/download.ts';
import { SourceClient } from '../../../src/replication/client/source-client.ts';
import { readHaltFile } from '../../../src/replication/replica/parts/halt-file.ts';
import { ResumePointStore } from '../../../src/sync/resume-point-store.ts';
import { openValidatorIdentity } from '../../../src/sync/validator-key.ts';
import type { DatabaseId } from '../../../src/wire/data/database.ts';
import { jsonLike, mutated } from '../support/hostile.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { outcome, target } from '../support/target.ts';

const ID: DatabaseId = { dbType: 'indexer', chain: 'bitcoin', network: 'regtest' };
const HASHES = { ledger_hash: 'aa', actions_hash: 'bb', contract_hash: null };
const RECENT = { height: 5, hashes: HASHES, older: { spans: { sends: [[2, 3]] }, lastIdsBefore: { sends: 4 } } };
const POINT = {
  height: 5,
  blockTime: 1,
  hashes: HASHES,
  recent: [RECENT],
  openGroup: null,
  lookupIds: { index_actions: 5 },
  watches: { t: { from: null, lastId: 3, shift: 6, sums: { '0': '3:99' }, pending: [[1, 2], null] } }
};
/** In a specimen, for the source's address. */
const ADDRESS = 'http://127.0.0.1:1';
const HEADERS = { 'x-block-height': '5', 'content-encoding': 'gzip', etag: '"abc"', 'content-length': '9' };

const open = async () => {
  const directory = mkdtempSync(join(tmpdir(), 'platform-fuzz-'));
  const peer = await RawPeer.open();
  peer.answer = Buffer.from('HTTP/1.1 503 x\r\ncontent-length: 0\r\n\r\n');
  return { directory, peer, source: new SourceClient(`http://127.0.0.1:${peer.port}`, undefined, ID) };
};
type Place = Awaited<ReturnType<typeof open>>;
let place: Promise<Place> | undefined;

interface Kept {
  readonly specimen: unknown;
  readonly file: string;
  /** @throws what is not allowed of what reads it */
  readonly read: (at: Place) => Promise<void>;
}

const FILES: Readonly<Record<string, Kept>> = {
  broadcasts: {
    specimen: { id: ID, point: POINT },
    file: 'indexer.bitcoin.regtest.json',
    read: async ({ directory }) => {
      const point = (await ResumePointStore.open(directory, silentLogger)).last(ID);
      if (point === null) return;
      assert.ok(Number.isSafeInteger(point.height));
      for (const { height, hashes, older } of point.recent) {
        assert.ok(Number.isSafeInteger(height) && Object.keys(hashes));
        for (const spans of Object.values(older?.spans ?? {})) assert.ok(Array.isArray(spans));
      }
      for (const list of [point.lookupIds, point.watches]) Object.keys(list);
    }
  },
  seed: {
    specimen: 'ab'.repeat(32),
    file: 'validator.seed',
    read: async ({ directory }) => {
      const settings = { SYNC_VALIDATOR_ID: undefined, SYNC_VALIDATOR_SEED: undefined, SYNC_STATE_DIR: directory };
      const found = await outcome(() => openValidatorIdentity(settings), ['STATE_UNUSABLE']);
      assert.ok('refused' in found || /^[0-9a-f]{64}$/.test(found.value.id));
    }
  },
  receipt: {
    specimen: { source: ADDRESS, path: '/snapshot/indexer/bitcoin/regtest', headers: HEADERS, complete: true },
    file: 'download.json',
    read: async ({ directory, source }) => {
      writeFileSync(join(directory, 'download'), 'some bytes');
      const found = await outcome(() => Download.open(source, join(directory, 'download')), ['SOURCE_REFUSED']);
      if ('value' in found) await found.value.discard();
    }
  },
  halt: {
    specimen: {
      block_index: 5,
      reason: 'hash-mismatch',
      mismatches: null,
      sources: [],
      detected_at: '2026-11-21T19:00:00.000Z'
    },
    file: 'halt.json',
    read: async ({ directory }) => {
      // A halt is never lost: what cannot be read is one.
      const halt = await readHaltFile(join(directory, 'halt.json'));
      assert.ok(typeof halt?.reason === 'string' && halt.reason !== '');
    }
  },
  config: {
    specimen: { SYNC_MODE: 'client', SYNC_SOURCES: ['http://a'] },
    file: 'config.json',
    read: async ({ directory }) => {
      const env = { PLATFORM_NODE_CONFIG: join(directory, 'config.json') };
      await outcome(() => readConfigFile(env), ['CONFIG_INVALID']);
    }
  }
};

interface Left {
  readonly kind: string;
  readonly bytes: Uint8Array;
}

/** Content that a disk, a hand or an earlier version left. */
const left = fc.constantFrom(...Object.keys(FILES)).chain((kind) => {
  const specimen = fc.constant(FILES[kind]!.specimen);
  const text = specimen.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
  const bytes = fc.oneof(
    jsonLike(specimen).map((json) => Buffer.from(json)),
    mutated(text.map((each) => Buffer.from(each)))
  );
  return bytes.map((found): Left => ({ kind, bytes: found }));
});

export const stateFiles = target<Left>({
  name: 'state-files',
  promise: 'a file that was kept is read, refused by name, or counts as absent, whatever became of it',
  runs: 1_500,
  shortRuns: 200,
  inputs: left,
  check: async ({ kind, bytes }) => {
    place ??= open();
    const at = await place;
    const path = join(at.directory, FILES[kind]!.file);
    const text = Buffer.from(bytes).toString('latin1').replace(ADDRESS, at.source.url);
    writeFileSync(path, text, 'latin1');
    await FILES[kind]!.read(at);
    rmSync(path, { force: true });
  },
  close: async () => {
    if (!place) return;
    const { directory, peer, source } = await place;
    place = undefined;
    await source.close();
    await peer.close();
    rmSync(directory, { recursive: true, force: true });
  }
});
