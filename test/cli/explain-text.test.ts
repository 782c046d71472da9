import { describe, expect, test } from 'bun:test';
import { certificateText } from '../../src/cli/policy/explain-text.ts';
import { paragraphs } from '../../src/cli/terminal.ts';
import type { PreparedStrategy, RequestStrategy } from '../../src/contract/strategy.ts';
import { textsOf } from '../../src/core/decision/sentence.ts';
import { CAPABILITIES } from '../../src/core/request/capability.ts';
import { certify } from '../../src/routing/certify.ts';
import { story } from '../../src/routing/story.ts';
import { byQuality, facts, model, snapshot, usual, withOrders } from '../routing/build.ts';

const LONG = 'a-long-name-of-a-model-'.repeat(5);
const sees = { capabilities: CAPABILITIES.vision.bit };
const asked = facts({ needs: CAPABILITIES.vision.bit, languages: ['cobol', 'fortran', 'haskell', 'typescript'] });
const knows = { languages: new Set(asked.languages) };
const from = snapshot([
  model(`${LONG}1`, { ...sees, ...knows }),
  model(`${LONG}2`, { ...sees, ...knows, q: 0.7 }),
  model(`${LONG}3`, { maxOutput: 100 }),
]);
const certificateBy = (strategy: PreparedStrategy) =>
  certify(from, asked, { id: 0, seed: '0', reason: 'auto:usual', strategy });

/** A strategy with more parts than fit on a line. */
const talkative: RequestStrategy = {
  ...byQuality,
  parts: ({ quality }, at) =>
    Object.fromEntries([...Array(20).keys()].map((part) => [`part number ${part}`, quality[at]! / 20])),
};

describe('the printed table of candidates', () => {
  test('the printed table fits into 100 columns of a terminal, whatever the names and parts', () => {
    for (const strategy of [usual('auto'), usual('auto-fast'), talkative]) {
      const certificate = certificateBy(strategy);
      const text = Bun.stripANSI(
        certificateText(certificate, true) + paragraphs(textsOf(story(certificate, asked)), true),
      );
      // A name that is longer than a line is not shortened in the sentences.
      const lines = text.split('\n').filter((line) => !line.startsWith(LONG) || line.includes(' '));
      expect(lines.length).toBeGreaterThan(8);
      for (const line of lines.filter((one) => !one.includes(LONG))) expect(line.length).toBeLessThanOrEqual(100);
    }
  });

  test('the printed table contains no terminal commands from a plugin', () => {
    const rude: RequestStrategy = { ...byQuality, parts: ({ quality }, at) => ({ '\u001b[2Jgone': quality[at]! }) };
    const certificate = certificateBy(rude);
    const text = certificateText(certificate, false) + paragraphs(textsOf(story(certificate, asked)), false);
    expect(text).toContain('[2Jgone');
    expect(text).not.toContain('\u001b');
  });

  test('the printed table has colours only on a terminal, and whole names elsewhere', () => {
    const certificate = certificateBy(usual('auto'));
    expect(certificateText(certificate, true)).toContain('\u001b[1m');
    const plain = certificateText(certificate, false);
    expect(plain).not.toContain('\u001b');
    for (const at of [1, 2, 3]) expect(plain).toContain(`${LONG}${at}  `);
    expect(plain).toContain(
      'it lacks vision; the policy does not say whether it handles cobol, fortran, haskell, typescript\n',
    );
  });

  test('the printed text contains no terminal commands from a caller’s words', () => {
    const hostile = facts({ languages: ['go\u001b]0;owned\u0007', 'a\u202eb'] });
    const certificate = certify(from, hostile, { id: 0, seed: '0', reason: 'auto:usual', strategy: usual('auto') });
    const text = certificateText(certificate, false) + paragraphs(textsOf(story(certificate, hostile)), false);
    expect(text).toContain('go�]0;owned�, a�b');
    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  test('models that an order ranks have no column for a utility', () => {
    const two = withOrders(snapshot([model('good', { q: 0.9 }), model('near', { q: 0.88 })]));
    const given = { id: 0, seed: '0', reason: 'auto', strategy: usual('auto') };
    expect(certificateText(certify(two, facts(), given), false)).toBe(
      `   model  quality  Credits  latency  source
1  good    90.0 %      2.1    4.5 s  stated
2  near    88.0 %      2.1    4.5 s  stated
`,
    );
  });

  test('figures are aligned to the right, and each part of a utility has its own column', () => {
    const two = snapshot([model('good', { q: 0.9 }), model('poor', { q: 0.5 })]);
    const given = { id: 0, seed: '0', reason: 'weighted', strategy: usual('weighted') };
    expect(certificateText(certify(two, facts(), given), false)).toBe(
      `   model  quality  Credits  latency  source  utility  = quality   + cost
1  good    90.0 %      2.1    4.5 s  stated   0.4250     0.4500  -0.0250
2  poor    50.0 %      2.1    4.5 s  stated   0.2250     0.2500  -0.0250
`,
    );
  });
});
