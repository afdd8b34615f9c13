import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { findProgram } from '../../src/config/programs.ts';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import { atEnd } from './cleanup.ts';
import { eventually, temporaryDirectory } from './sync/sync-process.ts';

export const ALERTS_FILE = join(import.meta.dirname, '../../ops/alerts.yml');

interface Rules {
  groups: {
    rules: {
      alert: string;
      expr: string;
      for?: string;
      labels: { severity: string };
      annotations: { summary: string; remedy: string; runbook_url: string };
    }[];
  }[];
}

/** The rules of ops/alerts.yml. */
export function readRules(): Rules {
  return parse(readFileSync(ALERTS_FILE, 'utf8')) as Rules;
}

/** Runs Prometheus' own checker. */
export function promtool(...args: readonly string[]): { code: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(findProgram('promtool', []), args, {
    encoding: 'utf8',
    timeout: 30_000
  });
  return { code: status, output: stdout + stderr };
}

/** A Prometheus that scrapes services and evaluates the rules. */
export interface Prometheus {
  /** The alerts that fire, by name and once each, sorted. */
  firing(): Promise<string[]>;
  /** Waits until an alert fires. */
  fires(alert: string): Promise<void>;
}

/**
 * Starts the real Prometheus. The rules are those of ops/alerts.yml but for their patience: an alert fires at once.
 *
 * @param targets base URLs of services
 */
export async function startPrometheus(targets: readonly string[], key: string): Promise<Prometheus> {
  const directory = temporaryDirectory('prometheus');
  const rules = readRules();
  for (const rule of rules.groups.flatMap((group) => group.rules)) delete rule.for;
  writeFileSync(join(directory, 'alerts.yml'), stringify(rules));
  const config = {
    global: { scrape_interval: '500ms', scrape_timeout: '500ms', evaluation_interval: '500ms' },
    rule_files: ['alerts.yml'],
    scrape_configs: [
      {
        job_name: 'platform-node',
        authorization: { credentials: key },
        static_configs: [{ targets: targets.map((url) => new URL(url).host) }]
      }
    ]
  };
  writeFileSync(join(directory, 'prometheus.yml'), stringify(config));
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(
    findProgram('prometheus', []),
    [
      '--config.file=prometheus.yml',
      '--storage.tsdb.path=data',
      `--web.listen-address=${address}`,
      '--log.level=error'
    ],
    { cwd: directory, stdio: 'ignore' }
  );
  atEnd(async () => void child.kill('SIGKILL'));
  const ask = async <T>(path: string): Promise<T> => {
    const response = await fetch(`http://${address}/api/v1/${path}`, { signal: AbortSignal.timeout(2_000) });
    return ((await response.json()) as { data: T }).data;
  };
  const firing = async () => {
    const { alerts } = await ask<{ alerts: { state: string; labels: { alertname: string } }[] }>('alerts');
    const names = alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname);
    return [...new Set(names)].sort();
  };
  await eventually('Prometheus has scraped every service', async () => {
    const found = await ask<{ activeTargets: { health: string }[] }>('targets').catch(() => ({ activeTargets: [] }));
    return found.activeTargets.filter(({ health }) => health === 'up').length === targets.length;
  });
  return {
    firing,
    fires: (alert) => eventually(`${alert} fires`, async () => (await firing()).includes(alert))
  };
}
