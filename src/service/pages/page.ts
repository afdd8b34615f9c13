import type { FastifyReply } from 'fastify';

/** Parts of a page; the texts in `body` are escaped already. */
interface PageParts {
  readonly title: string;
  /** Text beside the title, such as a version. */
  readonly note?: string;
  /** Links of the head: path and name. */
  readonly links: readonly (readonly [path: string, name: string])[];
  readonly body: string;
  /** Name of the script, one of the files below `/console/`. */
  readonly script: string;
}

/** Returns text as it may stand in HTML. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

/** Makes a page in the look of the console: its style and script are files of the console. */
export function makePage({ title, note = '', links, body, script }: PageParts): string {
  const anchors = links.map(([path, name]) => `<a href="${escapeHtml(path)}">${escapeHtml(name)}</a>`);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>${escapeHtml(title)}</title>
<link rel="stylesheet" href="/console/console.css"><link rel="icon" href="/console/icon.svg">
<script type="module" src="/console/${script}"></script></head>
<body><a class="skip" href="#main">Skip to the content</a>
<header><h1>${escapeHtml(title)} <small>${escapeHtml(note)}</small></h1><nav aria-label="More">${anchors.join('')}</nav></header>
<main id="main" tabindex="-1">${body}</main></body></html>
`;
}

/**
 * Returns headers of a page: it runs, shows and asks only what is this service's own.
 *
 * @param forms where its forms are sent
 */
export const pageHeaders = (forms: 'none' | 'self' = 'none') => ({
  'content-security-policy': `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action '${forms}'; frame-ancestors 'none'`,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache'
});

/** Sends a page. @see pageHeaders */
export function sendPage(reply: FastifyReply, html: string | Buffer, forms?: 'none' | 'self'): FastifyReply {
  return reply.headers(pageHeaders(forms)).type('text/html; charset=utf-8').send(html);
}
