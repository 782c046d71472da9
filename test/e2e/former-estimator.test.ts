import { expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TOY } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import { startSignalbox, temporaryFolder } from '../support/signalbox.ts';

/** A plugin module written for earlier versions that learned from outcomes: an estimator, and a strategy that still works. */
const MODULE = `import { defineEstimator, defineStrategy, moved, Type, type Estimator, type Finding } from 'signalbox/plugin';

export const tally = defineEstimator({
  name: 'tally',
  status: 'alpha',
  options: Type.Object({ worth: Type.Number({ default: 50 }) }),
  prepare: ({ worth }, secret) => ({
    read: (text: string) => Uint8Array.of(text.length & 255),
    open: () => ({
      over: (): Estimator => ({
        estimate: ({ declared }: { declared: Float64Array }, into: Finding) => into.quality.set(declared.map((q) => moved(q, 1))),
      }),
    }),
  }),
});
export const lazy = defineStrategy({
  name: 'lazy',
  status: 'alpha',
  options: Type.Object({}),
  prepare: () => ({ reason: 'lazy', score: ({ n }, out) => void out.fill(1, 0, n) }),
});
`;
const LEARNING = 'learning: { mode: on, estimator: tally, options: { worth: 7 } }\n';

test('the server serves a policy with an estimator, and every check of the policy warns at the plugin and at the section', async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'plugins'));
  writeFileSync(join(folder, 'plugins/mine.ts'), MODULE);
  const more = `plugins: [./plugins/mine.ts]\nselectors: { auto-lazy: { strategy: lazy } }\n${LEARNING}`;
  writeFileSync(join(folder, 'policy.yaml'), `${TOY}${more}`);
  const { code, out } = await runHere(['policy', 'check', '--json', folder]);
  expect(code).toBe(0);
  const { diagnostics } = JSON.parse(out) as { diagnostics: { code: string; severity: string }[] };
  const ofLearning = diagnostics.filter(({ code }) => /former|choices/.test(code));
  expect(ofLearning.map(({ code, severity }) => `${severity} ${code}`).sort()).toEqual([
    'warning choices-changed',
    'warning former-key',
    'warning former-plugin',
  ]);
  const box = await startSignalbox({ args: ['--policies', folder] });
  const messages = [{ role: 'user', content: 'Hello.' }];
  const answer = await box.post('/v1/chat/completions', { model: 'auto-lazy', messages, max_tokens: 8 });
  expect(answer.status).toBe(200);
  const decision = await box.get(`/v1/decisions/${answer.headers.get('x-signalbox-decision-id')}`);
  expect(await decision.json()).toMatchObject({ route_reason: 'auto-lazy:lazy', learning: null });
  await box.stop();
});
