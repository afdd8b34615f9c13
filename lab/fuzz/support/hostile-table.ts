import { ODD_TEXTS } from './hostile.ts';
import {
  ATTRIBUTES,
  CHECKS,
  COLUMNS,
  COMMENTS,
  DEFAULTS,
  ENGINES,
  EXPRESSIONS,
  HEADS,
  NAMES,
  ODD_ATTRIBUTES,
  ODD_DEFAULTS,
  ODD_EXPRESSIONS,
  ODD_OPTIONS,
  ODD_TYPES,
  OPTIONS,
  REFERENCES,
  SPACES,
  TAILS,
  TYPES
} from './table-pieces.ts';
import { type Dice, TextArbitrary } from './text-arbitrary.ts';

/** Tables of the hostile statements: a table of this name is expected, and a parent of the second is there. */
export const TABLE = 't';
export const PARENT = 'p';

/** Returns mostly what a server prints, else what it never would. */
const mostly = (dice: Dice, usual: readonly string[], odd: readonly string[], times = 25) =>
  dice.pick(dice.oneIn(times) ? odd : usual);
const several = (dice: Dice, most: number, write: () => string, between: string) =>
  Array.from({ length: dice.between(0, most) }, write).join(between);

function column(dice: Dice, name: string): string {
  const parts = [`\`${name}\``, mostly(dice, TYPES, ODD_TYPES)];
  if (dice.oneIn(6))
    parts.push(
      `GENERATED ALWAYS AS (${mostly(dice, EXPRESSIONS, ODD_EXPRESSIONS, 5)})`,
      dice.pick(['VIRTUAL', 'STORED'])
    );
  else {
    parts.push(several(dice, 2, () => mostly(dice, ATTRIBUTES.slice(0, 7), [...ODD_ATTRIBUTES, ...ATTRIBUTES]), ' '));
    if (dice.oneIn(2)) parts.push('DEFAULT', mostly(dice, DEFAULTS, ODD_DEFAULTS, 10));
  }
  if (dice.oneIn(20)) parts.push(`CHECK (${dice.pick(CHECKS)})`);
  return parts.join(' ');
}

function keyParts(dice: Dice, names: readonly string[]): string {
  const part = () => {
    const name = mostly(dice, names, COLUMNS, 30);
    return `\`${name}\`${dice.oneIn(6) ? dice.pick(['(3)', '(0)', '(1e3)', '(9999)', ' DESC', ' ASC', '(', '(-1)']) : ''}`;
  };
  return `(${[part(), ...(dice.oneIn(3) ? [part()] : []), ...(dice.oneIn(60) ? ['(lower(`a`))'] : [])].join(',')})`;
}

function extra(dice: Dice, names: readonly string[]): string {
  const list = keyParts(dice, names);
  switch (dice.between(1, 9)) {
    case 1:
      return `PRIMARY KEY ${list}${dice.oneIn(5) ? dice.pick([' USING BTREE', ' USING HASH', ' WITH PARSER x', " COMMENT 'k'", ' USING sleep']) : ''}`;
    case 2:
      return `UNIQUE KEY \`u\` ${list}`;
    case 3:
    case 4:
      return `KEY \`${dice.pick(['k', 'k2', 'PRIMARY', 'k`x', 'k;'])}\` ${list}`;
    case 5:
      return `${dice.pick(['FULLTEXT', 'SPATIAL', 'VECTOR', 'UNIQUE'])} KEY \`f\` ${list}`;
    case 6:
    case 7: {
      const parent = mostly(dice, [`\`${PARENT}\``], ['`mysql`.`user`', '`t`', 'p', '`p`.`p`', "'p'", '`../p`'], 8);
      const rules = several(
        dice,
        2,
        () => `ON ${dice.pick(['DELETE', 'UPDATE'])} ${mostly(dice, REFERENCES.slice(0, 4), REFERENCES, 8)}`,
        ' '
      );
      return `CONSTRAINT \`r\` FOREIGN KEY (\`${dice.pick(names)}\`) REFERENCES ${parent} (\`id\`) ${rules}`;
    }
    case 8:
      return `CONSTRAINT \`c\` CHECK (${dice.pick([...CHECKS, ...EXPRESSIONS])})`;
    default:
      return dice.pick([
        `CHECK (${dice.pick(CHECKS)})`,
        'LIKE `mysql`.`user`',
        'PERIOD FOR SYSTEM_TIME (`a`,`b`)',
        'INDEX `i` (`a`)',
        ''
      ]);
  }
}

/** Comments, strange spaces and strange texts where a space stood or anywhere, and accidents. */
function disturb(dice: Dice, text: string): string {
  const from = dice.between(0, text.length);
  switch (dice.between(1, 6)) {
    case 1: {
      const space = text.indexOf(' ', from);
      return space < 0 ? text : text.slice(0, space) + dice.pick(COMMENTS) + text.slice(space);
    }
    case 2: {
      const space = text.indexOf(' ', from);
      return space < 0 ? text : text.slice(0, space) + dice.pick(SPACES) + text.slice(space + 1);
    }
    case 3:
      return text.slice(0, from) + dice.pick([...ODD_TEXTS, ...COMMENTS, '``', "''"]) + text.slice(from);
    case 4:
      return text.slice(0, from) + text.slice(from + dice.between(1, 8));
    case 5:
      return text.slice(0, from) + text.slice(from, from + dice.between(1, 30)).repeat(2) + text.slice(from);
    default:
      return dice.oneIn(2) ? text.replaceAll('`', '"') : text.slice(0, from);
  }
}

function write(dice: Dice): string {
  const names = [
    ...new Set(Array.from({ length: dice.between(1, 4) }, () => mostly(dice, COLUMNS.slice(0, 5), COLUMNS, 12)))
  ];
  const items = [
    ...names.map((name) => column(dice, name)),
    ...Array.from({ length: dice.between(0, 3) }, () => extra(dice, names))
  ];
  if (dice.oneIn(50)) items.push(...Array.from({ length: dice.between(1, 300) }, (_, index) => `\`n${index}\` int`));
  const options = [
    `ENGINE=${mostly(dice, ENGINES.slice(0, 3), ENGINES, 6)}`,
    several(dice, 3, () => mostly(dice, OPTIONS, ODD_OPTIONS, 12), ' ')
  ];
  let text = `${mostly(dice, ['CREATE TABLE'], HEADS)} ${mostly(dice, [`\`${TABLE}\``], NAMES)} (\n  ${items.join(',\n  ')}\n) ${options.join(' ')}`;
  if (dice.oneIn(15)) text += dice.pick(TAILS);
  if (dice.oneIn(400))
    text = text.replace(
      /(['(])/,
      `$1${dice.pick(['(', "''", 'x', '``', ' ', '\\'])}`.padEnd(dice.between(10, 30_000), '(')
    );
  while (dice.oneIn(3)) text = disturb(dice, text);
  return text;
}

/** Statements as a server that means harm might answer to `/schema`, most of them nearly as MariaDB prints a table. */
export const hostileTables = new TextArbitrary(write);
