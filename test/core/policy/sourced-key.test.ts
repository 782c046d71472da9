import { expect, test } from 'bun:test';
import { HOST_PATTERN, mayReceive } from '../../../src/core/policy/sourced-key.ts';

const CASES: readonly (readonly [host: string, url: string, may: boolean])[] = [
  ['api.example.com', 'https://api.example.com/v1', true],
  ['api.example.com', 'https://api.example.com:8443', true],
  ['api.example.com', 'https://API.EXAMPLE.COM/', true],
  ['api.example.com', 'https://example.com', false],
  ['api.example.com', 'https://api.example.com.evil.net', false],
  ['api.example.com', 'https://api.example.com@evil.net', false],
  ['api.example.com', 'http://api.example.com', false],
  ['http://api.example.com', 'http://api.example.com', true],
  ['http://api.example.com', 'https://api.example.com', true],
  ['127.0.0.1', 'http://127.0.0.1:8000/v1', true],
  ['localhost', 'http://localhost:8000/v1', true],
  ['[::1]', 'http://[::1]:8000/v1', true],
  ['10.0.0.5', 'http://10.0.0.5:8000', false],
  ['*.example.com', 'https://a.example.com', true],
  ['*.example.com', 'https://example.com', false],
  ['*.example.com', 'https://a.b.example.com', false],
  ['*.example.com', 'https://evilexample.com', false],
  ['*-aiplatform.googleapis.com', 'https://europe-west4-aiplatform.googleapis.com/v1', true],
  ['*-aiplatform.googleapis.com', 'https://aiplatform.googleapis.com/v1', false],
  ['*-aiplatform.googleapis.com', 'https://evil.net-aiplatform.googleapis.com', false],
  ['*-aiplatform.googleapis.com', 'https://-aiplatform.googleapis.com', false],
];

for (const [host, url, may] of CASES) {
  test(`a token for ${host} ${may ? 'may' : 'may not'} be sent to ${url}`, () => {
    expect(mayReceive([host], url)).toBe(may);
    expect(new RegExp(HOST_PATTERN.pattern).test(host)).toBe(true);
  });
}

test('an entry with a port, a path, no dot after its star, or a star elsewhere has the wrong form', () => {
  const form = new RegExp(HOST_PATTERN.pattern);
  for (const host of [
    '*',
    '*.com',
    'a.*.com',
    '**.example.com',
    'https://a.example',
    'a.example:443',
    'a.example/v1',
    '',
  ])
    expect([host, form.test(host)]).toEqual([host, false]);
});
