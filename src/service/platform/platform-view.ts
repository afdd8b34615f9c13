import { arrowOf, type Pipeline, type PipelineNode } from '../../wire/state/pipeline.ts';
import type { ServiceLook } from '../../wire/state/service-look.ts';
import { blamed, networkIn, type PlatformRow } from './blame.ts';
import type { ToldService } from './other-services.ts';

/** The platform as one service and those that it asks know it. */
export interface PlatformView {
  /** From coin node to replica, one lane per network. */
  readonly pipeline: Pipeline;
  readonly rows: readonly PlatformRow[];
}

/** From upstream to downstream; then those beside the way of blocks. */
const ORDER = [
  'coin node',
  'decoder',
  'indexer',
  'sync server',
  'replica',
  'edge',
  'explorer',
  'tracker',
  'encoder',
  'miner',
  'hub'
];
const WAY = ORDER.slice(0, 5);
const SYNC_ROLES = ['sync server', 'replica', 'edge'];

/** A box of a service, with the service that told of it. */
interface Found {
  readonly reporter: ToldOrOwn;
  readonly node: PipelineNode;
}

type ToldOrOwn = Omit<ToldService, 'url'> & { readonly url: string | null };

/** Puts together what services say of themselves. @param own of the service that is asked */
export function platformView(own: ServiceLook, others: readonly ToldService[]): PlatformView {
  const all: ToldOrOwn[] = [
    { url: null, look: own, fault: null },
    ...others.filter(({ look }) => look?.instance !== own.instance)
  ];
  const found = all.flatMap((reporter) => boxesOf(reporter).map((node): Found => ({ reporter, node })));
  const silent = all.filter(({ look }) => look === null);
  const rows = [...found].sort((a, b) => placeOf(a) - placeOf(b) || textOf(a).localeCompare(textOf(b))).map(rowOf);
  return { pipeline: wayOf(found), rows: [...blamed(rows), ...silent.map(silentRow)] };
}

/** Returns the boxes that are the service itself; its decoder brings the coin node. */
function boxesOf({ look, fault }: ToldOrOwn): PipelineNode[] {
  if (!look) return [];
  const roles = look.service === 'sync' ? SYNC_ROLES : [look.service];
  const own = look.pipeline.nodes.filter(({ role }) => roles.includes(role));
  if (fault === null) return look.service === 'decoder' ? [...coinNodesOf(look), ...own] : own;
  return own.map((node) => ({ ...node, state: 'failed', doing: 'does not answer', reason: fault }));
}

const coinNodesOf = ({ pipeline }: ServiceLook) => pipeline.nodes.filter(({ role }) => role === 'coin node');
const placeOf = ({ node }: Found) => (ORDER.indexOf(node.role) + ORDER.length + 1) % (ORDER.length + 1);
const textOf = ({ node }: Found) => `${node.lane ?? ''} ${node.name}`;

function rowOf({ reporter, node }: Found): PlatformRow {
  const { url, look } = reporter;
  const { role, lane, state, doing, height, reason } = node;
  const arriving = look?.pipeline.edges.filter(({ to }) => to === node.id) ?? [];
  const lag = arriving.find((edge) => edge.lag !== null)?.lag ?? null;
  const served = look?.pipeline.nodes.find((each) => each.role === 'subscribers' && each.lane === lane);
  const subscribers = SYNC_ROLES.includes(role) ? (served?.count ?? null) : null;
  const row = { service: role, lane: lane && worksFor(role, lane), state, doing, height, lag, reason, subscribers };
  if (role === 'coin node') return { ...row, isSelf: false, url: null, version: null };
  return { ...row, isSelf: url === null, url: url && url + look!.console, version: look!.version };
}

/** Returns the place that a box works for: of sync a database, `indexer/litecoin/regtest`; of all others a network, `litecoin/regtest`. */
function worksFor(role: string, lane: string): string {
  return SYNC_ROLES.includes(role) ? lane : networkIn(lane);
}

function silentRow({ url, fault }: ToldOrOwn): PlatformRow {
  const nothing = { service: null, version: null, lane: null, height: null, lag: null, subscribers: null };
  const state = fault === null ? 'unknown' : 'failed';
  return {
    ...nothing,
    isSelf: false,
    url,
    state,
    doing: fault === null ? 'not heard of yet' : 'does not answer',
    reason: fault
  };
}

/** Returns one box of each kind that a network has, joined in the order of the blocks. */
function wayOf(found: readonly Found[]): Pipeline {
  const networks = [...new Set(found.flatMap(({ node }) => networkOf(node) ?? []))].sort();
  const lanes = networks.map((network) => {
    const boxes = WAY.flatMap((role) => {
      const first = found.find(({ node }) => node.role === role && networkOf(node) === network);
      return first ? [boxOn(network, first)] : [];
    });
    const arrows = boxes.slice(1).map((box, at) => arrowOf(boxes[at]!, box, box, box.height));
    return { boxes, arrows };
  });
  const drawn = lanes.filter(({ arrows }) => arrows.length > 1); // else a lane of the service itself says it
  return { nodes: drawn.flatMap(({ boxes }) => boxes), edges: drawn.flatMap(({ arrows }) => arrows) };
}

/** Returns `litecoin/regtest` for what stands on the way of the blocks of a ledger; undefined for all else. */
function networkOf({ role, lane }: PipelineNode): string | undefined {
  if (lane === null || !WAY.includes(role)) return undefined;
  return SYNC_ROLES.includes(role) && !lane.startsWith('indexer/') ? undefined : networkIn(lane);
}

function boxOn(network: string, { reporter, node }: Found): PipelineNode {
  const place = reporter.url === null ? 'this service' : (URL.parse(reporter.url)?.host ?? reporter.url);
  const name = node.role === 'coin node' ? node.name : place;
  return { ...node, id: `${network} ${node.role}`, lane: network, name };
}
