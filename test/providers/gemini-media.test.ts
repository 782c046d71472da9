import { describe, expect, test } from 'bun:test';
import type { MessagePart } from '../../src/core/api/chat-request.ts';
import { providerCall } from '../support/provider-call.ts';
import { wireRequest } from '../support/wire-request.ts';
import { geminiAdapter } from './fixtures/gemini/adapter.ts';

const adapter = geminiAdapter();
const callOf = (...content: MessagePart[]) =>
  providerCall({ messages: [{ role: 'user', content }] }, { upstream: 'gemini-3.8-flash' });
const parts = (...content: MessagePart[]) => wireRequest(adapter, callOf(...content)).body.contents;

describe('media', () => {
  test('within the request are unchanged', () => {
    expect(
      parts(
        { type: 'image_url', image_url: { url: 'data:image/PNG;base64,aGk=', detail: 'auto' } },
        { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'mp3' } },
        { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERg==' } },
      ),
    ).toEqual([
      {
        role: 'user',
        parts: [
          { inlineData: { mimeType: 'image/png', data: 'aGk=' } },
          { inlineData: { mimeType: 'audio/mp3', data: 'UklGRg==' } },
          { inlineData: { mimeType: 'application/pdf', data: 'JVBERg==' } },
        ],
      },
    ]);
  });

  test.each([
    ['https://example.com/cat.png', 'image/png'],
    ['https://example.com/cat.JPG?size=2#x.png', 'image/jpeg'],
    ['https://example.com/a.b/cat', 'image/jpeg'],
    ['https://example.com/cat.webp?sig=a.b', 'image/webp'],
  ])('at a URL are fetched by Google, with the type that the URL shows: %s', (url, mimeType) => {
    expect(parts({ type: 'image_url', image_url: { url } })).toEqual([
      { role: 'user', parts: [{ fileData: { fileUri: url, mimeType } }] },
    ]);
  });

  test('lose the requested detail, which is reported', () => {
    const call = callOf({ type: 'image_url', image_url: { url: 'https://a.example/b.png', detail: 'low' } });
    expect(wireRequest(adapter, call).dropped).toEqual(['messages[0].content[0].image_url.detail']);
  });
});

const requested = (url: string) => adapter.request(callOf({ type: 'image_url', image_url: { url } }));

test.each([
  'https://generativelanguage.googleapis.com/v1beta/files/abc',
  'https://GenerativeLanguage.googleapis.com./v1beta/files/abc',
  'https://www.youtube.com/watch?v=9hE5-98ZeCg',
  'http://m.youtube.com:443/shorts/9hE5-98ZeCg',
  'https://youtu.be/9hE5-98ZeCg#.png',
])('a URL that names something at Google is rejected as an image: %s', (url) => {
  expect(requested(url)).toMatchObject({ kind: 'rejected', message: expect.stringContaining('not an image') });
});

test.each([
  'https://storage.googleapis.com/bucket/a.png',
  'https://example.com/youtube.com.png',
  'https://notyoutube.com/a',
])('Signalbox fetches the media of any other URL for Gemini: %s', (url) => {
  expect(requested(url)).toMatchObject({ body: expect.stringContaining(url) });
});
