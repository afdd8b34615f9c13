import { memoryVariables } from '../../../../src/process/guardian.ts';
import { makesAnswers } from '../../../../src/services.ts';
import { startExplorer } from '../../../../test/support/explorer-process.ts';
import { createDatabase } from '../../../../test/support/mariadb.ts';
import { publishedPaths } from '../../../../test/support/published-paths.ts';
import { frame } from '../../../../test/support/raw-client.ts';
import { writeDecoderTip, writeLedger } from '../explorer-ledger.ts';
import type { Figure } from '../figures.ts';
import { measureGreed } from './greed.ts';

const SIZE = { actions: 300_000, busy: 100_000, tokens: 5_000 } as const;
const CONNECTIONS = 200;
const FOLLOWED = 25;
/** Words of a path, by the name or the type of its subject, that stand for an address. */
const ADDRESS_WORDS = /address|source|destination|oracle|delegat|ADDRESS|balances|staking/;
const TOKEN_WORDS = /tick|token|TICK|holders/i;

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
const UPGRADE =
  'GET /RBTC/api/websocket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
const say = (message: object) => frame(0x81, Buffer.from(JSON.stringify(message))).toString('latin1');

/** One subscription of each channel, and as many addresses as are left, with how all of it stands. */
const params = { snapshot: true, since_action_index: SIZE.actions - 500 };
const addresses = Array.from({ length: FOLLOWED - 7 }, (_, n) => `a${n + 1}`);
const FOLLOW = [
  { channels: ['blocks', 'actions', 'mempool', 'network'], params },
  { channels: ['token'], params: { ...params, tick: 'TOKA' } },
  { channels: ['market'], params: { ...params, tick1: 'TOKA', tick2: 'BTC' } },
  { channels: ['address'], params: { ...params, addresses } }
].map((asked) => say({ action: 'subscribe', ...asked }));
const LEAVE = say({ action: 'unsubscribe', channels: ['address'], params: { addresses } });

/**
 * Measures the cost of one stranger who asks an explorer for all that existing clients ask for: for another caller, and for its
 * memory.
 */
export async function measurePaths(): Promise<Figure[]> {
  const [indexer, decoder] = [await createDatabase('indexer'), await createDatabase('decoder')];
  await writeDecoderTip(decoder, SIZE);
  await writeLedger(indexer, SIZE);
  const { port, pid, url, stop } = await startExplorer(
    { indexer, decoder },
    {
      ...memoryVariables(makesAnswers('explorer')),
      HTTP_MAX_PER_IP: '1000',
      EXPLORER_RATE_LIMIT_RPM: '100000000',
      LOG_LEVEL: 'error'
    }
  );
  const paths = publishedPaths((name, type) => {
    const word = name === 'QUERY' ? type : name;
    if (ADDRESS_WORDS.test(word)) return 'a1';
    return TOKEN_WORDS.test(word) ? 'TOKA' : '5';
  }).map((path) => `/RBTC/api${path}`);
  console.log(`${paths.length} published paths, over a ledger of ${SIZE.actions} actions`);
  let turn = 0;
  // Of an address and a token with few rows, as most callers ask.
  const own = ['balances/a77', 'history/a77/address', 'token/DEV5', 'sends/a77/address'];
  const most = { compare: 'above', most: 250, aim: 100 } as const;
  const figures = await measureGreed(
    { name: 'an explorer', port, pid, ask: () => fetch(`${url}/RBTC/api/${own[turn++ % own.length]}`), most },
    {
      'every published path': { connections: CONNECTIONS, says: paths.map(get), taking: 'at once' },
      'the same, read slowly': { connections: CONNECTIONS, says: paths.map(get), taking: 'slowly' },
      'followers of every channel': {
        connections: CONNECTIONS,
        says: [UPGRADE + FOLLOW.join('')],
        again: LEAVE + FOLLOW.join(''),
        taking: 'at once'
      },
      'followers who read nothing': {
        connections: CONNECTIONS,
        says: [UPGRADE + FOLLOW.join('')],
        again: LEAVE + FOLLOW.join(''),
        taking: 'never'
      }
    }
  );
  await stop();
  return figures;
}
