import { actionView } from './action-view.ts';
import { addressView } from './address-view.ts';
import { blockView } from './block-view.ts';
import { homeView } from './home-view.ts';
import { html } from './html.ts';
import type { Site } from './layout.ts';
import { marketView } from './market-view.ts';
import { section } from './parts.ts';
import { tokenView } from './token-view.ts';
import { transactionView } from './transaction-view.ts';
import type { Asked, View } from './view.ts';

/** The pages of one thing each, by the first part of their path; the front page has none. */
export const VIEWS: Readonly<Record<string, (asked: Asked) => Promise<View>>> = {
  '': homeView,
  address: addressView,
  token: tokenView,
  block: blockView,
  transaction: transactionView,
  action: actionView,
  market: marketView
};

/** Makes the front page of a service of several networks. */
export function networksView(sites: readonly Site[]): View {
  const rows = sites.map(({ name, base }) => [html`<a href="${base}/">${name}</a>`]);
  return { title: 'Networks', body: html`<h1 class="name">Explorer</h1>${section('Networks', ['Network'], rows)}` };
}
