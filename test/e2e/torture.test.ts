import { tortureTests } from './torture.ts';

/** Long enough for reorgs, an ALTER, kills and cuts; `npm run torture` goes on for as long as one likes. */
tortureTests({ indexer: 20, decoder: 10, ledger: 25, sized: 15, lied: 10 });
