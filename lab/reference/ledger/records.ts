import { COINS, firstOf, memoTests, min, named, points, readAmount, readWhole } from './fields.ts';
import type { Doing, Test } from './terms.ts';
import { Tokens } from './tokens.ts';

/** The rules of actions that keep what somebody said. */
export abstract class Records extends Tokens {
  protected address(doing: Doing): boolean {
    const isController = doing.format === 1;
    const get = named(
      isController
        ? 'CONTROLLER ACTION_CLASS COOLDOWN_BLOCKS UNBIND MEMO'
        : 'FEE_PREFERENCE REQUIRE_MEMO DISPENSER_PREFERENCE MEMO',
      doing.fields
    );
    const fields = ['FEE_PREFERENCE', 'REQUIRE_MEMO', 'DISPENSER_PREFERENCE'];
    const allowed = [
      [0, 1, 2],
      [0, 1],
      [1, 2]
    ];
    const refusal = firstOf([
      ...fields.map(
        (field) => () => get(field) !== '' && readWhole(get(field)) === null && (`${field} (format)` as const)
      ),
      ...fields.map(
        (field, place) => () =>
          get(field) !== '' && !allowed[place]!.includes(readWhole(get(field))!) && (`${field} (value)` as const)
      ),
      ...(isController
        ? [() => get('CONTROLLER') !== '' && ('CONTROLLER (unknown)' as const), ...this.controllerTests(get)]
        : []),
      this.sourceSleeps(doing),
      ...memoTests(get('MEMO'))
    ] as Test[]);
    if (refusal === null) {
      const former = this.preferences.get(doing.source);
      this.preferences.set(doing.source, {
        fee: readWhole(get('FEE_PREFERENCE')) ?? 0,
        requiresMemo: readWhole(get('REQUIRE_MEMO')) === 1,
        dispenser: get('DISPENSER_PREFERENCE') || (former?.dispenser ?? '')
      });
    }
    return this.judge(doing, 'addresses', refusal);
  }

  protected list(doing: Doing): boolean {
    const { source, format, fields, index } = doing;
    const get = named(
      ['TYPE MEMO', 'EDIT LIST_ACTION_INDEX MEMO', '', 'LIST_ACTION_INDEX DESTINATION MEMO'][format]!,
      fields
    );
    const known = this.lists.get(readWhole(get('LIST_ACTION_INDEX')) ?? 0) ?? null;
    const to = this.resolve(get('DESTINATION'));
    const refusal = firstOf([
      () => format === 0 && get('TYPE') === '3' && 'ACTION is not yet activated',
      () => format === 0 && !['1', '2'].includes(get('TYPE')) && 'TYPE (unknown)',
      () => format === 1 && !['1', '2'].includes(get('EDIT')) && 'EDIT (unknown)',
      () => format !== 0 && known === null && 'LIST_ACTION_INDEX (unknown)',
      () => format !== 0 && known!.owner !== source && 'LIST_ACTION_INDEX (not owner)',
      () => format === 3 && to === null && 'DESTINATION (unresolvable ^id)',
      () => format === 3 && !this.isAddress(to!) && 'DESTINATION (format)',
      this.sourceSleeps(doing),
      ...memoTests(get('MEMO'))
    ]);
    if (refusal === null && format === 3) {
      this.meet(to!);
      known!.owner = to!;
    } else if (refusal === null) {
      const list = known ?? { type: Number(get('TYPE')), owner: source, members: new Set<string>() };
      const items = new Set(fields.slice(format === 0 ? 2 : 3).filter((item) => item !== ''));
      const seen = new Set<string>();
      for (const item of items) {
        const named = list.type === 1 ? (this.tokenOf(item)?.tick ?? null) : this.resolve(item);
        if (named === null || (list.type === 2 && !this.isAddress(named))) {
          const status = `invalid: ${list.type === 1 ? 'TICK (unknown)' : 'ADDRESS (format)'}`;
          this.note(index, 'list_edits', status);
          this.note(index, 'list_items_invalid', status);
          continue;
        }
        if (seen.has(named)) continue;
        seen.add(named);
        this.note(index, 'list_edits', 'valid');
        if (list.type === 2) this.meet(named);
        if (format === 1 && get('EDIT') === '2') list.members.delete(named);
        else list.members.add(named);
      }
      this.lists.set(index, list);
    }
    return this.judge(doing, 'lists', refusal);
  }

  protected broadcast(doing: Doing): boolean {
    const formats = [
      'MESSAGE VALUE',
      'MESSAGE VALUE FEE MEMO',
      'MESSAGE FEE MEMO',
      'BROADCAST_ACTION_INDEX VALUE MEMO'
    ];
    const get = named(formats[doing.format]!, doing.fields);
    const isNumber = (text: string) => text === '' || /^-?[0-9]{1,40}(\.[0-9]{1,40})?$/.test(text);
    const updated = readWhole(get('BROADCAST_ACTION_INDEX'));
    const refusal = firstOf([
      () => !isNumber(get('VALUE')) && 'VALUE (format)',
      () => !isNumber(get('FEE')) && 'FEE (format)',
      () => doing.format === 3 && updated === null && 'BROADCAST_ACTION_INDEX (format)',
      this.sourceSleeps(doing),
      () => doing.format === 3 && !this.valid.has(updated!) && 'BROADCAST_ACTION_INDEX (status)',
      () => points(get('MESSAGE')) > 250 && 'MESSAGE (length)',
      () => get('VALUE').length > 25 && 'VALUE (length)',
      () => get('FEE').length > 11 && 'FEE (length)',
      ...memoTests(get('MEMO'))
    ]);
    return this.judge(doing, 'broadcasts', refusal);
  }

