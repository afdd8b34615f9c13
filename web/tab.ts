import { conditionOf } from '../src/wire/state/condition.ts';
import type { PipelineState } from '../src/wire/state/pipeline.ts';
import { count } from './dom.ts';
import { MARKS } from './drawing/pipeline.ts';
import type { Live } from './live.ts';

/** States in the order in which one of a part becomes the whole's. */
export const WORST_FIRST: readonly PipelineState[] = ['failed', 'waiting', 'working', 'unknown', 'well'];
const READY: Readonly<Record<string, PipelineState>> = {
  ready: 'well',
  behind: 'working',
  starting: 'working',
  halted: 'failed',
  unavailable: 'failed'
};

/** Returns the state of a service that says this of its readiness. */
export const stateOfReadiness = (readiness: string): PipelineState => READY[readiness] ?? 'unknown';

const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]');

/** Shows in the browser's tab how the service is: a mark and a height in the title, a colour of the icon. */
export function showTab({ service, readiness, databases }: Live): void {
  const states = [stateOfReadiness(readiness), ...databases.map((database) => conditionOf(database).state)];
  const worst = WORST_FIRST.find((state) => states.includes(state)) ?? 'unknown';
  const [only] = databases;
  const what = databases.length === 1 ? placeOf(only!) : databases.length === 0 ? '' : `${databases.length} databases`;
  setTab(worst, [MARKS[worst], service, what].filter(Boolean).join(' '));
}

/** Shows that the service does not answer. */
export const showLostTab = (): void => setTab('failed', `${MARKS.failed} no answer`);

function placeOf({ key, report }: Live['databases'][number]): string {
  const height = report?.height ?? null;
  return `${key.split('/').slice(1).join(' ')}${height === null ? '' : ` ${count(height)}`}`;
}

function setTab(state: PipelineState, text: string): void {
  const title = `${text} – platform-node`;
  if (document.title !== title) document.title = title;
  const address = `/console/icon-${state}.svg`;
  if (icon && icon.getAttribute('href') !== address) icon.setAttribute('href', address);
}
