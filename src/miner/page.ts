import { escapeHtml, makePage, type Page } from '../service/pages/page.ts';

const SCRIPT = `
const ask = async (method, params) => {
  const headers = { 'content-type': 'application/json' };
  const key = document.getElementById('key').value;
  if (key) headers['x-api-key'] = key;
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const { result, error } = await (await fetch('/', { method: 'POST', headers, body })).json();
  return error ? [error.message, error.data?.reason].filter(Boolean).join(': ') : JSON.stringify(result, null, 2);
};
const show = async (answer) => {
  document.getElementById('answer').textContent = await answer.catch(String);
  document.getElementById('status').textContent = await ask('status').catch(String);
};
const onSubmit = (id, run) => document.getElementById(id).addEventListener('submit', (event) => {
  event.preventDefault();
  const given = Object.fromEntries(new FormData(event.target));
  void show(run(given));
});
onSubmit('send', ({ address, amount }) => ask('send_funds', { address, amount }));
onSubmit('mine', ({ count }) => ask('generate_blocks', { count: Number(count) }));
setInterval(async () => { document.getElementById('status').textContent = await ask('status').catch(String); }, 2000);
`;

/** Returns the page of a miner: forms to request coins and blocks, and the miner's status. */
export function minerPage(network: string): Page {
  return makePage(
    `miner of ${network}`,
    `<h1>miner of ${escapeHtml(network)}</h1>
<p><label>key, where one is set <input id="key" type="password" autocomplete="off"></label></p>
<h2>Send me coins</h2>
<form id="send"><label>to <input name="address" size="34" required></label>
<label>coins <input name="amount" value="1" size="8" required></label> <button>send me coins</button></form>
<h2>Blocks</h2>
<form id="mine"><label>how many <input name="count" type="number" min="1" max="10000" value="1" required></label>
<button>mine</button></form>
<h2>Answer</h2><pre id="answer"></pre>
<h2>Status</h2><pre id="status"></pre>
<nav><a href="/console">console</a> <a href="/docs">documentation</a></nav>`,
    SCRIPT
  );
}
