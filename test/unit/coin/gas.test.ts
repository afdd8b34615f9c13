import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ACTIONS } from '../../../src/coin/action/names.ts';
import { gasOf } from '../../../src/coin/gas.ts';
import { DEFAULT_PROFILE, readProfile } from '../../../src/coin/profile.ts';

const profile = readProfile({
  name: 'fees',
  gas: {
    issue: 100_000,
    issueSubtoken: 50_000,
    recipient: 100,
    item: 30,
    offerDay: 550,
    offerOwnership: 50_000,
    listShare: 100_000,
    listEdit: 5_000,
    listItem: 100,
    sweep: 5_000,
    callback: 5_000
  }
});

test('the gas of an action is that of the schedule, by how much it does', () => {
  const cases: [action: string, subject: object, gas: number][] = [
    ['ISSUE', {}, 100_000],
    ['ISSUE', { subtoken: true }, 50_000],
    ['AIRDROP', { recipients: 250 }, 25_000],
    ['DIVIDEND', {}, 100],
    ['CALLBACK', { recipients: 2 }, 5_200],
    ['SWEEP', { items: 4 }, 5_120],
    ['ORDER', { days: 90 }, 0],
    ['SWAP', { days: 92 }, 1_100],
    ['DISPENSER', { days: 91, ownership: true }, 50_550],
    ['LIST', { edit: true, items: 3 }, 0],
    ['LIST', { shared: true }, 100_000],
    ['LIST', { shared: true, edit: true, items: 3 }, 5_300],
    ['SEND', { recipients: 9, items: 9, days: 900, ownership: true }, 0]
  ];
  for (const [action, subject, gas] of cases) assert.equal(gasOf(profile, action, subject), gas, action);
});

test('by the default profile nothing costs gas', () => {
  const subject = { recipients: 1_000, items: 1_000, days: 1_000, ownership: true, edit: true };
  for (const action of ACTIONS) assert.equal(gasOf(DEFAULT_PROFILE, action, subject), 0, action);
});
