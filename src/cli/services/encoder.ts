import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ChainNetwork } from '../../coin/chains.ts';
import { NodeChain } from '../../coin/node/node-chain.ts';
import { placeOf } from '../../config/service.ts';
import { type EncoderConfig, encoderChecks, encoderVariables, trackerUrlOf } from '../../config/services/encoder.ts';
import { createEncoderApp } from '../../encoder/app.ts';
import { type CoinTracker, NodeCoins } from '../../encoder/coins.ts';
import { NodePolicyReader } from '../../encoder/node-policy.ts';
import { Reservations } from '../../encoder/reservations.ts';
import { readTrackedCoins } from '../../encoder/tracker-coins.ts';
import { readTrackerHealth } from '../../encoder/tracker-health.ts';
import { hasCode } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { Command, Environment } from '../command.ts';
import { readOptions } from '../options.ts';
import { loadSettings } from '../settings.ts';
import { startAtNode } from './node-service.ts';
import { type RunningService, runService } from './run-service.ts';

/** `platform-node encoder`: builds transactions that carry actions, until a signal ends it. */
export const encoderCommand = {
  name: 'encoder',
  summary: 'builds unsigned transactions that carry actions, and broadcasts signed ones',
  variables: encoderVariables,
  checks: encoderChecks,

  async run(argv: readonly string[], env: Environment): Promise<number> {
    readOptions(argv, {});
    const loaded = await loadSettings(encoderCommand, env);
    return await runService('encoder', loaded, startEncoder);
  }
} satisfies Command<typeof encoderVariables>;

/** A caller waits for the answer. */
const NODE_RETRIES = 1;
const VERIFY_EVERY_MS = 5_000;

/** Sees while it serves that the node is one of its network. */
function startEncoder(config: EncoderConfig, log: Logger): Promise<RunningService> {
  const { PLATFORM_PROFILE: profile, PAYLOAD_MAGIC, DUST_AMOUNT, ENCODER_MAX_FEE_RATE } = config;
  const tracker = trackerOf(config);
  return startAtNode({
    name: 'encoder',
    config,
    log,
    place: placeOf(config, 'ENCODER'),
    retries: NODE_RETRIES,
    open: (parts) => {
      const { rpc, network } = parts;
      const app = createEncoderApp({
        ...parts,
        config,
        profile,
        magic: PAYLOAD_MAGIC ?? profile.payloadMagic,
        dustFloor: DUST_AMOUNT,
        mostFeeRate: BigInt(ENCODER_MAX_FEE_RATE) * 1000n,
        policy: new NodePolicyReader(rpc),
        coins: new NodeCoins(rpc, {
          coinbaseMaturity: network.coinbaseMaturity,
          hasExtensionBlocks: network.chain === 'litecoin',
          ...(tracker && { tracker })
        }),
        reservations: new Reservations({
          ttlMs: config.ENCODER_RESERVATION_MS,
          most: config.ENCODER_MAX_RESERVATIONS
        })
      });
      const run = async (signal: AbortSignal) => {
        await verifyNode(new NodeChain(rpc), network, log, signal);
        if (!signal.aborted) await once(signal, 'abort');
      };
      return { app, run };
    }
  });
}

/** The tracker that the settings name; undefined: none. */
function trackerOf(config: EncoderConfig): CoinTracker | undefined {
  const url = trackerUrlOf(config);
  if (url === undefined) return undefined;
  return {
    coins: (scriptHex, height) => readTrackedCoins(url, scriptHex, height),
    health: () => readTrackerHealth(url)
  };
}

/** Asks until the node answers. @throws {PlatformError} NODE_MISMATCH when it is one of another chain */
async function verifyNode(chain: NodeChain, network: ChainNetwork, log: Logger, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await chain.verify(network, signal);
      return;
    } catch (caught) {
      if (hasCode(caught, 'NODE_MISMATCH')) throw caught;
      if (!signal.aborted) log.warn({ err: caught }, 'the coin node cannot be used yet');
    }
    await sleep(VERIFY_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}
