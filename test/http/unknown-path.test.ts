import { expect, test } from 'bun:test';
import { type RouteRule, RouteTable } from '../../src/http/kit/route-table.ts';
import { nothingAt } from '../../src/http/kit/unknown-path.ts';

const SERVED = 'Signalbox serves chat at /v1/chat/completions, /v1/messages, and embeddings at /v1/embeddings.';
const rule = (method: string, path: string, operation?: RouteRule['operation']): RouteRule => ({
  method,
  path,
  access: 'models.read',
  operation,
});
const routes = new RouteTable([
  rule('POST', '/v1/chat/completions', 'chat'),
  rule('POST', '/v1/messages', 'chat'),
  rule('POST', '/v1/embeddings', 'embed'),
  rule('POST', '/v1/route'),
  rule('GET', '/v1/models'),
  rule('GET', '/v1/models/*'),
  rule('GET', '/v1/decisions/:id'),
  rule('GET', '/v1/payments/:id'),
  rule('POST', '/v1/messages/count_tokens'),
  rule('GET', '/admin/keys'),
  rule('GET', '/healthz'),
]);
const help = (path: string): string => nothingAt(path, routes).message.replace(/^There is nothing at \S+\. /, '');

test('the error for an unknown path names the path that was probably meant', () => {
  const cases = {
    '/chat/completions': 'Use /v1/chat/completions. The base URL of a client ends with /v1.',
    '/decisions/dec_1': 'Use /v1/decisions/dec_1. The base URL of a client ends with /v1.',
    '/v1/v1/chat/completions': 'Use /v1/chat/completions.',
    '/v1/chat/completions/': 'Use /v1/chat/completions.',
    '//v1//chat/completions': 'Use /v1/chat/completions.',
    '/v1/chat/completion': 'Did you mean `/v1/chat/completions`?',
    '/chat/completion': 'Did you mean `/v1/chat/completions`?',
    '/v1/chat': 'Did you mean `/v1/chat/completions`?',
    '/v1/model': 'Did you mean `/v1/models`?',
    '/admin/key': 'Did you mean `/admin/keys`?',
    '/healthy': 'Did you mean `/healthz`?',
    '/healthz/liveliness': 'Did you mean `/healthz`?',
    '/v1/decision/dec_1': 'Did you mean `/v1/decisions/dec_1`?',
    '/decision/dec_1': 'Did you mean `/v1/decisions/dec_1`?',
    '/v1/messages/count_token': 'Did you mean `/v1/messages/count_tokens`?',
    '/messages/count-tokens': 'Did you mean `/v1/messages/count_tokens`?',
  };
  expect(Object.fromEntries(Object.keys(cases).map((path) => [path, help(path)]))).toEqual(cases);
});

test('the error for a path of LiteLLM’s management names the path and the command of Signalbox', () => {
  expect(help('/key/generate')).toBe('In Signalbox this is POST /admin/keys, or the command `signalbox keys create`.');
  expect(help('/v1/key/info')).toBe('In Signalbox this is /admin/keys, or the command `signalbox keys`.');
  expect(help('/global/spend/report')).toContain('`signalbox ledger usage`');
});

test('the error for a path of another API names that API, with or without /v1', () => {
  const apis = {
    '/v1/messages/batches': 'this part of Anthropic’s API',
    '/v1/responses/resp_1': 'this part of OpenAI’s Responses',
    '/v1/images/generations': 'images',
    '/api/chat': 'Ollama’s API',
  };
  for (const [path, name] of Object.entries(apis))
    expect(help(path)).toBe(`Signalbox does not serve ${name} yet. ${SERVED}`);
});

test('the error for an unknown path that resembles no known path lists the paths, and shortens a long path', () => {
  expect(help('/probe/liveliness')).toBe(`${SERVED} /docs lists every path.`);
  expect(help('/v1/frobnicate')).toBe(`${SERVED} /docs lists every path.`);
  expect(nothingAt(`/${'x'.repeat(5000)}`, routes).message.length).toBeLessThan(250);
});
