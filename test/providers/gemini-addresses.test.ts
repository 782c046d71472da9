import { expect, test } from 'bun:test';
import { gemini } from '../../plugins/providers/gemini.ts';
import { providerCall } from '../support/provider-call.ts';

function requested(url: string) {
  const adapter = gemini.prepare({});
  if (adapter.kind !== 'wire') throw new Error('not a wire adapter');
  const content = [{ type: 'image_url' as const, image_url: { url } }];
  return adapter.request(providerCall({ messages: [{ role: 'user', content }] }, { upstream: 'gemini-3.8-flash' }));
}

test.each([
  'https://generativelanguage.googleapis.com/v1beta/files/abc',
  'https://GenerativeLanguage.googleapis.com./v1beta/files/abc',
  'https://www.youtube.com/watch?v=9hE5-98ZeCg',
  'http://m.youtube.com:443/shorts/9hE5-98ZeCg',
  'https://youtu.be/9hE5-98ZeCg#.png',
])('an address that names something at Google is no image: %s', (url) => {
  expect(requested(url)).toMatchObject({ kind: 'rejected', message: expect.stringContaining('and no image') });
});

test.each([
  'https://storage.googleapis.com/bucket/a.png',
  'https://example.com/youtube.com.png',
  'https://notyoutube.com/a',
])('any other is fetched: %s', (url) => {
  expect(requested(url)).toMatchObject({ body: expect.stringContaining(url) });
});
