/**
 * Returns the wider network of an address that is counted by 64 bits: the owner of a prefix has all addresses of it. A home line
 * has a /56 or a /48, a provider a /32.
 *
 * @param address as `createAddressReader` says it, such as `2001:db8:7:1::/64`; one of IPv4 is its own network
 */
export function prefixOf(address: string, bits: 48 | 32): string {
  if (!address.includes(':')) return address;
  return `${address.split(':', bits / 16).join(':')}::/${bits}`;
}
