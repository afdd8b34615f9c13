import { escapeHtml } from '../../service/pages/page.ts';

/** HTML that is written as it is; any other text is escaped. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | string | number | null | undefined | false | readonly Part[];

/** Makes HTML from a template: each value is escaped unless it is HTML itself; null, undefined and false are nothing. */
export function html(strings: TemplateStringsArray, ...values: readonly Part[]): Html {
  return new Html(strings.map((text, place) => text + writePart(values[place])).join(''));
}

function writePart(part: Part): string {
  if (part === null || part === undefined || part === false) return '';
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(writePart).join('');
  return escapeHtml(String(part));
}