  protected message(doing: Doing): boolean {
    const hasKey = doing.format < 2;
    const names = [
      'ENCRYPTION_METHOD ENCRYPTION_KEY',
      'ENCRYPTION_METHOD ENCRYPTION_KEY',
      'ENCRYPTED_MESSAGE',
      'PLAINTEXT_MESSAGE'
    ];
    const get = named(`COIN DESTINATION ${names[doing.format]}`, doing.fields);
    const to = this.resolve(get('DESTINATION'));
    const method = readWhole(get('ENCRYPTION_METHOD'));
    const coin = get('COIN').toUpperCase();
    const refusal = firstOf([
      () => to === null && 'DESTINATION (unresolvable ^id)',
      () => !COINS.includes(coin) && 'COIN (value)',
      () => !this.isAddress(to!, coin) && 'DESTINATION (format)',
      () => hasKey && method === null && 'ENCRYPTION_METHOD (format)',
      this.sourceSleeps(doing),
      () => hasKey && ![1, 2, 3].includes(method!) && 'ENCRYPTION_METHOD (value)',
      ...['ENCRYPTION_KEY', 'ENCRYPTED_MESSAGE', 'PLAINTEXT_MESSAGE'].map(
        (field) => () => points(get(field)) > 1_048_576 && (`${field} (length)` as const)
      )
    ]);
    if (to !== null && COINS.includes(coin) && this.isAddress(to, coin)) this.meet(to);
    return this.judge(doing, 'messages', refusal);
  }

  protected file(doing: Doing): boolean {
    const get = named('NAME TYPE TITLE MEMO GATE_TICKER ENCRYPTION_METHOD KEY_HASH GATE_MIN_AMOUNT', doing.fields);
    const isGated = get('GATE_TICKER') !== '';
    const token = isGated ? this.tokenOf(get('GATE_TICKER')) : null;
    const text = get('GATE_MIN_AMOUNT');
    const least = () => (text.length > 40 || /^0[0-9]/.test(text) ? 0n : (readAmount(text, token!.decimals) ?? 0n));
    const refusal = firstOf([
      this.sourceSleeps(doing),
      () => points(get('NAME')) > 250 && 'NAME (length)',
      () => points(get('TYPE')) > 255 && 'TYPE (length)',
      () => points(get('TITLE')) > 250 && 'TITLE (length)',
      ...memoTests(get('MEMO')),
      () => isGated && readWhole(get('ENCRYPTION_METHOD')) !== 1 && 'ENCRYPTION_METHOD (must be 1)',
      () => isGated && !/^[0-9a-f]{64}$/i.test(get('KEY_HASH')) && 'KEY_HASH (format)',
      () => isGated && token === null && 'GATE_TICKER (unknown)',
      () => isGated && token!.owner !== doing.source && 'SOURCE (not GATE_TICKER issuer)',
      () => isGated && token!.isHeld && 'GATE_TICKER (ownership escrowed)',
      () => text !== '' && (!isGated || least() === 0n) && 'GATE_MIN_AMOUNT'
    ]);
    if (refusal === null && token) {
      this.note(doing.index, 'gated_files', 'valid');
      const own = text === '' ? 0n : least();
      this.gates.set(token, min(this.gates.get(token) ?? own, own));
    }
    return this.judge(doing, 'files', refusal);
  }

  protected link(doing: Doing): boolean {
    const get = named('COIN1 COIN1_ACTION_INDEX COIN2 COIN2_ACTION_INDEX MEMO', doing.fields);
    const ends = ['COIN1', 'COIN2'];
    const coin = (end: string) => get(end).toUpperCase();
    const number = (end: string) => readWhole(get(`${end}_ACTION_INDEX`));
    const token = () => (coin('COIN2') === 'BTC' ? (this.valid.get(number('COIN2')!) ?? null) : null);
    const refusal = firstOf([
      ...ends.map((end) => () => !COINS.includes(coin(end)) && (`${end} (unsupported COIN network)` as const)),
      ...ends.map((end) => () => number(end) === null && (`${end}_ACTION_INDEX (format)` as const)),
      this.sourceSleeps(doing),
      ...ends.map(
        (end) => () => coin(end) === 'BTC' && !this.valid.has(number(end)!) && (`${end}_ACTION_INDEX (status)` as const)
      ),
      () => (token()?.owner ?? doing.source) !== doing.source && 'SOURCE (not authorized)',
      () => token()?.isHeld === true && 'TICK (ownership escrowed)',
      ...memoTests(get('MEMO'))
    ]);
    return this.judge(doing, 'links', refusal);
  }

  protected sleep(doing: Doing): boolean {
    const get = named(doing.format === 0 ? 'RESUME_BLOCK MEMO' : 'RESUME_BLOCK TICK MEMO', doing.fields);
    const token = doing.format === 1 ? this.tokenOf(get('TICK')) : null;
    const resume = Number(get('RESUME_BLOCK'));
    const refusal = firstOf([
      () => doing.format === 1 && token === null && 'TICK (unknown)',
      () => !/^-?[0-9]{1,15}$/.test(get('RESUME_BLOCK')) && 'RESUME_BLOCK (format)',
      () => resume !== -1 && resume !== 0 && resume < this.height && 'RESUME_BLOCK (block_index)',
      this.sourceSleeps(doing),
      () => token !== null && token.owner !== doing.source && 'TICK (not authorized)',
      () => token?.locks['SLEEP'] === true && 'LOCK_SLEEP',
      () => token?.isHeld === true && 'TICK (ownership escrowed)',
      ...memoTests(get('MEMO'))
    ]);
    if (refusal === null) this.sleeps.set(token ? `tick ${token.tick}` : `address ${doing.source}`, resume);
    if (doing.format === 1) this.name(get('TICK'));
    return this.judge(doing, 'sleeps', refusal);
  }
}
