import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type, { type Static } from 'typebox';
import { ACTIONS } from '../coin/action/names.ts';
import { CHAIN_NETWORKS, type Chain, type ChainNetwork } from '../coin/chains.ts';
import { activationHeight, type Profile } from '../coin/profile.ts';
import type { AddressReader } from '../service/callers/address.ts';
import { createLimit } from '../service/callers/limits.ts';

interface RegistryDeps {
  readonly profile: Profile;
  readonly addressOf: AddressReader;
  readonly requestsPerMinute: number;
}

const Place = Type.Object({
  defaultUrl: Type.String({ description: 'empty: ask the operator' }),
  defaultPort: Type.Integer()
});
const DescriptorSchema = Type.Object({
  id: Type.String({ description: '`bitcoin-mainnet`' }),
  coin: Type.String({ description: 'the public code, such as TBTC' }),
  displayName: Type.String(),
  networkKind: Type.String(),
  color: Type.String(),
  icon: Type.String(),
  addressTypes: Type.Array(Type.String()),
  defaultAddressType: Type.String(),
  derivationPaths: Type.Partial(
    Type.Object({ p2pkh: Type.String(), 'p2sh-p2wpkh': Type.String(), p2wpkh: Type.String(), p2tr: Type.String() })
  ),
  feeStrategy: Type.Object({
    unit: Type.String(),
    supportedStrategies: Type.Array(Type.String()),
    defaultStrategy: Type.String(),
    rbfSupported: Type.Boolean()
  }),
  supportedActions: Type.Array(Type.String()),
  uriScheme: Type.String(),
  wifVersionByte: Type.Integer(),
  adsDonationAddress: Type.String({ description: 'empty: there is none' }),
  adsDefaults: Type.Object({ perTxAmountSats: Type.Integer(), triggerAmountSats: Type.Integer() }),
  explorer: Place,
  encoder: Place,
  hub: Place
});
const RegistrySchema = Type.Object({
  schema_version: Type.Integer(),
  generatedAt: Type.String(),
  descriptors: Type.Array(DescriptorSchema)
});

/** @see SLIP-44, which has one number for all test networks */
const COIN_TYPES: Readonly<Record<Chain, number>> = { bitcoin: 0, litecoin: 2, dogecoin: 3 };
const TEST_COIN_TYPE = 1;
/** @see BIP 44, BIP 49, BIP 84, BIP 86 */
const PURPOSES = { p2pkh: 44, 'p2sh-p2wpkh': 49, p2wpkh: 84, p2tr: 86 } as const;
const PORTS = { explorer: 8080, encoder: 3003, hub: 10_000 } as const;
const NO_ADS = { adsDonationAddress: '', adsDefaults: { perTxAmountSats: 0, triggerAmountSats: 0 } } as const;

/** `GET /api/v1/chain-registry`: what wallets in use ask a hub of each network before they make addresses. */
export const chainRegistryRoute: FastifyPluginAsyncTypebox<RegistryDeps> = async (app, deps) => {
  const descriptors = CHAIN_NETWORKS.map((network) => describe(network, deps.profile));
  const generatedAt = new Date().toISOString();
  createLimit(app, {
    name: 'chain-registry',
    max: deps.requestsPerMinute,
    windowMs: 60_000,
    addressOf: deps.addressOf
  }).guard(app);
  app.get(
    '/api/v1/chain-registry',
    {
      config: {
        open: true,
        doc: { tag: 'State', summary: 'What a wallet needs to know of each network', statuses: [429] }
      },
      schema: { response: { 200: RegistrySchema } }
    },
    async () => ({ schema_version: 1, generatedAt, descriptors })
  );
};

function describe(network: ChainNetwork, profile: Profile): Static<typeof DescriptorSchema> {
  const { chain, name, code, addresses, replacesByDefault } = network;
  const coinType = network.network === 'mainnet' ? COIN_TYPES[chain] : TEST_COIN_TYPE;
  const addressTypes = (Object.keys(PURPOSES) as (keyof typeof PURPOSES)[]).filter(
    (type) => type === 'p2pkh' || (type === 'p2tr' ? network.taprootHeight : network.segwitHeight) !== null
  );
  const place = (service: keyof typeof PORTS) => ({ defaultUrl: '', defaultPort: PORTS[service] });
  return {
    id: name,
    coin: code,
    networkKind: network.network,
    color: '',
    icon: '',
    displayName: `${chain[0]!.toUpperCase()}${chain.slice(1)}`,
    addressTypes,
    defaultAddressType: addressTypes.includes('p2wpkh') ? 'p2wpkh' : 'p2pkh',
    derivationPaths: Object.fromEntries(addressTypes.map((type) => [type, `m/${PURPOSES[type]}'/${coinType}'/0'/0/0`])),
    feeStrategy: {
      unit: 'sat/vB',
      supportedStrategies: ['low', 'medium', 'high'],
      defaultStrategy: 'medium',
      rbfSupported: replacesByDefault
    },
    supportedActions: [...ACTIONS]
      .filter((action) => Number.isFinite(activationHeight(profile, network, action)))
      .sort(),
    uriScheme: chain,
    wifVersionByte: addresses.wif,
    ...NO_ADS,
    explorer: place('explorer'),
    encoder: place('encoder'),
    hub: place('hub')
  };
}
