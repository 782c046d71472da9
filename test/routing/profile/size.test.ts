import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { ChatMessage } from '../../../src/core/api/chat-request.ts';
import { capabilityNames } from '../../../src/core/request/capability.ts';
import { anyCodePoint } from '../../support/any-code-point.ts';
import type { ChatBody as ProfileInput } from '../../support/chat-body.ts';
import { profile } from '../../support/chat-body.ts';
import { image, user } from './prompts.ts';

const of = (content: ChatMessage['content'], more: Partial<ProfileInput> = {}) =>
  profile({ messages: [user(content)], ...more });
/** Adds fields that are not in the schema. */
const beside = <T extends object>(part: T, more: object): T => ({ ...part, ...more });
const tool = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } } as const;

describe('the needs of a request', () => {
  const needs = (from: { readonly needs: number }) => capabilityNames(from.needs);

  test('are none for plain text', () => {
    expect(of('Hello')).toMatchObject({ needs: 0, images: 0, unboundedMedia: 0 });
  });

  test('include images, audio, files, tools, formats, choices and token probabilities', () => {
    expect(needs(of([image]))).toEqual(['vision']);
    expect(needs(of([{ type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } }]))).toEqual(['audio_input']);
    expect(needs(of([{ type: 'file', file: { file_data: 'AA' } }]))).toEqual(['file_input']);
    expect(needs(of('x', { tools: [tool] }))).toEqual(['tools']);
    expect(needs(of('x', { tools: [] }))).toEqual([]);
    expect(needs(of('x', { response_format: { type: 'json_object' } }))).toEqual(['json_mode']);
    expect(needs(of('x', { response_format: { type: 'json_schema', json_schema: { name: 'a' } } }))).toEqual([
      'json_schema',
    ]);
    expect(needs(of('x', { n: 2 }))).toEqual(['choices']);
    expect(needs(of('x', { n: 1 }))).toEqual([]);
    expect(needs(of('x', { logprobs: true }))).toEqual(['logprobs']);
  });

  test('treat compressed audio as unbounded, whatever its label says', () => {
    const bounded = (format: string, begin: string) => {
      const data = Buffer.from(`${begin}${'\0'.repeat(90)}`, 'latin1').toString('base64');
      return of([{ type: 'input_audio', input_audio: { data, format } }]).unboundedMedia === 0;
    };
    const packed = ['fLaC', 'OggS', '\x1aE\xdf\xa3', '\xff\xf1', '\xff\xf9', '\0\0\0 ftypM4A ', '\0\0\0\x1dftypisom'];
    for (const begin of packed) expect(bounded('mp3', begin)).toBe(false);
    for (const begin of ['ID3', '\xff\xfb', '\xff\xf3', '\xff\xfa', '\xff\xe3'])
      expect(bounded('mp3', begin)).toBe(true);
    expect(bounded('WAV', 'RIFF')).toBe(true);
    for (const format of ['flac', 'ogg', 'aac', 'webm']) expect(bounded(format, 'RIFF')).toBe(false);
  });

  test('include fields that some dialects lack', () => {
    const cases: [Partial<ProfileInput>, string[]][] = [
      [{ seed: 0 }, ['seed']],
      [{ frequency_penalty: 0.1 }, ['penalties']],
      [{ presence_penalty: -2 }, ['penalties']],
      [{ logit_bias: { '5': -1 } }, ['logit_bias']],
      [{ stop: ['x'] }, []],
      [{ temperature: 1.01 }, ['high_temperature']],
      [{ tools: [tool], tool_choice: 'required' }, ['tools', 'forced_tools']],
      [{ tools: [tool], tool_choice: { type: 'function', function: { name: 'look' } } }, ['tools', 'forced_tools']],
      [{ tools: [tool], parallel_tool_calls: false }, ['tools', 'single_tool_calls']],
      [{ tools: [tool], response_format: { type: 'json_object' } }, ['tools', 'json_mode', 'json_with_tools']],
    ];
    for (const [fields, expected] of cases) expect(needs(of('x', fields))).toEqual(expected as never);
    const begun = profile({ messages: [user('Hi'), { role: 'assistant', content: 'Well,' }] });
    expect(needs(begun)).toEqual(['continuation']);
    const byAddress = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } } as const;
    expect(needs(of([byAddress]))).toEqual(['vision', 'image_urls']);
    expect(needs(of([{ type: 'file', file: { file_id: 'file_1' } }]))).toEqual(['file_input', 'file_ids']);
  });

  test('are none for fields with their default values', () => {
    const plain: Partial<ProfileInput>[] = [
      { temperature: 1, frequency_penalty: 0, presence_penalty: 0, logit_bias: {}, n: 1 },
      { stop: [] },
      { stop: '' },
      { parallel_tool_calls: false, response_format: { type: 'text' } },
    ];
    for (const fields of plain) expect(needs(of('x', fields))).toEqual([]);
    const ofTools: Partial<ProfileInput>[] = [
      { tool_choice: 'auto' },
      { tool_choice: 'none' },
      { parallel_tool_calls: true },
    ];
    for (const fields of ofTools) expect(needs(of('x', { tools: [tool], ...fields }))).toEqual(['tools']);
  });

  test('count audio in bytes, and never as text', () => {
    const second = { type: 'input_audio', input_audio: { data: 'A'.repeat(4_000), format: 'mp3' } } as const;
    const read = profile({ messages: [user([second]), user([second])] });
    expect(read).toMatchObject({ audioBytes: 6_000, unboundedMedia: 0 });
    expect(read.inputTokensMax).toBeLessThan(1000);
  });

  test('count images and media over all messages, and never their bytes', () => {
    const large = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(100_000)}` } } as const;
    const read = profile({ messages: [user([image, large]), user([large, { type: 'file', file: {} }])] });
    expect(read).toMatchObject({ images: 3, unboundedMedia: 1 });
    expect(read.inputTokensMax).toBeLessThan(1000);
  });
});

describe('PDFs', () => {
  const file = (members: object) => ({ type: 'file', file: members }) as const;
  const pdf = (bytes: number, type = 'application/pdf') =>
    file({ file_data: `data:${type};base64,${'A'.repeat(Math.ceil(bytes / 3) * 4)}` });

  test('count files of the type PDF, and files given by an ID; other files have no bound', () => {
    expect(of([pdf(9), file({ file_id: 'f_1' })])).toMatchObject({ pdfs: 2, pages: 2, unboundedMedia: 0 });
    expect(of([pdf(9, ' Application/PDF ;name=a.pdf')])).toMatchObject({ pdfs: 1, unboundedMedia: 0 });
    expect(of([pdf(9, 'application/pdfx'), pdf(9, 'application/zip'), file({})])).toMatchObject({
      pdfs: 0,
      unboundedMedia: 3,
    });
  });

  test('count as many PDF pages as the bytes suggest, at least one per file', () => {
    expect(of([pdf(1_200_000)])).toMatchObject({ pdfs: 1, pages: 12 });
    expect(of([pdf(10), pdf(240_000)])).toMatchObject({ pdfs: 2, pages: 3 });
  });
});

describe('the bound of the input', () => {
  const text = fc.string({ unit: anyCodePoint, maxLength: 800 });
  const message: fc.Arbitrary<ChatMessage> = fc.oneof(
    text.map(user),
    fc
      .array(text, { minLength: 1, maxLength: 3 })
      .map((texts) => user(texts.map((one) => ({ type: 'text', text: one })))),
    fc.record({ name: text, args: text }).map(({ name, args }) => ({
      role: 'assistant' as const,
      content: null,
      tool_calls: [{ id: 'call', type: 'function' as const, function: { name, arguments: args } }],
    })),
    text.map((reasoning_content) => ({ role: 'assistant' as const, content: 'x', reasoning_content })),
    text.map((refusal) => user([beside({ type: 'text', text: 'x' } as const, { refusal })])),
    text.map((more) => user([beside(image, { text: more })])),
    text.map((more) => user([{ ...image, image_url: beside(image.image_url, { more }) }])),
    text.map((content) => ({ role: 'tool' as const, tool_call_id: 'call', content })),
  );
  /** Returns every text that is sent upstream. */
  const texts = (value: unknown, key = ''): string[] => {
    if (typeof value === 'string') return key === 'role' || key === 'type' || key === 'url' ? [] : [value];
    if (typeof value !== 'object' || value === null) return [];
    return Object.entries(value).flatMap(([name, inner]) => texts(inner, name));
  };

  test('is at least the bytes of every text that is sent, and the estimate is below it', () => {
    fc.assert(
      fc.property(fc.array(message, { minLength: 1, maxLength: 5 }), (messages) => {
        const read = profile({ messages });
        const bytes = new TextEncoder().encode(texts(messages).join('')).length;
        expect(read.inputTokensMax).toBeGreaterThanOrEqual(bytes);
        expect(read.inputTokens).toBeLessThanOrEqual(read.inputTokensMax);
        expect(Number.isSafeInteger(read.inputTokens) && read.inputTokens >= 1).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test('includes the chat template: 16 for the reply, each message and each call, 1,024 for tools', () => {
    const bound = (...messages: ChatMessage[]) => profile({ messages }).inputTokensMax;
    expect(bound(user('x'))).toBe(16 + 16 + 1);
    expect(bound(user('x'), user('yz'))).toBe(16 + 2 * 16 + 3);
    const call = { id: 'i', type: 'function', function: { name: 'n', arguments: '{}' } } as const;
    const calls = (...tool_calls: (typeof call)[]) => bound({ role: 'assistant', content: null, tool_calls });
    expect(calls(call, call)).toBe(16 + 16 + 2 * (16 + 4));
    const own = JSON.stringify([tool]).length;
    expect(of('x', { tools: [tool] }).inputTokensMax).toBe(16 + 16 + 1 + 1_024 + own);
  });

  test('includes names, refusals and call IDs of messages', () => {
    const text = 'é'.repeat(500);
    const plain = of('x').inputTokensMax;
    for (const more of [{ name: text }, { refusal: text }, { tool_call_id: text }, { reasoning_content: text }]) {
      expect(profile({ messages: [{ ...user('x'), ...more }] }).inputTokensMax).toBe(plain + 1_000);
    }
    const withCall = (more: object) => {
      const call = { id: 'i', type: 'function' as const, function: { name: 'n', arguments: '', ...more } };
      return profile({ messages: [{ role: 'assistant', content: null, tool_calls: [call] }] }).inputTokensMax;
    };
    expect(withCall({ thought: text })).toBe(withCall({}) + 1_000);
    expect(profile({ messages: [] }).inputTokens).toBe(1);
  });

  test('includes tools and schemas as they are sent', () => {
    const tools = [{ ...tool, function: { ...tool.function, description: 'é'.repeat(5000) } }];
    expect(of('x', { tools }).inputTokensMax).toBeGreaterThan(10_000);
    const schema = { type: 'json_schema', json_schema: { name: 'a', description: 'x'.repeat(5000) } } as const;
    expect(of('x', { response_format: schema }).inputTokensMax).toBeGreaterThan(5000);
    const own = { type: 'json_object', schema: { description: 'x'.repeat(5000) } } as const;
    expect(of('x', { response_format: own }).inputTokensMax).toBeGreaterThan(5000);
  });
});
