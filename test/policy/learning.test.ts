import { describe, expect, test } from 'bun:test';
import { brief, load, loadText, SMALL } from './support.ts';

const loaded = (section: string) => loadText(`${SMALL}${section}\n`);
const codesOf = (section: string) => loaded(section).diagnostics.map(brief);

const FORMER = '14:1 former-key';
const changed = (column: number) => [FORMER, `14:${column} choices-changed`];

describe('a section `learning` loads with a warning at its location,', () => {
  test.each([
    ['off', 'learning: off'],
    ['off, in a map', 'learning: { mode: off, feedback_window_days: 400, explore: {} }'],
    ['empty', 'learning:'],
    ['shadow', 'learning: shadow'],
    ['a list', 'learning: [on]'],
    ['with keys that never existed', 'learning: { mood: on }'],
    ['with a wrong share', 'learning: { mode: shadow, explore: { share: 2 } }'],
    ['with the default estimator', 'learning: { mode: shadow, estimator: learned, explore: off }'],
  ])('%s', (_, section) => {
    expect(codesOf(section)).toEqual([FORMER]);
  });
});

describe('a section `learning` that changed the choices of earlier versions has a second warning at the key that did,', () => {
  test.each([
    ['mode: on', 'learning: { mode: on, explore: {} }', 13],
    ['exploration in shadow', 'learning: { mode: shadow, explore: {} }', 27],
    ['a share of exploration in shadow', 'learning: { mode: shadow, explore: { share: 0, temperature: 0.2 } }', 27],
    ['another estimator', 'learning: { mode: off, estimator: mine }', 24],
    ['options', 'learning: { options: { length: 0 } }', 13],
  ])('%s', (_, section, column) => {
    expect(codesOf(section)).toEqual(changed(column));
  });

  test('the short form `learning: on` gets the same warnings', () => {
    expect(codesOf('learning: on')).toEqual(changed(11));
  });

  test('`learning` has no effect in version 2 of the language, as in version 1', () => {
    const text = `${SMALL.replace('version: 1', 'version: 2')}learning: { mode: on }\n`;
    expect(loadText(text).diagnostics.map(brief)).toEqual(changed(13));
  });
});

test('the section `learning` may be spread over several files', () => {
  const files = [SMALL, 'learning: shadow', 'learning: { explore: {} }'];
  const { snapshot, diagnostics } = load(files.map((text, at) => ({ path: `${at}.yaml`, text })));
  expect(snapshot).not.toBeNull();
  expect(diagnostics.map(({ code }) => code)).toEqual(['former-key', 'choices-changed']);
});

test('an estimator in a plugin of the policy is ignored with a warning, and the other plugins of its module work', () => {
  const policy = { path: 'p.yaml', text: `${SMALL}plugins: [./mine.ts]\n` };
  const modules = { plugins: new Map([['./mine.ts', []]]), estimators: new Map([['./mine.ts', ['mine']]]) };
  const { snapshot, diagnostics } = load([policy], {}, modules);
  expect(diagnostics.map(brief)).toEqual(['14:11 former-plugin']);
  expect(diagnostics[0]?.hint).toContain('/docs/guide/route/learning.md');
  expect(snapshot).not.toBeNull();
});
