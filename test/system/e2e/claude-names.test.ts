import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { testPolicy } from '../../support/policies.ts';
import type { Signalbox } from '../../support/signalbox.ts';
import { useSignalbox, useUpstream } from '../../support/use.ts';
import { withDoubles } from '../first-hour/stage.ts';

/** The names of Claude models that clients of Anthropic send, under the shipped policy and under a user's policy. */
const doubles = withDoubles(join(import.meta.dir, '../../../policies'));
afterAll(() => doubles.stop());

const simulated = useSignalbox();
const withAnthropic = useSignalbox({
  args: ['--policies', doubles.policies],
  env: { ANTHROPIC_API_KEY: doubles.env.ANTHROPIC_API_KEY! },
});

/** Returns the meaning of a name: the selector or model in the facts of the decision, or the error code. */
async function meaningOf(box: Signalbox, model: string): Promise<unknown> {
  const response = await box.post('/v1/route', { model, messages: [{ role: 'user', content: 'Say hello.' }] });
  const { decision_id: id, error } = (await response.json()) as { decision_id: string; error?: { code: string } };
  if (error) return error.code;
  const decision = await box.get(`/v1/decisions/${id}`);
  return ((await decision.json()) as { facts: { model: string } }).facts.model;
}

describe('without a key of Anthropic', () => {
  test.each([
    ['claude-opus-4-8', 'auto'],
    ['claude-opus-4-8[1m]', 'auto'],
    ['claude-opus-4-8[1M]', 'auto'],
    ['claude-opus-5-5', 'auto'],
    ['claude-opus-9-20290101', 'auto'],
    ['claude-sonnet-4-6-20260101', 'auto'],
    ['claude-sonnet-5-5', 'auto'],
    ['claude-haiku-9', 'auto-cheap'],
    ['claude-haiku-4-5-20251001', 'auto-cheap'],
    ['claude-auto', 'auto'],
    ['claude-saga-6', 'model_not_found'],
  ])('%s means %s', async (name, meaning) => {
    expect(await meaningOf(simulated, name)).toBe(meaning);
  });
});

describe('with a key of Anthropic', () => {
  test.each([
    ['claude-opus-5-5', 'claude-opus-5-5'],
    ['claude-opus-5-5[1m]', 'claude-opus-5-5'],
    ['claude-opus-5-5[1M]', 'claude-opus-5-5'],
    ['claude-opus-5-5-20260922', 'claude-opus-5-5'],
    ['claude-sonnet-5-5', 'claude-sonnet-5-5'],
    ['claude-haiku-4-5-20251001', 'claude-haiku-4-5'],
    // This model is not in the catalog but has public figures, so the provider's wildcard serves it.
    ['claude-opus-4-8', 'anthropic/claude-opus-4-8'],
    ['claude-opus-4-8[1m]', 'anthropic/claude-opus-4-8'],
    ['claude-opus-9', 'auto'],
    ['claude-opus-9[1m]', 'auto'],
    ['claude-sonnet-9-20290101', 'auto'],
    ['claude-haiku-9', 'auto-cheap'],
  ])('%s means %s', async (name, meaning) => {
    expect(await meaningOf(withAnthropic, name)).toBe(meaning);
  });
});

describe('in a policy of a user', () => {
  const upstream = useUpstream();
  const policyWith = (more = '') =>
    testPolicy(
      { fake: upstream.url },
      {
        'claude-opus-7': { endpoints: ['fake'] },
        other: { endpoints: ['fake'], more: '    aliases: [claude-opus-4-*]\n' },
      },
      `selectors:
  auto: { strategy: auto, aliases: ["claude-*"] }
  auto-cheap: { strategy: auto-cheap, aliases: ["claude-opus-4-8-*"] }
${more}`,
    ).replace(
      'providers:\n',
      `providers:\n  anthropic: { preset: anthropic, base_url: "${upstream.url}", api_key_env: TEST_UPSTREAM_KEY, serves: "*" }\n`,
    );
  const box = useSignalbox(() => ({ policy: policyWith() }));
  const stated = useSignalbox(() => ({ policy: policyWith('alias_patterns: all_names\n') }));

  test.each([
    ['claude-opus-7', 'claude-opus-7'],
    ['claude-opus-7[1m]', 'unsupported_parameter'],
    ['claude-opus-7[1M]', 'unsupported_parameter'],
    ['claude-opus-8', 'auto'],
    ['claude-opus-4-77', 'other'],
    ['claude-opus-4-8-x', 'auto-cheap'],
  ])('%s means %s: a model comes before a pattern, and the longest pattern comes first', async (name, meaning) => {
    for (const one of [box, stated]) expect(await meaningOf(one, name)).toBe(meaning);
  });

  test('a known model of a wildcard keeps its name; with `all_names`, patterns apply to it', async () => {
    expect(await Promise.all([box, stated].map((one) => meaningOf(one, 'claude-sonnet-4-6')))).toEqual([
      'anthropic/claude-sonnet-4-6',
      'auto',
    ]);
  });
});
