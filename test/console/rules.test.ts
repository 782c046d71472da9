import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { contrast, hueDistance, tokensOf } from './colours.ts';

/** Rules of the folder `src/console` that an author could break without noticing. */
const ROOT = join(import.meta.dir, '../..');
const ROOM = join(ROOT, 'src/console');

const files = readdirSync(ROOM, { withFileTypes: true, recursive: true })
  .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
  .map((entry) => join(entry.parentPath, entry.name))
  .map((path) => ({ path: relative(ROOT, path), text: readFileSync(path, 'utf8') }));

const IMPORT = /^(?:import|export)( type)? (?:[\w*{][^'"]*? from )?'([^']+)';|\bimport\('([^']+)'\)/gm;
const PACKAGE = /^(?:preact(?:\/hooks)?|@preact\/signals|@codemirror\/[\w-]+|@lezer\/[\w-]+)$/;
/** Files of the server from which the console may import types. */
const LENT =
  /^src\/(?:admin\/|http\/schemas\/|http\/x402\/schemas\.ts$|core\/|operate\/roles\.ts$|store\/traffic\.ts$)/;

/** Pure files of the server that the console also runs: the operations, what scopes permit, and how amounts and units are read and written. */
const SHARED =
  /^src\/core\/(?:kinds\/operations|people\/caller|money\/(?:amount|budget-words|credits|decimal|units)|text\/text)\.ts$/;

function faultOf(path: string, isType: boolean, target: string): string | null {
  if (!target.startsWith('.')) {
    const isLent = PACKAGE.test(target) || (isType && target === '@sinclair/typebox');
    return isLent ? null : `${path} → ${target}`;
  }
  const file = relative(ROOT, resolve(ROOT, dirname(path), target));
  if (file.startsWith('src/console/') || SHARED.test(file)) return null;
  return isType && LENT.test(file) ? null : `${path} → ${file}`;
}

test('the console imports only itself, its few packages, the words for money, and types of schemas', () => {
  const outward = files.flatMap(({ path, text }) =>
    [...text.matchAll(IMPORT)].flatMap(
      ([, type, target, lazy]) => faultOf(path, type !== undefined, target ?? lazy ?? '') ?? [],
    ),
  );
  expect(outward).toEqual([]);
});

test('no code of the console turns a text into markup or code', () => {
  const MARKUP = /innerHTML|outerHTML|insertAdjacentHTML|dangerouslySet|document\.write|\beval\(|new Function\(|srcdoc/;
  expect(files.filter(({ text }) => MARKUP.test(text)).map(({ path }) => path)).toEqual([]);
});

test('the browser stores only preferences of the viewer, and never a key', () => {
  const STORED = /localStorage|sessionStorage|indexedDB|document\.cookie/;
  const storing = files.filter(({ text }) => STORED.test(text)).map(({ path }) => path);
  expect(storing).toEqual(['src/console/shell/memory.ts']);
});

test('on a phone, each position of a row has only one fact', () => {
  const crowded = files.flatMap(({ path, text }) =>
    [...text.matchAll(/columns=\{\[(.*?)\]\}/gs)]
      .map(([, columns = '']) => [...columns.matchAll(/phone: '(\w+)'/g)].map(([, place]) => place))
      // Any number of facts have the position `more`, and wrap.
      .map((places) => places.filter((place) => place !== 'more'))
      .filter((places) => new Set(places).size < places.length)
      .map((places) => `${path}: ${places.join(', ')}`),
  );
  expect(crowded).toEqual([]);
});

const { light, dark } = tokensOf(readFileSync(join(ROOM, 'design/tokens.css'), 'utf8'));
const MARKS = [...Array.from({ length: 8 }, (_, at) => `mark-${at}`), 'mark-other'];

for (const [theme, tokens] of Object.entries({ light, dark })) {
  test(`${theme}: every text has a contrast of at least 4.5 with its background, and every line and mark at least 3`, () => {
    const texts = [
      ...['ink', 'dim', 'accent', 'good', 'warn', 'bad'].flatMap((ink) => [`${ink} paper`, `${ink} ground`]),
      ...['ink sunk', 'dim sunk', 'accent accent-soft', 'on-accent accent', 'paper bad'],
      ...['good good-soft', 'warn warn-soft', 'bad bad-soft'],
    ];
    const marks = [...MARKS, 'edge'].map((mark) => `${mark} paper`);
    const ratios = (pairs: readonly string[], least: number) =>
      pairs
        .map((pair) => [pair, contrast(...(pair.split(' ').map((name) => tokens[name]!) as [string, string]))] as const)
        .filter(([, ratio]) => !(ratio >= least));
    expect(ratios(texts, 4.5)).toEqual([]);
    expect(ratios(marks, 3)).toEqual([]);
  });

  test(`${theme}: any two marks can be distinguished by all viewers, also without red, green or blue cones`, () => {
    const eight = MARKS.slice(0, 8).map((mark) => tokens[mark]!);
    const close = eight.flatMap((one, at) =>
      eight.slice(at + 1).flatMap((other) => (hueDistance(one, other) < 5 ? [`${one} ${other}`] : [])),
    );
    expect(close).toEqual([]);
  });
}
