import { expect, test } from 'bun:test';
import { proxyFor } from '../../../src/providers/connection/network.ts';

const P = 'http://proxy.example:3128';
const Q = 'http://other.example:3128';

test.each<[string, Record<string, string>, string | null]>([
  ['https://api.example/v1', {}, null],
  ['https://api.example/v1', { HTTPS_PROXY: P }, P],
  ['https://api.example/v1', { https_proxy: P, HTTPS_PROXY: Q }, P],
  ['https://api.example/v1', { https_proxy: '', HTTPS_PROXY: P }, P],
  ['https://api.example/v1', { HTTP_PROXY: P }, null],
  ['http://api.example/v1', { HTTP_PROXY: P }, P],
  ['http://api.example/v1', { HTTPS_PROXY: P }, null],
  ['http://api.example/v1', { ALL_PROXY: P }, P],
  ['http://api.example/v1', { ALL_PROXY: Q, HTTP_PROXY: P }, P],
  ['http://api.example/v1', { HTTP_PROXY: 'proxy.example:3128' }, P],
  ['http://api.example/v1', { HTTP_PROXY: '""' }, null],
  ['http://api.example/v1', { HTTP_PROXY: P, NO_PROXY: '*' }, null],
  ['http://api.example/v1', { HTTP_PROXY: P, NO_PROXY: 'a, api.example' }, null],
  ['http://api.example/v1', { HTTP_PROXY: P, NO_PROXY: '.EXAMPLE' }, null],
  ['http://api.example/v1', { HTTP_PROXY: P, NO_PROXY: '*.example' }, null],
  ['http://api.example./v1', { HTTP_PROXY: P, no_proxy: 'api.example.' }, null],
  ['http://api.example/v1', { HTTP_PROXY: P, NO_PROXY: 'pi.example' }, P],
  ['http://api.example/v1', { HTTP_PROXY: P, NO_PROXY: 'a,,b, ' }, P],
  ['http://api.example/v1', { HTTP_PROXY: P, NO_PROXY: 'api.example:80' }, null],
  ['http://api.example/v1', { HTTP_PROXY: P, NO_PROXY: 'api.example:81' }, P],
  ['https://api.example/v1', { HTTPS_PROXY: P, NO_PROXY: 'example:443' }, null],
  ['http://10.1.2.3/v1', { HTTP_PROXY: P, NO_PROXY: '10.0.0.0/8' }, null],
  ['http://11.1.2.3/v1', { HTTP_PROXY: P, NO_PROXY: '10.0.0.0/8' }, P],
  ['http://127.0.0.1:11434/v1', { HTTP_PROXY: P, NO_PROXY: 'localhost,127.0.0.1:11434' }, null],
  ['http://[::1]:11434/v1', { HTTP_PROXY: P, NO_PROXY: '[::1]' }, null],
])('%s with %j is reached through %p', (url, env, proxy) => {
  expect(proxyFor(new URL(url), (name) => env[name])).toBe(proxy);
});
