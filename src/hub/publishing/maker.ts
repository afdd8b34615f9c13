import type { HubConfig } from '../../config/services/hub.ts';
import { PublicationMaker } from './encoder.ts';
import { signWith } from './signer.ts';

/** Returns the means of a hub to publish rounds; null where its settings name none. */
export function publicationMaker(config: HubConfig): PublicationMaker | null {
  const { ORACLE_PUBLISH_ENCODER: encoder, ORACLE_PUBLISH_ADDRESS: address } = config;
  const { ORACLE_PUBLISH_KEY_COMMAND: command } = config;
  if (encoder === undefined || address === undefined || command === undefined) return null;
  return new PublicationMaker({
    encoder,
    apiKey: config.ORACLE_PUBLISH_ENCODER_KEY,
    address,
    mostCost: config.ORACLE_PUBLISH_MAX_COST,
    magic: config.PLATFORM_PROFILE.payloadMagic,
    sign: (psbt) => signWith(command, psbt)
  });
}
