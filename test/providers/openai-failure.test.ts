import { describe, expect, test } from 'bun:test';
import { openaiAdapter } from '../support/provider-call.ts';

const failure = (status: number, body: unknown) =>
  openaiAdapter().failure(status, new Headers(), typeof body === 'string' ? body : JSON.stringify(body));
const error = (fields: object) => ({ error: { message: 'm', ...fields } });

describe('a status outside 2xx', () => {
  test.each<[number, string]>([
    [400, 'rejected'],
    [401, 'auth'],
    [402, 'credit'],
    [403, 'auth'],
    [404, 'not_found'],
    [405, 'rejected'],
    [408, 'timeout'],
    [409, 'server'],
    [413, 'context'],
    [422, 'rejected'],
    [429, 'rate_limited'],
    [499, 'server'],
    [500, 'server'],
    [502, 'server'],
    [503, 'overloaded'],
    [504, 'timeout'],
    [529, 'overloaded'],
  ])('%d is of kind %s', (status, kind) => {
    expect(failure(status, error({}))).toEqual({ kind: kind as 'auth', message: 'm', status });
  });

  test.each<[object, string]>([
    [{ code: 'context_length_exceeded' }, 'context'],
    [{ message: "This model's maximum context length is 8192 tokens." }, 'context'],
    [{ message: 'prompt is too long: 210000 tokens > 200000 maximum' }, 'context'],
    [{ message: 'Please reduce the length of the messages.' }, 'context'],
    [{ message: 'Incorrect API key provided' }, 'auth'],
    [{ message: 'API key not valid. Please pass a valid API key.' }, 'auth'],
    [{ code: 'model_not_found' }, 'not_found'],
    [{ message: 'Invalid value for tools', type: 'invalid_request_error' }, 'rejected'],
    [{ type: 'overloaded_error' }, 'rejected'],
  ])('400 with %j is of kind %s', (fields, kind) => {
    expect(failure(400, error(fields)).kind as string).toBe(kind);
  });

  test.each([
    [400, { code: 'content_filter', innererror: { code: 'ResponsibleAIPolicyViolation' } }, true],
    [400, { code: 'content_policy_violation' }, true],
    [
      400,
      { code: 'invalid_prompt', message: 'Invalid prompt: your prompt was flagged as potentially violating.' },
      true,
    ],
    [400, { code: 'data_inspection_failed' }, true],
    [400, { message: 'Content Exists Risk' }, true],
    [403, { message: 'Your input was flagged', metadata: { reasons: ['violence'] } }, true],
    [400, { code: 'invalid_prompt', message: 'Invalid prompt: it is empty.' }, false],
    [400, { message: 'Say whether this is a content exists risk.' }, false],
  ])('%d with %j is rejected, by a content filter: %p', (status, fields, byFilter) => {
    const { kind, ofFilter } = failure(status, error(fields));
    expect([kind, ofFilter]).toEqual(['rejected', byFilter ? true : undefined]);
  });

  test.each([
    ['The model `gpt-9` does not exist or you do not have access to it.', true],
    ['The model: `gpt-9` does not exist', true],
    ["The requested model 'gpt-9' does not exist.", true],
    ['model "gpt-9" not found, try pulling it first', true],
    ['Model not found, inaccessible, and/or not deployed', true],
    ['Model Not Exist', true],
    ['Invalid model: gpt-9', true],
    ['Invalid model name passed in model=gpt-9', true],
    ['Unknown Model, please check the model code.', true],
    ['Not found the model gpt-9 or Permission denied', true],
    ['Unable to access model gpt-9. Please visit the list of models', true],
    ['x-ai/gpt-9 is not a valid model ID', true],
    ['No endpoints found for x-ai/gpt-9.', true],
    ['No endpoints found that support tool use.', false],
    ['No endpoints found matching your data policy', false],
    ['File not found: the model `gpt-9` does not exist', false],
    ['Model gpt-9 cannot read it: file file-1 not found', false],
    ['Invalid model parameter', false],
    ['Not Found', false],
  ])('404 “%s” says that the model is unknown: %p', (message, is) => {
    expect(failure(404, error({ message }))).toMatchObject({ kind: 'not_found' });
    expect(failure(404, error({ message })).unknownModel).toBe(is || undefined);
    expect(failure(404, error({ message, param: 'tools[0].model' })).unknownModel).toBeUndefined();
  });

  test('for a single request above the limit per minute does not block other requests', () => {
    const message =
      'Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 46530.';
    const fields = { type: 'tokens', code: 'rate_limit_exceeded' };
    expect(failure(429, error({ ...fields, message })).kind).toBe('context');
    expect(failure(413, error({ ...fields, message })).kind).toBe('context');
    expect(failure(429, error({ ...fields, message: 'Rate limit reached for gpt-4o' })).kind).toBe('rate_limited');
  });

  test.each<[unknown, string]>([
    [{ error: { message: 'a\n  b' } }, 'a b'],
    [{ error: 'flat' }, 'flat'],
    [{ message: 'top' }, 'top'],
    [{ detail: 'fast' }, 'fast'],
    [{ detail: [{ msg: 'field required' }] }, 'field required'],
    ['plain text', 'plain text'],
    ['<html><body>502</body></html>', 'status 500'],
    ['', 'status 500'],
    ['null', 'null'],
  ])('has the explanation from wherever the upstream puts it: %j', (body, message) => {
    expect(failure(500, body).message).toBe(message);
  });

  test('is explained in one line of at most 300 characters', () => {
    const { message } = failure(400, error({ message: 'long\n'.repeat(10_000) }));
    expect(message.length).toBe(300);
    expect(message).not.toContain('\n');
  });
});
