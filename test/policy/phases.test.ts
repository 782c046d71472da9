import { describe, expect, test } from 'bun:test';
import type { PolicySnapshot } from '../../src/core/policy/snapshot.ts';
import { caseDiagnostics } from '../../src/policy/cases/failures.ts';
import { compileSteps } from '../../src/policy/compile.ts';
import { compilePolicy, parsePolicy } from '../../src/policy/load.ts';
import { diagnosticsBody, formatDiagnostics } from '../../src/policy/report/diagnostics.ts';
import { LANGUAGE_POLICY } from './language-policy.ts';
import { shippedContext } from './shipped.ts';
import { loadText, SMALL, shippedPolicy } from './support.ts';

const context = shippedContext({});
const plain = (snapshot: PolicySnapshot | null) =>
  JSON.stringify(snapshot, (_, value) => {
    if (typeof value === 'bigint') return `${value}`;
    return value instanceof Map || value instanceof Set ? [...value] : value;
  });

describe('a policy is loaded in two phases:', () => {
  test('the first phase returns plain data, and a clone of that data compiles to the same snapshot', () => {
    for (const files of [shippedPolicy(), LANGUAGE_POLICY]) {
      const parsed = parsePolicy(files);
      const there = compilePolicy(structuredClone(parsed), context);
      const here = compilePolicy(parsed, context);
      expect(there.diagnostics).toEqual(here.diagnostics);
      expect(there.snapshot).not.toBeNull();
      expect(plain(there.snapshot)).toBe(plain(here.snapshot));
    }
  });

  test('the second phase has at least one step for each provider, selector, rule and model', () => {
    const text = `${SMALL}constraints:\n  - { name: a, max_cost_credits: 1 }\n  - { name: b, require: model.price.output < 1.0 }\n`;
    const steps = compileSteps(parsePolicy([{ path: 'p.yaml', text }]), context);
    let count = 0;
    for (;;) {
      const step = steps.next();
      if (step.done) {
        expect(step.value.snapshot?.constraints.length).toBe(2);
        break;
      }
      count++;
    }
    expect(count).toBeGreaterThan(10);
  });

  test('problems of both phases are sorted together', () => {
    const text = `${SMALL}baseline: tinny\nselectors: { mine: { strategy: atuo } }\n`;
    const found = loadText(text).diagnostics.map(({ line, code }) => `${line} ${code}`);
    expect(found).toEqual(['14 unknown-reference', '15 unknown-reference']);
  });

  test('the first phase lists the plugins to load before the second phase', () => {
    const parsed = parsePolicy([{ path: 'p.yaml', text: `${SMALL}plugins: [./a.ts, '@acme/b']\n` }]);
    expect(parsed.drafts.plugins.map(({ specifier }) => specifier)).toEqual(['./a.ts', '@acme/b']);
  });
});

describe('diagnostics', () => {
  const { diagnostics } = loadText(`${SMALL}modles: {}\n`);
  const files = [{ path: 'p.yaml', text: `${SMALL}modles: {}\n` }];

  test('diagnostics have colours only on request', () => {
    expect(formatDiagnostics(diagnostics, files)).not.toContain('\u001b');
    const coloured = formatDiagnostics(diagnostics, files, { colour: true });
    expect(coloured).toContain('\u001b[31munknown-key\u001b[0m');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the escape codes of a terminal are what this is about
    expect(coloured.replace(/\u001b\[\d+m/g, '')).toBe(formatDiagnostics(diagnostics, files));
  });

  test('diagnostics have a form for programs, with counts', () => {
    expect(diagnosticsBody(diagnostics, [])).toMatchObject({
      errors: 1,
      warnings: 0,
      diagnostics: [{ file: 'p.yaml', line: 14, column: 1, length: 6, code: 'unknown-key', severity: 'error' }],
    });
  });

  test('diagnostics place carets correctly below wide characters and after tabs', () => {
    const text = "tasks:\n  '日本': 1\t# 🚆\n";
    const [found] = loadText(SMALL + text).diagnostics;
    const printed = formatDiagnostics(found ? [{ ...found, line: 2, column: 3, length: 4, file: 'x' }] : [], [
      { path: 'x', text },
    ]);
    expect(printed).toContain("> 2 |   '日本': 1\t# 🚆\n    |   ^^^^^^");
    const after = formatDiagnostics(found ? [{ ...found, line: 2, column: 11, length: 4, file: 'x' }] : [], [
      { path: 'x', text },
    ]);
    expect(after).toContain('\n    |            \t^^^^');
  });

  test('diagnostics show only the part of a long line around the location', () => {
    const text = `${SMALL}tasks: { ${'a: {}, '.repeat(300)}oops: 7 }\n`;
    const found = loadText(text).diagnostics.filter(({ message }) => message.includes('oops'));
    const printed = formatDiagnostics(found, [{ path: 'p.yaml', text }]);
    expect(Math.max(...printed.split('\n').map((line) => line.length))).toBeLessThan(180);
    const [, shown = '', carets = ''] = /> 14 \| (.*)\n +\| (.*)/.exec(printed) ?? [];
    expect(shown[carets.indexOf('^')]).toBe('7');
  });

  test('diagnostics do not count a byte order mark as a column', () => {
    expect(loadText(`\ufeff${SMALL}modles: {}\n`).diagnostics).toMatchObject([{ line: 14, column: 1 }]);
    expect(loadText(`\ufeffversion: 1\n`).diagnostics[0]).toMatchObject({ line: 1 });
  });

  test('diagnostics include failed test cases with their location', () => {
    const place = { file: 'p.yaml', line: 2, column: 3 };
    const [found] = caseDiagnostics([{ case: { name: 'cheap', place }, message: 'chose x', expected: 'model y' }]);
    expect(found).toEqual({
      ...place,
      length: 1,
      severity: 'error',
      code: 'case-failed',
      message: 'case `cheap` failed: chose x',
      expected: 'model y',
    });
  });
});
