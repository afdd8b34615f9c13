import { NodeChain } from '../coin/node/node-chain.ts';
import { NodeWatch } from '../coin/node/node-watch.ts';
import { placeOf } from '../config/service.ts';
import { sentKeyOf, serviceUrlOf } from '../config/service-url.ts';
import type { EncoderConfig } from '../config/services/encoder.ts';
import { PlatformError } from '../errors.ts';
import type { RunningService, Start } from '../service/define.ts';
import { startAtNode } from '../service/life/at-node.ts';
import { createEncoderApp } from './app.ts';
import { type CoinTracker, NodeCoins } from './coins/coins.ts';
import { Reservations, reservationLimits } from './coins/reservations.ts';
import { NodePolicyReader } from './creation/node-policy.ts';
import { NODE_NEEDS } from './node-needs.ts';
import { readTrackedCoins } from './tracker/tracker-coins.ts';
import type { OwnNode, TrackerPlace } from './tracker/tracker-fault.ts';
import { TrackerWatch } from './tracker/tracker-watch.ts';

/** Further attempts of a call to the node: a caller waits for the result. */
const NODE_RETRIES = 1;

/** Starts the encoder. While it serves, it checks the node's network and requirements. */
export function startEncoder(config: EncoderConfig, { service, log, local }: Start): Promise<RunningService> {
  const { PLATFORM_PROFILE: profile, PAYLOAD_MAGIC, DUST_AMOUNT, ENCODER_MAX_FEE_RATE } = config;
  const trackerUrl = serviceUrlOf(config.UTXO_TRACKER_URL, config.UTXO_TRACKER_API_PORT);
  const apiKey = sentKeyOf('UTXO_TRACKER', config.UTXO_TRACKER_API_KEY, local);
  const trackerPlace = trackerUrl === undefined ? undefined : { url: trackerUrl, apiKey };
  return startAtNode({
    service,
    config,
    log,
    place: placeOf(config, 'ENCODER'),
    retries: NODE_RETRIES,
    open: (parts) => {
      const { rpc, network } = parts;
      const mostFeeRate = BigInt(ENCODER_MAX_FEE_RATE ?? network.usualMostRate) * 1000n;
      const chain = new NodeChain(rpc);
      const hashAt = (height: number) => chain.hashAt(height);
      const watching = new NodeWatch({
        chain,
        network,
        needs: { ...NODE_NEEDS, hasPeers: true, hasCoinScan: trackerPlace === undefined },
        silentMs: () => rpc.silentMs,
        onAlarm: (alarm) => {
          if (alarm)
            log.warn({ code: alarm.code, hint: alarm.remedy }, `the coin node cannot be used: ${alarm.reason}`);
          else log.info('the coin node can be used again');
        }
      });
      const tracked =
        trackerPlace === undefined
          ? undefined
          : new TrackerWatch(
              trackerPlace,
              () => (watching.tip ? { height: watching.tip.height, hashAt } : undefined),
              (fault) => {
                if (fault === undefined) log.info('the tracker can be used');
                else log.warn({ hint: new PlatformError('TRACKER_UNAVAILABLE', {}).hint }, `no coins: ${fault}`);
              }
            );
      const app = createEncoderApp({
        ...parts,
        config,
        seen: { node: watching, tracker: () => tracked?.health },
        profile,
        magic: PAYLOAD_MAGIC ?? profile.payloadMagic,
        dustFloor: DUST_AMOUNT,
        mostFeeRate,
        policy: new NodePolicyReader(rpc, network, mostFeeRate),
        coins: new NodeCoins(rpc, {
          coinbaseMaturity: network.coinbaseMaturity,
          hasExtensionBlocks: network.chain === 'litecoin',
          ...(trackerPlace && { tracker: trackerAt(trackerPlace, hashAt) })
        }),
        reservations: new Reservations(reservationLimits(config))
      });
      const run = async (signal: AbortSignal) => {
        await Promise.all([watching.run(signal), tracked?.run(signal)]);
      };
      return { app, run };
    }
  });
}

function trackerAt(place: TrackerPlace, hashAt: OwnNode['hashAt']): CoinTracker {
  return {
    coins: (scriptHex, height, charge) => readTrackedCoins(place, scriptHex, { height, hashAt }, charge)
  };
}
