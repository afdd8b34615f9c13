import { setTimeout as sleep } from 'node:timers/promises';
import { NodeRpc } from '../../src/coin/node/node-rpc.ts';
import { killActor } from '../../src/devnet/kill-actor.ts';
import { settle } from '../../src/devnet/once.ts';
import type { Platform } from '../../src/devnet/platform.ts';
import { readPlatformState, stateLine } from '../../src/devnet/platform-state.ts';
import { fundWallet, mineRound, planRounds } from '../../src/devnet/processes/miner.ts';
import { DEVNET, type DevnetSettings, devnetDatabase } from '../../src/devnet/settings.ts';
import { compareReplicas } from '../../src/devnet/summary.ts';
import { Arena } from './arena.ts';
import type { Attack } from './attack.ts';
import { ATTACKS } from './attacks/all.ts';
import { Beside } from './beside.ts';
import { replaceTooMany } from './deep.ts';
import { compareWithFresh } from './fresh.ts';
import { decodeWithHops } from './hops.ts';

export interface HostileOptions {
  readonly attacks: readonly Attack[];
  /** Height to mine to, at least; more where attacks take longer. */
  readonly blocks: number;
  /** One attack begins in every so many blocks. */
  readonly pace: number;
  /** The longest that a block may take into the ledger, whatever it holds, and whoever was killed, in milliseconds. */
  readonly stallMs: number;
  readonly signal: AbortSignal;
}

export interface HostileReport {
  readonly blocks: number;
  readonly attacks: number;
  readonly reorgs: number;
  /** One line for each attack that had an effect, and for each comparison that failed. */
  readonly faults: readonly string[];
  /** The longest that a block took from the node into the ledger, in milliseconds. */
  readonly slowestMs: number;
}

const LOOK_MS = 50;
const REORG_EVERY = 25;
const KILL_EVERY = 40;

/** An attack under way. */
interface Playing {
  readonly name: string;
  readonly steps: AsyncGenerator<void, () => Promise<void>>;
}

/** Mines blocks with everything that attacks and an ordinary wallet send, and compares in the end. */
export async function runHostile(
  platform: Platform,
  settings: DevnetSettings,
  { attacks, blocks, pace, stallMs, signal }: HostileOptions
): Promise<HostileReport> {
  const { node, coin } = platform;
  const { tell, seed, ports } = settings;
  const local = (port: number) => `http://127.0.0.1:${port}/`;
  const rpc = new NodeRpc({ url: `http://127.0.0.1:${coin.port}`, user: coin.user, password: coin.password });
  const look = () => readPlatformState(platform.watched);
  const doors = {
    explorer: `http://127.0.0.1:${ports.explorer}`,
    hub: local(ports.hub),
    tracker: local(ports.tracker),
    encoder: local(ports.encoder),
    indexer: { url: local(ports.indexer) }
  };
  const beside = new Beside(platform, settings, signal);
  const replaced = async () => (await look()).replaced ?? Number.NaN;
  const arena = new Arena({ rpc, doors, replaced, beside, database: platform.database });
  const rounds = planRounds(seed, await fundWallet(node));
  const waiting = [...attacks];
  const playing: Playing[] = [];
  const faults: string[] = [];
  const verdicts: { readonly name: string; readonly judge: () => Promise<void> }[] = [];
  let [slowestMs, reorgs] = [0, 0];

  for (let mined = 1; (await node.getHeight()) < blocks || playing.length + waiting.length > 0; mined++) {
    signal.throwIfAborted();
    if (mined % pace === 0 && waiting.length > 0) {
      const { name, play } = waiting.shift()!;
      playing.push({ name, steps: play(arena) });
    }
    for (const each of [...playing]) await advance(each);
    await mineRound(node, rounds.next().value, tell);
    if (mined % REORG_EVERY === 0) await rival(rpc, 1 + ((mined / REORG_EVERY) % 6));
    if (mined % REORG_EVERY === 0) reorgs += 1;
    if (mined % KILL_EVERY === 0) await killActor(platform.indexer, INDEXER, signal);
    if (mined % KILL_EVERY === KILL_EVERY / 2) await killActor(platform.client, devnetDatabase('indexer'), signal);
    slowestMs = Math.max(slowestMs, await waitForLedger());
  }
  await settle(platform, tell, signal);
  for (const { name, judge } of verdicts)
    try {
      await judge();
    } catch (caught) {
      faults.push(`${name}: ${(caught as Error).message}`);
    }
  for (const { dbType, differences } of await compareReplicas(platform.database))
    faults.push(...differences.map((difference) => `replica of ${dbType}: ${difference}`));
  await beside.stop();
  faults.push(...(await compareWithFresh(platform, beside, signal)));
  faults.push(...(await decodeWithHops(platform, beside, arena.payloadIds, signal)));
  const height = await node.getHeight();
  // A chain of some attacks alone may lack the dispenser that a decoder would have to know again.
  if (attacks.length === ATTACKS.length)
    faults.push(
      ...(await replaceTooMany(platform, rpc, beside, signal).catch((caught: Error) => [
        `a deep reorg: not carried out: ${caught.message}`
      ]))
    );
  await rpc.close();
  return { blocks: height, attacks: attacks.length, reorgs, faults, slowestMs };

  /** One step of an attack; the last one gives its verdict. */
  async function advance(attack: Playing): Promise<void> {
    try {
      const { done, value } = await attack.steps.next();
      if (done) verdicts.push({ name: attack.name, judge: value });
      if (!done) return;
    } catch (caught) {
      faults.push(`${attack.name}: not carried out: ${(caught as Error).message}`);
    }
    playing.splice(playing.indexOf(attack), 1);
  }

  /** @returns milliseconds */
  async function waitForLedger(): Promise<number> {
    const startedAt = performance.now();
    const height = await node.getHeight();
    for (;;) {
      const state = await look();
      const took = performance.now() - startedAt;
      if (state.indexer === height && state.decoder === height) return took;
      if (took > stallMs)
        throw new Error(`block ${height} is not in the ledger after ${stallMs / 1000} s: ${stateLine(state)}`);
      await sleep(LOOK_MS, undefined, { signal });
    }
  }
}

const INDEXER = { kind: 'indexer', chain: DEVNET.chain, network: DEVNET.network } as const;

/** Replaces blocks by rival ones with the same transactions in the same order, and one more. */
async function rival(rpc: NodeRpc, depth: number): Promise<void> {
  const top = Number(await rpc.call('getblockcount'));
  const blocks: string[][] = [];
  for (let height = top - depth + 1; height <= top; height++) {
    const block = await rpc.call('getblock', [await rpc.call('getblockhash', [height]), 2]);
    blocks.push((block as { tx: readonly { hex: string }[] }).tx.slice(1).map(({ hex }) => hex));
  }
  await rpc.call('invalidateblock', [await rpc.call('getblockhash', [top - depth + 1])]);
  const address = await rpc.call('getnewaddress', ['', 'bech32']);
  for (const transactions of [...blocks, []]) await rpc.call('generateblock', [address, transactions]);
}
