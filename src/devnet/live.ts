import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode } from '../errors.ts';
import type { Platform } from './platform.ts';
import { readPlatformState, stateLine } from './platform-state.ts';
import { fundWallet, type MinedNode, mineRound, planRounds, type Round } from './processes/miner.ts';
import type { DevnetSettings } from './settings.ts';

/** Pace of a devnet that runs until it is stopped. */
interface LivePace {
  /** Mean milliseconds between blocks. */
  readonly blockIntervalMs: number;
  /** Whether the devnet adds payments and reorgs; otherwise blocks hold only what callers send. */
  readonly isBusy: boolean;
}

const STATUS_INTERVAL_MS = 5_000;

/** Mines and reports until the signal. Never ends by itself. */
export async function runLive(
  platform: Platform,
  settings: DevnetSettings,
  pace: LivePace,
  signal: AbortSignal
): Promise<void> {
  await Promise.all([mine(platform, settings, pace, signal), report(platform, settings, signal)]);
}

/**
 * Mines round after round. A refusal of the node ends nothing, because callers may ask the miner for anything; the
 * death of the miner's process ends the devnet.
 *
 * The plan begins anew at each start. The height in its seed makes two starts differ.
 */
async function mine(
  { node }: Platform,
  { seed, tell }: DevnetSettings,
  { blockIntervalMs, isBusy }: LivePace,
  signal: AbortSignal
): Promise<void> {
  const accounts = await fundWallet(node);
  for (const round of planRounds(`${seed} ${await node.getHeight()}`, accounts)) {
    await sleep(blockIntervalMs * round.pause, undefined, { signal });
    try {
      await play(node, isBusy ? round : { ...round, ...QUIET }, tell);
    } catch (caught) {
      if (!hasCode(caught, 'NODE_REFUSED') && !hasCode(caught, 'NODE_UNREACHABLE')) throw caught;
      tell(`no block this time: ${caught.message}`);
    }
  }
}

const QUIET = { payments: [], reorgDepth: 0 } as const;

async function play(node: MinedNode, round: Round, tell: DevnetSettings['tell']): Promise<void> {
  if (round.reorgDepth > 0) {
    tell(`reorg of depth ${round.reorgDepth} at height ${await node.getHeight()}`);
    await node.reorg(round.reorgDepth);
  }
  await mineRound(node, round, tell);
}

async function report({ watched }: Platform, { tell }: DevnetSettings, signal: AbortSignal): Promise<void> {
  for (;;) {
    await sleep(STATUS_INTERVAL_MS, undefined, { signal });
    tell(stateLine(await readPlatformState(watched)));
  }
}
