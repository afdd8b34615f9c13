import { farBehindTest } from './far-behind.ts';

farBehindTest('indexer', 'off');
