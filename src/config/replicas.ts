/** A further copy of a network's databases. What is undefined is as at the first one. */
interface ReplicaPlace {
  /** As it is set. */
  readonly entry: string;
  readonly host: string;
  readonly port: number | undefined;
  /** Names of its databases. */
  readonly indexer: string | undefined;
  readonly decoder: string | undefined;
}

const SHAPE = 'must be host[:port][/indexer database[/decoder database]], such as db2.example.org:3306';
/** The host may be an IPv6 address in brackets. */
const PLACE =
  /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:/@[\]]+))(?::(\d{1,5}))?(?:\/([A-Za-z0-9_]{1,64})(?:\/([A-Za-z0-9_]{1,64}))?)?$/;

/** Reads the place of a copy. @throws {Error} whose message is the reason */
export function readReplicaPlace(entry: string): ReplicaPlace {
  const [, bracketed, plain, digits, indexer, decoder] = PLACE.exec(entry) ?? [];
  const host = bracketed ?? plain;
  const port = digits === undefined ? undefined : Number(digits);
  if (host === undefined || port === 0 || (port ?? 0) > 65_535) throw new Error(SHAPE);
  return { entry, host, port, indexer, decoder };
}
