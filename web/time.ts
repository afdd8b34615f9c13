import { type Cell, duration, h, setText } from './dom.ts';

const KEPT = 'platform-node zone';
const CLOCK = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const;
const DAY = { year: 'numeric', month: '2-digit', day: '2-digit' } as const;
const EXACT = { ...CLOCK, fractionalSecondDigits: 3 } as const;

type Forms = Readonly<Record<'clock' | 'exact' | 'day', Intl.DateTimeFormat>>;

/** Zone in which times are told; the choice is kept in this browser. */
let isUtc = localStorage.getItem(KEPT) === 'utc';
let forms = formsOf();

function formsOf(): Forms {
  const zone = isUtc ? { timeZone: 'UTC' } : {};
  const form = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat('en-GB', { ...options, ...zone });
  const day = new Intl.DateTimeFormat('en-CA', { ...DAY, ...zone }); // year, month, day
  return { clock: form(CLOCK), exact: form(EXACT), day };
}

/** Returns `14:03:05`. @param at Unix milliseconds */
export const clockText = (at: number): string => forms.clock.format(at);

/** Returns `14:03:05.123`, for events that follow each other closely. @param at Unix milliseconds */
export const exactText = (at: number): string => forms.exact.format(at);

/** Returns `2026-11-28 14:03:05.123 UTC`. @param at Unix milliseconds */
export function fullText(at: number): string {
  return `${forms.day.format(at)} ${exactText(at)} ${isUtc ? 'UTC' : 'local time'}`;
}

/** Returns `5 min 2 s ago`. @param at Unix milliseconds */
export const agoText = (at: number): string => `${duration(Date.now() - at)} ago`;

/** Shows a time in a table; the pointer is told all of it. */
export const whenCell = (at: number, text: string): Cell => ({ text, kind: 'quiet', title: fullText(at) });

/** The switch between local time and UTC. */
export class ZoneSwitch {
  readonly element = h('button', { type: 'button', class: 'icon', 'aria-keyshortcuts': 'z', click: () => this.turn() });
  readonly #onTurn: () => void;

  /** @param onTurn shows the page anew */
  constructor(onTurn: () => void) {
    this.#onTurn = onTurn;
    this.#show();
  }

  turn(): void {
    isUtc = !isUtc;
    localStorage.setItem(KEPT, isUtc ? 'utc' : 'local');
    forms = formsOf();
    this.#show();
    this.#onTurn();
  }

  #show(): void {
    const name = isUtc ? 'UTC' : 'local';
    setText(this.element, name);
    this.element.ariaLabel = `Times: ${name}`;
    this.element.title = `Times: ${name} (z)`;
  }
}
