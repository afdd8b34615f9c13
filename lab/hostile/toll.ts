import { addressOf } from '../../src/coin/script/address.ts';
import { hash160, payTo } from '../../src/coin/script/pay-scripts.ts';
import { DEVNET } from '../../src/devnet/settings.ts';

/** Address of the protocol's fees. */
export const TOLL = addressOf(
  payTo({ kind: 'witnessKeyHash', bytes: hash160(Buffer.from('the toll')) }),
  DEVNET.addresses
)!;
