import { tortureTests } from './torture.ts';

/** Long enough for reorgs, an ALTER, kills and cuts; `npm run torture` goes on for as long as one likes. */
tortureTests({ indexer: 16, decoder: 10, ledger: 20, sized: 10, lied: 10 });
