import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../root.ts';
import { FOLDED, PANELS } from './dashboard-panels.ts';

/** Path of the dashboard. */
export const DASHBOARD_FILE = join(ROOT, 'ops', 'dashboard.json');

/** A metric in a query, and the beginning of its selector where it has one. */
const METRIC = /\b(?:sync|decoder|indexer|explorer|tracker|hub|encoder|miner|platform|nodejs|process)_[a-z0-9_]+\{?/g;

/** Returns a query for the instances that the dashboard's variable names. */
function ofInstances(query: string): string {
  return query.replace(METRIC, (metric) =>
    metric.endsWith('{') ? `${metric}instance=~"$instance",` : `${metric}{instance=~"$instance"}`
  );
}

const WIDTH = 12;
const HEIGHT = 8;

/** Returns the dashboard in Grafana's import format. */
export function renderDashboard(): string {
  let id = 0;
  const numbered = <T extends object>(panel: T) => ({ id: ++id, ...panel });
  const rows = [...new Set(PANELS.map(([row]) => row))];
  let y = 0;
  const panels = rows.flatMap((row): object[] => {
    const own = PANELS.filter(([name]) => name === row);
    const collapsed = FOLDED.has(row);
    const gridPos = { x: 0, y: y++, w: 24, h: 1 };
    const placed = own.map(([, title, unit, ...queries], index) => ({
      type: 'timeseries',
      title,
      datasource: { type: 'prometheus', uid: '$source' },
      fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
      gridPos: { x: (index % 2) * WIDTH, y: y + Math.floor(index / 2) * HEIGHT, w: WIDTH, h: HEIGHT },
      targets: queries.map(([expr, legendFormat], number) => ({
        expr: ofInstances(expr),
        legendFormat,
        refId: String.fromCharCode(65 + number)
      }))
    }));
    if (!collapsed) y += Math.ceil(own.length / 2) * HEIGHT;
    const head = { type: 'row', title: row, collapsed, gridPos };
    return collapsed
      ? [numbered({ ...head, panels: placed.map(numbered) })]
      : [{ ...head, panels: [] }, ...placed].map(numbered);
  });
  const source = { name: 'source', label: 'Data source', type: 'datasource', query: 'prometheus' };
  const instance = {
    name: 'instance',
    label: 'Instance',
    type: 'query',
    datasource: { type: 'prometheus', uid: '$source' },
    query: 'label_values(platform_build_info, instance)',
    refresh: 2,
    multi: true,
    includeAll: true,
    allValue: '.*',
    current: { text: 'All', value: '$__all' }
  };
  const dashboard = {
    uid: 'platform-node',
    title: 'platform-node',
    schemaVersion: 39,
    refresh: '10s',
    time: { from: 'now-1h', to: 'now' },
    templating: { list: [source, instance] },
    panels
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

if (import.meta.main) writeFileSync(DASHBOARD_FILE, renderDashboard());
