import { tortureTests } from './torture.ts';

tortureTests({ indexer: 45, decoder: 20, ledger: 60, sized: 30, lied: 20 });
