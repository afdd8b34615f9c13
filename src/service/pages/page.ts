import { createHash } from 'node:crypto';

/** A page that needs nothing from elsewhere: its style is in it, and its policy allows nothing else. */
export interface Page {
  readonly html: string;
  readonly policy: string;
}

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --link: light-dark(#0b57b0, #8ab8ff) }
body { font: 15px/1.55 system-ui, sans-serif; margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 62rem }
h1 { font-size: 1.6rem; margin: 0 0 .25rem }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .75rem; border-bottom: 1px solid var(--line) }
h3 { font-size: .95rem; margin: .9rem 0 .2rem }
a { color: var(--link) }
code, pre, .method { font-family: ui-monospace, monospace; font-size: .9em }
pre { background: var(--soft); padding: .6rem .8rem; border-radius: 6px; overflow-x: auto; margin: .4rem 0 }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1rem }
details { border: 1px solid var(--line); border-radius: 8px; margin: .5rem 0; padding: 0 .9rem }
summary { cursor: pointer; padding: .55rem 0; list-style: none; display: flex; flex-wrap: wrap; gap: .25rem .75rem }
summary::-webkit-details-marker { display: none }
summary code { overflow-wrap: anywhere }
summary span { opacity: .8 }
.method { font-weight: 700; min-width: 3.2rem }
table { border-collapse: collapse; width: 100%; margin: .4rem 0 1rem }
td, th { text-align: left; vertical-align: top; padding: .3rem .9rem .3rem 0; border-top: 1px solid var(--line) }
th { border: 0; opacity: .7 }
td:first-child { white-space: nowrap; width: 1% }
`;

/** Text as it may stand in HTML. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

/** @param body HTML whose texts are escaped already @param script of the page, which may ask its own service */
export function makePage(title: string, body: string, script = ''): Page {
  const sources = [
    "default-src 'none'",
    `style-src '${hashOf(STYLE)}'`,
    ...(script ? [`script-src '${hashOf(script)}'`, "connect-src 'self'"] : []),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'"
  ];
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title><style>${STYLE}</style></head>
<body>${body}${script && `<script>${script}</script>`}</body></html>
`;
  return { html, policy: sources.join('; ') };
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
