import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PlatformError } from '../../../src/errors.ts';
import { troubleOf } from '../../../src/hub/set-trouble.ts';

const restarts = { inWindow: 0, budget: 10, total: 0, causes: [] };
const RUNNING = { state: 'running', reason: null, restarts } as const;
const STANDING = { phase: 'following', peers: ['b', 'c'], refused: null, waiting: 0, lost: null, split: null } as const;
const CALM = { actor: RUNNING, standing: STANDING, needed: 2, stillMs: 0 };
const down = (state: 'parked' | 'failed', error: PlatformError) => ({ state, reason: error.toWire(), restarts });

test('a hub that decides, or has just begun to wait, has no trouble, nor one that starts', () => {
  assert.equal(troubleOf(CALM), null);
  assert.equal(troubleOf({ ...CALM, standing: { ...STANDING, waiting: 3 }, stillMs: 2_000 }), null);
  assert.equal(troubleOf({ ...CALM, stillMs: 1_000_000 }), null);
  assert.equal(troubleOf({ ...CALM, standing: { ...STANDING, phase: 'starting', peers: [] } }), null);
});

test('a part that votes and is down is told with its reason, and without one that quotes a host', () => {
  const reason = 'session 12 of MariaDB has the log of this database: KILL 12 ends it';
  const taken = troubleOf({ ...CALM, actor: down('failed', new PlatformError('LOG_TAKEN', { reason })) });
  assert.equal(taken?.code, 'LOG_TAKEN');
  assert.match(taken?.reason ?? '', /KILL 12/);
  const causes = [{ at: 1, generation: 1, cause: 'LOG_TAKEN', reason } as const];
  const again = { ...CALM, actor: { ...RUNNING, restarts: { ...restarts, causes } } };
  assert.deepEqual(troubleOf({ ...again, standing: { ...STANDING, phase: 'starting' } })?.code, 'LOG_TAKEN');
  assert.equal(troubleOf(again), null, 'the next start got further');
  const away = new PlatformError('DATABASE_UNAVAILABLE', {
    reason: 'connect ECONNREFUSED 192.0.2.1',
    host: '192.0.2.1'
  });
  const lost = troubleOf({ ...CALM, actor: down('parked', away) });
  assert.equal(lost?.code, 'DATABASE_UNAVAILABLE');
  assert.doesNotMatch(JSON.stringify(lost), /192/);
});

test('a hub without the others is told with what to look at: a clock, a setting or the ways to them', () => {
  const alone = { ...STANDING, peers: ['b'] };
  const { code, reason, remedy } = troubleOf({ ...CALM, standing: alone })!;
  assert.deepEqual([code, reason], ['NO_QUORUM', '1 of 2 needed hubs are connected']);
  assert.match(remedy, /P2P_PORT/);
  assert.match(troubleOf({ ...CALM, standing: { ...alone, refused: 'another time' } })?.remedy ?? '', /clock/);
  assert.match(troubleOf({ ...CALM, standing: { ...alone, refused: 'another set' } })?.remedy ?? '', /HUB_FEDERATION/);
});

test('a hub whose key another process has is told so, however many are connected just now', () => {
  for (const peers of [[], ['b', 'c']]) {
    const { code, remedy } = troubleOf({ ...CALM, standing: { ...STANDING, peers, refused: 'own key' } })!;
    assert.equal(code, 'EQUIVOCATION_PREVENTED');
    assert.match(remedy, /end the other process with this SIGNING_PRIVKEY_HEX/);
  }
});

test('a hub that waits for a log that nobody has is told so, though nothing waits to be written', () => {
  const { code, reason, remedy } = troubleOf({ ...CALM, standing: { ...STANDING, phase: 'catchingUp', lost: 57 } })!;
  assert.equal(code, 'LOG_OUT_OF_ORDER');
  assert.match(reason, /up to place 57 before --rejoin/);
  assert.match(remedy, /"log": 2/);
});

test('operations that wait for eight seconds are told although all are connected', () => {
  const trouble = troubleOf({ ...CALM, standing: { ...STANDING, waiting: 3 }, stillMs: 9_500 });
  assert.equal(trouble?.code, 'CONSENSUS_TIMEOUT');
  assert.match(trouble?.reason ?? '', /^3 operations wait, and none was decided for 9 s$/);
});

test('hubs that signed different states are named, where nothing is decided for it', () => {
  const split = { seq: 300, signers: [['b', 'c'], ['d']] };
  const standing = { ...STANDING, waiting: 2, split };
  const { code, reason, remedy } = troubleOf({ ...CALM, standing, stillMs: 9_000 })!;
  assert.equal(code, 'CONSENSUS_TIMEOUT');
  assert.match(reason, /differ since place 300, where one state was signed by b and c, another one by d$/);
  assert.match(remedy, /empty database/);
  assert.equal(
    troubleOf({ ...CALM, standing: { ...standing, waiting: 0 } }),
    null,
    'one of four may differ for a while'
  );
});
