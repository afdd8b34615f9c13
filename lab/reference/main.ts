import { readNumber } from '../../src/cli/options.ts';
import { readNetwork } from '../../src/coin/find-network.ts';
import { readProfile } from '../../src/coin/profile.ts';
import { readJsonFile } from '../../src/config/json-file.ts';
import { PlatformError } from '../../src/errors.ts';
import { rulesOf } from '../../src/indexer/profile/rules.ts';
import { parseDatabaseUrl } from '../../src/verify/side.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { createDatabase } from '../../test/support/mariadb.ts';
import { runProgram } from '../../test/support/program.ts';
import { checkIndex } from './check.ts';
import { checkDatabase } from './elsewhere/check.ts';
import { linesOf } from './elsewhere/lines.ts';

/*
 * npm run index-check -- --seed S --blocks N --forks F [--gas] [--trades] [--limited] [--rising]
 *
 * Makes a chain of N blocks with actions of every kind and F branches beside it. One index goes through all branches and takes each
 * back; another reads the final chain alone; a reference ledger, which shares no code with the indexer, carries it out too. Every row and
 * hash of both indexes must be equal, and the statuses, movements, fees, balances, owners, supplies and hashes of the reference.
 * With --trades most actions are about offers: they make, edit, fill, refill, pay and cancel them. With --limited the limits are so low
 * that many blocks meet them, and the reference, which has none, is left out. With --rising rules begin in the course of the chain, so
 * that reorgs cross their heights; the reference is left out as well.
 *
 * npm run index-check -- --database URL [--profile FILE --network NAME]
 *
 * Reads a database that was made elsewhere, an indexer's or a decoder's, and checks what its rows say of each other.
 */
const MOST = 1_000_000;
const DOMAIN = 'PLATFORM';
const given = readArguments(
  'npm run index-check -- [--seed 1] [--blocks 20000] [--forks 1000] [--gas] [--trades] [--limited] [--rising] | --database mysql://user:pass@host:port/name [--profile FILE --network bitcoin-mainnet]',
  {
    seed: { type: 'string', default: '1' },
    blocks: { type: 'string', default: '20000' },
    forks: { type: 'string', default: '1000' },
    gas: { type: 'boolean', default: false },
    trades: { type: 'boolean', default: false },
    limited: { type: 'boolean', default: false },
    rising: { type: 'boolean', default: false },
    database: { type: 'string' },
    profile: { type: 'string' },
    network: { type: 'string', default: 'bitcoin-mainnet' }
  },
  ({ seed, blocks, forks, gas, trades, limited, rising, database, profile, network }) => ({
    seed: readNumber('--seed', seed, 0, 2 ** 31 - 1),
    blocks: readNumber('--blocks', blocks, 1, MOST),
    forks: readNumber('--forks', forks, 0, MOST),
    costsGas: gas,
    isOfTrades: trades,
    isLimited: limited,
    isRising: rising,
    database: database === undefined ? undefined : parseDatabaseUrl(database),
    roles: profile === undefined ? undefined : rolesOf(profile, network)
  })
);

function rolesOf(profile: string, network: string): ReadonlyMap<string, string> {
  return rulesOf(readProfile(readJsonFile(profile)), readNetwork(network), DOMAIN).roles;
}

/** Checks a chain of its own. */
async function checkChain(): Promise<void> {
  const { seed, blocks, forks, costsGas, isOfTrades, isLimited, isRising } = given;
  const startedAt = performance.now();
  const databases = { forked: await createDatabase('indexer'), fresh: await createDatabase('indexer') };
  const log = (line: string) => console.log(line);
  const options = { seed, blocks, forks, costsGas, isOfTrades, isLimited, isRising, databases, log };
  const { actions, lostBlocks, restarts, rows, statuses } = await checkIndex(options);
  for (const [status, count] of [...statuses].sort()) console.log(`${String(count).padStart(9)} ${status}`);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  console.log(
    `seed ${seed}: ${blocks} blocks, ${actions} actions, ${forks} forks of ${lostBlocks} blocks, ${restarts} restarts, ${rows} rows, 0 differences, ${seconds} s`
  );
}

/** Checks a database that was made elsewhere. The process ends with 1 where something in it is wrong. */
async function checkElsewhere(database: DatabaseCoordinates): Promise<void> {
  const report = await checkDatabase(database, given.roles).catch((caught: unknown) => {
    if (!(caught instanceof PlatformError)) throw caught;
    console.error(caught.message);
    process.exitCode = 1;
  });
  if (report === undefined) return;
  for (const line of linesOf(report, given.roles !== undefined)) console.log(line);
  if (report.checked.some(({ faults }) => faults.length > 0)) process.exitCode = 1;
}

await runProgram(async () => (given.database === undefined ? checkChain() : checkElsewhere(given.database)));
