import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { shipped } from '../../plugins/index.ts';
import { decideFor, hypotheticalFacts } from '../../src/admin/use-cases/policy/hypothetical.ts';
import { USUAL_TIME } from '../../src/admin/use-cases/policy/reasons.ts';
import { OPERATOR } from '../../src/core/people/caller.ts';
import { createRegistry } from '../../src/host/plugins/registry.ts';
import { buildRuntime, type Runtime } from '../../src/policy/runtime/runtime.ts';
import { isRefusal } from '../../src/routing/decide.ts';
import { runtimeWith } from '../panel/decide.ts';
import { SELECTORS } from '../panel/judge.ts';
import { PARTS, panelOf } from '../panel/panel.ts';
import { loaded } from '../routing/build.ts';
import { chatRequest } from '../support/model-request.ts';

const KEYS = { OPENAI_API_KEY: 'key-of-the-test', ANTHROPIC_API_KEY: 'key-of-the-test' };
const THREE = ['gpt-6.1-sol', 'gpt-6-luna', 'claude-sonnet-5-5'];
const handWritten = readFileSync(new URL('three-models.yaml', import.meta.url), 'utf8');
const panel = PARTS.flatMap((part) => panelOf(part));

/** Returns the choice and the estimates of the three models for each request of the panel and each selector. */
function decidedBy(runtime: Runtime): string[] {
  const caller = { ...OPERATOR, models: new Set(THREE) };
  return panel.flatMap(({ id, body }) =>
    SELECTORS.map((model) => {
      const request = chatRequest({ ...body, model });
      const facts = hypotheticalFacts({ request, caller, timeMs: Date.parse(USUAL_TIME) }, runtime);
      const outcome = decideFor(facts, runtime);
      if (isRefusal(outcome)) return `${id} ${model} refused`;
      const estimates = outcome.ranked.map((one) => [
        runtime.snapshot.models[one.model]!.id,
        one.quality,
        one.costCredits,
        one.latencyMs,
      ]);
      return `${id} ${model} ${estimates.map(String).join(' ')}`;
    }),
  );
}

test('a policy of three models chooses for every request of the panel as the shipped policy does for a key with these models', () => {
  const runtime = buildRuntime(loaded(handWritten, KEYS), createRegistry(shipped), { get: () => 'x' });
  const ofShipped = decidedBy(runtimeWith({ name: 'two', providers: ['openai', 'anthropic'] }));
  expect(ofShipped.length).toBeGreaterThan(500);
  expect(decidedBy(runtime)).toEqual(ofShipped);
});
