import { globSync, readFileSync, writeFileSync } from 'node:fs';

/** Longest line of a document. */
export const DOC_COLUMNS = 100;

/** Returns the paths of all documents. */
export const docFiles = (): string[] => globSync(['*.md', 'docs/**/*.md', 'lab/**/*.md']).sort();

/** Returns whether a document is generated: its generator wraps it. */
const isGenerated = (path: string): boolean =>
  path === 'docs/operating/configuration.md' || path.startsWith('docs/machines/');

const FENCE = /^\s*(```|~~~)/;
/** Lines that stand alone: headings, tables, images, comments, rules, targets of links. */
const ALONE = /^\s*(#|\||!\[|<|---+$|\[[^\]]+\]: )/;
const ITEM = /^\s*([-*]|\d+\.)\s+/;
/** Words that would begin a list, heading or quote at the start of a line. */
const MARKER = /^([-*+>|]|#+|\d+[.)])$/;

/** Returns whether a line is text to wrap: neither code nor a line that stands alone. */
export function isPlain(line: string, isCode: boolean): boolean {
  return !isCode && line.trim() !== '' && !ALONE.test(line);
}

/** Calls `take` with each line, and whether it is code. */
export function eachLine(text: string, take: (line: string, isCode: boolean) => void): void {
  let isFenced = false;
  let before = '';
  for (const line of text.split('\n')) {
    const isFence = FENCE.test(line);
    // Four spaces are code after an empty line, or after such code.
    const isIndented = /^ {4}/.test(line) && (before.trim() === '' || /^ {4}/.test(before));
    take(line, isFenced || isFence || isIndented);
    if (isFence) isFenced = !isFenced;
    before = line;
  }
}

/** Returns a document with paragraphs and list items wrapped at 100 columns. */
export function wrapDoc(text: string): string {
  const lines: string[] = [];
  let paragraph: string[] = [];
  let [first, rest] = ['', ''];
  const flush = () => {
    if (paragraph.length > 0) lines.push(...wrap(wordsOf(paragraph.join(' ')), first, rest));
    paragraph = [];
  };
  eachLine(text, (line, isCode) => {
    if (!isPlain(line, isCode)) {
      flush();
      lines.push(line);
      return;
    }
    const mark = ITEM.exec(line)?.[0];
    if (mark !== undefined) {
      flush();
      [first, rest] = [mark, ' '.repeat(mark.length)];
    } else if (paragraph.length === 0) first = rest = /^\s*/.exec(line)![0];
    paragraph.push(line.slice(mark?.length ?? 0).trim());
  });
  flush();
  return lines.join('\n');
}

/** Splits text into parts that are never split further: words, and short code in backticks. */
function wordsOf(text: string): string[] {
  const words: string[] = [];
  for (const [word] of text.matchAll(/(?:[^\s`]*`[^`]{1,60}`)+\S*|\S+/g)) {
    if (MARKER.test(word) && words.length > 0) words.push(`${words.pop()} ${word}`);
    else words.push(word);
  }
  return words;
}

function wrap(words: readonly string[], first: string, rest: string): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of words) {
    const start = lines.length === 0 ? first : rest;
    if (line === '') line = start + word;
    else if (line.length + 1 + word.length <= DOC_COLUMNS) line += ` ${word}`;
    else {
      lines.push(line);
      line = rest + word;
    }
  }
  return [...lines, line];
}

if (import.meta.main) {
  for (const path of docFiles().filter((each) => !isGenerated(each))) {
    const text = readFileSync(path, 'utf8');
    const wrapped = wrapDoc(text);
    if (wrapped !== text) writeFileSync(path, wrapped);
  }
}
