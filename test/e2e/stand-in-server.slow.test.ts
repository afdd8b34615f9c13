import { followedTest } from './stand-in-server.ts';

followedTest('indexer', false);
