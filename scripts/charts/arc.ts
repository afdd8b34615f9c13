/** A point of a chart, in pixels. */
export interface Point {
  readonly x: number;
  readonly y: number;
}
/** A rectangle of a chart, in pixels. */
export interface Box extends Point {
  readonly width: number;
  readonly height: number;
}
/** A quadratic curve. It leaves `start` towards `knee` and reaches `end` from there. */
interface Arc {
  readonly start: Point;
  readonly knee: Point;
  readonly end: Point;
  /** Middle of its label. */
  readonly label: Point;
}

/** Distances of a curve from the straight line, as a part of its length, to either side. */
const BENDS = [0.12, -0.12, 0.25, -0.25, 0.4, -0.4, 0.6, -0.6];
/** Least distance in pixels, so that a curve between neighbours is apart from their own arrow. */
const MIN_REACH = 80;
const PLACES = [0.5, 0.4, 0.6, 0.3, 0.7];
const SAMPLES = Array.from({ length: 21 }, (_, index) => index / 20);

/**
 * Returns a curve from one box to another that crosses as little as possible.
 *
 * @param others boxes to avoid
 * @param frame box to stay inside
 * @param labelSize size of the curve's text
 */
export function arcBetween(
  from: Box,
  to: Box,
  others: readonly Box[],
  frame: Box,
  labelSize: { readonly width: number; readonly height: number }
): Arc {
  const cost = (curve: Omit<Arc, 'label'>) =>
    SAMPLES.map((part) => pointOn(curve, part)).reduce(
      (sum, point) => sum + (others.some((box) => holds(box, point)) ? 1 : 0) + (holds(frame, point) ? 0 : 3),
      0
    );
  const curves = BENDS.map((bend) => curveBetween(from, to, bend));
  const curve = curves.reduce((best, next) => (cost(next) < cost(best) ? next : best));
  const isFree = ({ x, y }: Point) => {
    const { width, height } = labelSize;
    return !others.some((box) => overlap(box, { x: x - width / 2, y: y - height / 2, width, height }));
  };
  const places = PLACES.map((part) => pointOn(curve, part));
  return { ...curve, label: places.find(isFree) ?? places[0]! };
}

function curveBetween(a: Box, b: Box, bend: number): Omit<Arc, 'label'> {
  const [from, to] = [centre(a), centre(b)];
  const length = Math.max(1, Math.hypot(to.x - from.x, to.y - from.y));
  const part = Math.sign(bend) * Math.max(Math.abs(bend), MIN_REACH / length);
  const knee = {
    x: (from.x + to.x) / 2 - (to.y - from.y) * part,
    y: (from.y + to.y) / 2 + (to.x - from.x) * part
  };
  return { start: border(a, knee), knee, end: border(b, knee) };
}

function pointOn({ start, knee, end }: Omit<Arc, 'label'>, part: number): Point {
  const on = (axis: 'x' | 'y') =>
    (1 - part) ** 2 * start[axis] + 2 * part * (1 - part) * knee[axis] + part ** 2 * end[axis];
  return { x: on('x'), y: on('y') };
}

const centre = ({ x, y, width, height }: Box): Point => ({ x: x + width / 2, y: y + height / 2 });

/** Returns the point at which the line from a box's middle towards a point leaves the box. */
function border(box: Box, towards: Point): Point {
  const { x, y } = centre(box);
  const [dx, dy] = [towards.x - x, towards.y - y];
  const part = Math.min(1, box.width / 2 / Math.max(1, Math.abs(dx)), box.height / 2 / Math.max(1, Math.abs(dy)));
  return { x: x + dx * part, y: y + dy * part };
}

const holds = ({ x, y, width, height }: Box, point: Point): boolean =>
  point.x >= x && point.x <= x + width && point.y >= y && point.y <= y + height;

const overlap = (a: Box, b: Box): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
