import { describe, expect, test } from 'bun:test';
import { adviceOf, answerOf } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { withKey } from '../support/signalbox.ts';
import { useSignalbox } from '../support/use.ts';
import { ASKED, chat, hi, MAX, useCappingModels } from './capping-models.ts';

const { policyOf, sent } = useCappingModels();
const box = useSignalbox(() => ({
  policy: policyOf({
    more: `budgets:
  - { name: purse, each: key, match: 'key.labels.purse == "yes"', limit_credits: 3, window: total }
`,
  }),
}));

describe('`constraints.min_output_tokens`', () => {
  const least = (min_output_tokens: unknown) => ({ constraints: { min_output_tokens } });

  test('models that cannot return `min_output_tokens` are rejected, in each dialect', async () => {
    const more = { model: 'auto', ...least(MAX.small + 1) };
    expect((await answerOf(await chat(box, more))).platform.routed_model).toBe('large');
    const inMessages = await box.post('/v1/messages', { ...more, messages: hi, max_tokens: ASKED });
    expect(((await inMessages.json()) as { model: string }).model).toBe('large');
    const inResponses = await box.post('/v1/responses', { ...more, input: 'hi', max_output_tokens: ASKED });
    expect(((await inResponses.json()) as { model: string }).model).toBe('large');
    const advice = await adviceOf(await box.post('/v1/route', { task_type: 'general', ...least(MAX.small + 1) }));
    expect(advice.recommended_model).toBe('large');
    expect(advice.alternatives).toEqual([]);
  });

  test('`min_output_tokens` raises the output limit of a request without `max_tokens`', async () => {
    const { platform } = await answerOf(await chat(box, { max_tokens: undefined, ...least(2_000) }));
    expect(platform).not.toHaveProperty('output_capped_by');
    expect(sent().max_tokens).toBe(2_000);
  });

  test('a budget refuses a request instead of limiting its output below `min_output_tokens`', async () => {
    const key = await box.makeKey('--label', 'purse=yes');
    await expectError(await chat(box, least(1_000), withKey(key)), 'request_exceeds_budget');
    const { message } = await expectError(
      await chat(box, { ...least(1_000), budget_limit: 2 }),
      'budget_limit_too_low',
      'budget_limit',
    );
    expect(message).toContain(`${(34 + 4_000) / 1_000} Credits`);
  });

  test('`min_output_tokens` above every maximum is refused, and the error has a value that would be served', async () => {
    const { message } = await expectError(await chat(box, least(3_000)), 'no_eligible_model');
    expect(message).toContain(`change min_output_tokens from 3000 to ${MAX.small} to use \`small\``);
  });

  test('`min_output_tokens` that does not fit into the window with the prompt is refused with a value that would be served', async () => {
    const asked = (most: number) => ({ model: 'narrow', estimated_input_tokens: 2_000, ...least(most) });
    const refusal = await box.post('/v1/route', asked(2_500));
    const { message } = await expectError(refusal, 'context_length_exceeded', 'constraints.min_output_tokens');
    expect(message).toContain('`min_output_tokens` is 2500');
    expect(message).toContain('Set `min_output_tokens` to 2096 or less.');
    expect((await box.post('/v1/route', asked(2_096))).status).toBe(200);
    const long = { ...asked(2_500), estimated_input_tokens: 4_095 };
    const { message: other } = await expectError(
      await box.post('/v1/route', long),
      'context_length_exceeded',
      'estimated_input_tokens',
    );
    expect(other).not.toContain('min_output_tokens');
  });

  test.each([
    [0, 'out_of_range'],
    [-5, 'out_of_range'],
    [1.5, 'invalid_type'],
    ['many', 'invalid_type'],
    [ASKED + 1, 'out_of_range'],
  ] as const)('`min_output_tokens` of %p is an error that names the field', async (value, code) => {
    await expectError(await chat(box, least(value)), code, 'constraints.min_output_tokens');
  });

  test('`min_output_tokens` is an error for embeddings, which have no output tokens', async () => {
    const response = await box.post('/v1/embeddings', { model: 'small', input: 'hi', ...least(5) });
    await expectError(response, 'unsupported_parameter', 'constraints.min_output_tokens');
  });

  test('`min_output_tokens` of null counts as absent', async () => {
    expect((await chat(box, least(null))).status).toBe(200);
    const messages = { model: 'claude', messages: hi, max_tokens: 10, ...least(null) };
    expect((await box.post('/v1/messages', messages)).status).toBe(200);
  });
});
