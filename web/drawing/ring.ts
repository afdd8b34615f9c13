import type { FederationWords } from '../views/federation-words.ts';
import { shortKey } from '../views/federation-words.ts';

const SIZE = 260;
const RADIUS = 90;
const DOT = 10;
const SVG = 'http://www.w3.org/2000/svg';

function element(name: string, attributes: Readonly<Record<string, string | number>>, text = ''): SVGElement {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.textContent = text;
  return made;
}

/** Draws the hubs of a set as a ring, with a line from this one to each that it is connected to; the leader is filled. */
export function drawRing({ self, leader, members }: Pick<FederationWords, 'self' | 'leader' | 'members'>): SVGElement {
  const missing = members.filter(({ connected }) => !connected).length;
  const svg = element('svg', {
    viewBox: `0 0 ${SIZE} ${SIZE}`,
    role: 'img',
    'aria-label': `${members.length} hubs, ${missing} of them not connected to this one`
  });
  const placeOf = (at: number) => {
    const angle = (2 * Math.PI * at) / members.length - Math.PI / 2;
    return { x: SIZE / 2 + RADIUS * Math.cos(angle), y: SIZE / 2 + RADIUS * Math.sin(angle) };
  };
  const own = placeOf(members.findIndex(({ pubkey }) => pubkey === self));
  for (const [at, { pubkey, connected }] of members.entries()) {
    const { x, y } = placeOf(at);
    if (connected && pubkey !== self) svg.append(element('line', { x1: own.x, y1: own.y, x2: x, y2: y, class: 'way' }));
  }
  for (const [at, { pubkey, connected }] of members.entries()) {
    const { x, y } = placeOf(at);
    const kind = [connected ? 'there' : 'missing', pubkey === leader ? 'leads' : ''].join(' ').trim();
    svg.append(element('circle', { cx: x, cy: y, r: DOT, class: kind }));
    const label = `${shortKey(pubkey)}${pubkey === self ? ' (here)' : ''}`;
    svg.append(element('text', { x, y: y + (y < SIZE / 2 ? -1.6 : 2.4) * DOT, 'text-anchor': 'middle' }, label));
  }
  return svg;
}
