import { type Html, html } from './html.ts';

/** Location of the pages of a network. */
export interface Site {
  /** The network's name. */
  readonly name: string;
  /** Its public code; null for the pages that are of no network. */
  readonly code: string | null;
  /** Beginning of the paths of its pages, such as `/LTC`; empty where only one network is served. */
  readonly base: string;
  /** The newest block of its ledger; null: not known. */
  readonly height: number | null;
}

/** Makes a page of the explorer: its style is the console's. */
export function layout({ name, code, base, height }: Site, title: string, body: Html): string {
  return `<!doctype html>
${
  html`<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>${title} &middot; ${name}</title>
<link rel="stylesheet" href="/console/console.css"><link rel="stylesheet" href="/console/explorer.css">
<link rel="icon" href="/console/icon.svg"><script type="module" src="/console/explorer.js"></script></head>
<body class="explorer"><a class="skip" href="#main">Skip to the content</a>
<header><p class="site"><a href="${base}/">${name}</a></p>
${code !== null && searchForm(base)}
<p id="tip" role="status" data-code="${code}">${height !== null && `block ${height}`}</p></header>
<main id="main" tabindex="-1">${body}</main>
<footer><nav aria-label="More"><a href="/docs">API</a> <a href="/openapi.json">OpenAPI</a> <a href="/console">Console</a></nav></footer>
</body></html>`.text
}
`;
}

/** Makes the form of a search. @param text that stands in its field */
export function searchForm(base: string, text = ''): Html {
  return html`<form action="${base}/search" role="search"><input name="q" type="search" required maxlength="250" aria-label="Search" autocomplete="off"
 placeholder="Address, token, block, transaction, action" value="${text}"><button>Search</button></form>`;
}
