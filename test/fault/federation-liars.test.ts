import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Behaviour } from '../../lab/federation/liars.ts';
import { playLiar, SPOKEN_LIES } from '../../lab/federation/real-liar.ts';

/** Behaviours that nobody can tell from a slow hub, or that send what honest hubs have signed. */
const UNPROVABLE: readonly Behaviour[] = ['withholds votes', 'repeats old views'];
const SEED = Number(process.env['LIAR_SEED'] ?? 1);

for (const behaviour of SPOKEN_LIES)
  test(`a leader that ${behaviour}: three real hubs have one configuration with all that they answered, and name it`, async (t) => {
    const { lies, accusers, namers } = await playLiar({ behaviour, seed: SEED, writes: 5 });
    t.diagnostic(`${lies} lies; ${accusers} of 3 hubs have evidence, ${namers} name it in their logs`);
    assert.ok(lies > 0, 'it lied');
    if (behaviour === 'equivocates') assert.ok(accusers > 0, 'it is in the tables of others');
    if (!UNPROVABLE.includes(behaviour)) assert.ok(accusers + namers > 0, 'somebody names it');
  });
