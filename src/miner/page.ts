import { escapeHtml, makePage } from '../service/pages/page.ts';

/** Returns the page of a miner: its state in words, and forms to request coins and blocks. */
export function minerPage(network: string): string {
  const name = escapeHtml(network);
  return makePage({
    title: `miner of ${network}`,
    links: [
      ['/console', 'Console'],
      ['/docs', 'Interface']
    ],
    script: 'miner.js',
    body: `<h2>Now</h2>
<div class="card"><p id="condition" role="status">asking the miner …</p><dl id="facts"></dl></div>
<h2>Coins of ${name}</h2>
<div class="card"><form id="send"><label>Address <input name="address" size="34" required autocomplete="off"></label>
<label>Coins <input name="amount" value="1" size="8" required inputmode="decimal"></label>
<button>Send me coins</button></form></div>
<h2>Blocks</h2>
<div class="card"><form id="mine"><label>How many <input name="count" type="number" min="1" max="10000" value="1" required></label>
<button>Mine</button></form></div>
<p id="answer" role="status"></p>
<details><summary>Key, where the miner has one</summary>
<form id="key"><label>Key <input name="key" type="password" autocomplete="off"></label><button>Use</button></form></details>
<noscript><p>This page asks the miner by a script; without one use its methods, which <a href="/docs">are described</a>.</p></noscript>`
  });
}
