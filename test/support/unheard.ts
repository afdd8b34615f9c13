import type { Listeners } from '../../actors/runtime/channel.ts';
import type { SupervisedNotices } from '../../actors/runtime/notices.ts';

const ignore = () => undefined;

/** Listeners of a test that has no supervisor and looks at none of this. */
export const UNHEARD: Listeners<SupervisedNotices> = {
  beacon: ignore,
  counters: ignore,
  transition: ignore,
  waiting: ignore
};
