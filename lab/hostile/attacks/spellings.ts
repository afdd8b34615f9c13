import assert from 'node:assert/strict';
import { bech32m } from '@scure/base';
import { addressOf } from '../../../src/coin/script/address.ts';
import { hash160, payTo, payToScript } from '../../../src/coin/script/pay-scripts.ts';
import { DEVNET } from '../../../src/devnet/settings.ts';
import type { Attack } from '../attack.ts';
import { sayNested } from '../nested.ts';
import { issue } from './texts.ts';

/** Litecoin's two spellings of the address of a script's hash. */
function spellingsOf(bytes: Buffer): readonly [string, string] {
  const { addresses } = DEVNET;
  const script = payTo({ kind: 'scriptHash', bytes });
  const [older] = addresses.p2shAccepted.filter((version) => version !== addresses.p2sh);
  return [addressOf(script, addresses)!, addressOf(script, { ...addresses, p2sh: older! })!];
}

/** Addresses of versions of witnesses that no rule spends. */
const UNSPENDABLE = [2, 16].map((version) =>
  bech32m.encode(DEVNET.addresses.bech32!, [version, ...bech32m.toWords(Buffer.alloc(20, 7))])
);

/** Addresses and ids in other spellings, which would take what they are given out of reach. */
export const SPELLING_ATTACKS: readonly Attack[] = [
  {
    name: "tokens sent to the older spelling of a script's address are out of reach",
    async *play(arena) {
      const sender = await arena.person('spellings');
      await sender.act(issue('SPELLED'));
      yield;
      const script = hash160(Buffer.from('a script'));
      const [written, older] = spellingsOf(script);
      for (const action of ['SEND|0|SPELLED|1|', 'MINT|0|SPELLED|1|']) {
        await sender.act(`${action}${older}`);
        await sender.act(`${action}${written}`);
      }
      return async () => assert.equal(await arena.balance(written, 'SPELLED'), '4');
    }
  },
  {
    name: "what is issued, airdropped or swept to the older spelling of a script's address is out of reach",
    async *play(arena) {
      const [sender, sweeper] = await arena.people('older spellings', 'swept spellings');
      const script = hash160(Buffer.from('another script'));
      const [written, older] = spellingsOf(script);
      await sender!.act(`ISSUE|0|GIVENOLD|1000|1000|0||10||${older}`);
      await sender!.act(issue('OLDDROP'));
      await sweeper!.act(issue('OLDSWEPT', '7'));
      const list = await sender!.act(`LIST|0|2||${older}`);
      yield;
      yield;
      await sender!.act(`AIRDROP|0|OLDDROP|3|${await arena.actionIndex(list)}`);
      await sweeper!.act(`SWEEP|0|${older}|1|1`);
      return async () => {
        const held = [];
        for (const tick of ['GIVENOLD', 'OLDDROP', 'OLDSWEPT']) held.push(await arena.balance(written, tick));
        assert.deepEqual(held, ['10', '3', '7']);
      };
    }
  },
  {
    name: "who is given a token's ownership at the older spelling of its address cannot use it",
    async *play(arena) {
      const [giver, receiver] = await arena.people('giver of ownership', 'older owner');
      const [written, older] = spellingsOf(hash160(receiver!.script));
      assert.equal(written, addressOf(payToScript(receiver!.script, 'p2sh'), DEVNET.addresses));
      await giver!.act(`ISSUE|0|OLDOWNED|1000|1000|0|||${older}`);
      yield;
      const used = await sayNested(arena.rpc, receiver!, receiver!, 'ISSUE|1|OLDOWNED|mine');
      return async () => {
        assert.deepEqual(await arena.statuses(used), ['valid']);
        assert.equal((await arena.token('OLDOWNED'))?.info.owner, written);
      };
    }
  },
  {
    name: 'tokens that are given to a witness of an unknown version are out of reach',
    async *play(arena) {
      const [sender, sweeper] = await arena.people('to unknown versions', 'sweeper to unknown versions');
      await sender!.act(issue('UNKNOWNV'));
      await sweeper!.act(issue('UNKNOWNSWEPT'));
      yield;
      const refused: string[] = [];
      for (const address of UNSPENDABLE) {
        for (const action of ['SEND|0|UNKNOWNV|1|', 'MINT|0|UNKNOWNV|1|', 'ISSUE|0|UNKNOWNGIVEN|9|9|0|||'])
          refused.push(await sender!.act(`${action}${address}`));
        refused.push(await sweeper!.act(`SWEEP|0|${address}|1|1`));
      }
      return async () => {
        for (const txid of refused)
          assert.match(String(await arena.statuses(txid)), /^invalid: ([A-Z_]+ \(format\)|TRANSFER \(bad address\))$/);
        for (const address of UNSPENDABLE) assert.equal(await arena.balance(address, 'UNKNOWNV'), '0');
        assert.equal(await arena.balance(sender!.address, 'UNKNOWNV'), '1000');
        assert.equal(await arena.balance(sweeper!.address, 'UNKNOWNSWEPT'), '1000');
      };
    }
  },
  {
    name: 'an id with zeros in front names a token that there is',
    async *play(arena) {
      const owner = await arena.person('zeros in front');
      await owner.act(issue('ZEROS'));
      yield;
      yield;
      const id = (await arena.token('ZEROS'))!.info.tick_id;
      const sent: string[] = [];
      for (const text of [`^${id}`, `^0${id}`, `^00${id}`])
        sent.push(await owner.act(`SEND|0|${text}|1|${owner.address}`));
      return async () => {
        const statuses: string[] = [];
        for (const txid of sent) statuses.push(...(await arena.statuses(txid)));
        assert.deepEqual(statuses, ['valid', 'invalid: TICK (unknown)', 'invalid: TICK (unknown)']);
      };
    }
  }
];
