import { plainClientTest } from './stand-in-client.ts';

plainClientTest(false);
