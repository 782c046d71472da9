import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { StreamPart } from '../../src/contract/parts.ts';
import { tries } from '../deep/effort.ts';
import { finish, text, thought, toolCall, used } from '../support/parts.ts';
import { joinParts } from '../support/provider-call.ts';
import { framesOf, streamed } from '../support/wire-request.ts';
import { fixture, geminiAdapter } from './fixtures/gemini/adapter.ts';

const adapter = geminiAdapter();
const { numRuns, seed } = tries('Gemini’s streams, split anywhere, give the parts of the whole answer', 60, 10_000);

/** Returns the parts of the responses of one stream. */
function read(...responses: object[]): StreamPart[] {
  const reader = adapter.stream();
  return responses.flatMap((response) => reader.read({ event: '', data: JSON.stringify(response) }));
}
const streamOf = (name: string) => streamed(adapter, fixture(name));
const replyOf = (name: string) => [...adapter.reply(fixture(name))];
const candidate = (parts: readonly object[], more: object = {}) => ({ candidates: [{ content: { parts }, ...more }] });

const usage = (input: number, output: number, reasoning = 0, cached = 0) => used(input, cached, 0, output, reasoning);
const call = (index: number, id: string, name: string, args: string, signature?: string) =>
  toolCall(index, id, name, args, signature ? { google: { thought_signature: signature } } : undefined);
const failure = (kind: 'rejected' | 'malformed', message: string, more: object = {}): StreamPart => ({
  type: 'failure',
  failure: { kind, message, ...more },
});

describe('an answer', () => {
  test.each<[string, StreamPart[]]>([
    [
      'success',
      [
        text('A cat is a small carnivorous mammal.'),
        finish('stop', 'STOP'),
        { ...usage(5012, 96, 87, 4096), serviceTier: 'standard' },
      ],
    ],
    ['length', [finish('length', 'MAX_TOKENS'), usage(11, 1024, 1024)]],
    ['continuation', [text('Lemma 1.'), finish('length', 'CONTINUATION'), usage(30, 32_768, 32_000)]],
    ['safety', [text('First, you'), finish('content_filter', 'SAFETY'), usage(14, 3)]],
    [
      'tool-call',
      [
        call(0, 'f7k2m9qx', 'check_flight', '{"flight":"AA100"}', 'EpMBCpABAXLI2nzkVx4gq0S1gnatureA=='),
        finish('tool_calls', 'STOP'),
        usage(61, 82, 64),
      ],
    ],
    [
      'unnumbered-call',
      [
        text('Let me look.'),
        call(0, 'call_gvx7ibkub_0_0', 'list_files', '{}'),
        finish('tool_calls', 'STOP'),
        usage(40, 7),
      ],
    ],
    [
      'blocked',
      [usage(23, 0), failure('rejected', 'the provider blocked the prompt: PROHIBITED_CONTENT', { ofFilter: true })],
    ],
    [
      'malformed-call',
      [usage(88, 0), failure('malformed', 'the model’s answer is invalid: MALFORMED_FUNCTION_CALL', { ofModel: true })],
    ],
  ])('in one piece is read: %s', (name, parts) => {
    expect(replyOf(`${name}.json`)).toEqual(parts);
    // A stream with a single response has the same parts as the JSON.
    expect(read(JSON.parse(fixture(`${name}.json`)))).toEqual(parts);
  });

  test('with several candidates has as many choices, and probabilities in OpenAI’s form', () => {
    const yes = { token: 'Yes', logprob: -0.105, bytes: null };
    expect(replyOf('candidates.json')).toEqual([
      text('Yes'),
      {
        type: 'logprobs',
        choice: 0,
        content: [{ ...yes, top_logprobs: [yes, { token: 'No', logprob: -2.3, bytes: null }] }],
        refusal: [],
      },
      finish('stop', 'STOP'),
      text('No', 1),
      finish('stop', 'STOP', 1),
      usage(9, 2),
    ]);
  });

  test('in a list of responses is read like a stream of them', () => {
    const responses = framesOf(fixture('stream.sse')).map(({ data }) => data);
    expect(adapter.reply(`[${responses.join(',')}]`)).toEqual(streamOf('stream.sse'));
  });

  test.each(['', 'junk', 'null', '7', '[]', '{}', '{"candidates":[]}', '{"usageMetadata":{"promptTokenCount":1}}'])(
    'that is not an answer is a failure: %s',
    (body) => {
      expect(adapter.reply(body).at(-1)).toMatchObject({ type: 'failure', failure: { kind: 'malformed' } });
    },
  );
});

describe('a stream', () => {
  test('returns its text, and the usage after the finish', () => {
    expect(joinParts(streamOf('stream.sse').filter(({ type }) => type !== 'usage'))).toEqual([
      text('The sky is blue — “Rayleigh” scattering. 🌤'),
      finish('stop', 'STOP'),
    ]);
    expect(streamOf('stream.sse').at(-1)).toEqual(usage(8, 12));
  });

  test('returns parallel calls with stable indexes, and each signature with its call', () => {
    expect(streamOf('parallel-calls.sse').filter(({ type }) => type !== 'usage')).toEqual([
      thought('**Weighing the cities**\n\nBoth are needed.'),
      call(0, 'a1b2c3d4', 'get_weather', '{"city":"Paris"}', 'EqABCp0BAXLI2nxPar4llelS1gA=='),
      call(1, 'e5f6g7h8', 'get_weather', '{"city":"Tōkyō","days":[1,2]}'),
      finish('tool_calls', 'STOP'),
    ]);
  });

  test('returns its thinking, and the signature of an answer without calls as state of the message', () => {
    expect(joinParts(streamOf('thinking.sse').filter(({ type }) => type !== 'usage'))).toEqual([
      thought('**Counting**\n\nI add the primes.'),
      text('The sum is 129.'),
      { type: 'state', choice: 0, extra: { google: { thought_signature: 'EjQKMgFyyNp8tiVKYI89Tex7S1g==' } } },
      finish('stop', 'STOP'),
    ]);
    expect(streamOf('thinking.sse').at(-1)).toEqual(usage(17, 126, 120));
  });

  test('is the same however its text is split into responses, and its bytes into pieces', () => {
    const words = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
    const piece = fc.oneof(
      words.map((said) => ({ text: said })),
      words.map((said) => ({ text: said, thought: true })),
      words.map((name) => ({ functionCall: { name, id: `id_${name}`, args: { name } } })),
    );
    const cuts = fc.infiniteStream(fc.nat({ max: 7 }));
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 12 }), cuts, (pieces, cut) => {
        const whole = joinParts(adapter.reply(JSON.stringify(candidate(pieces, { finishReason: 'STOP' }))));
        const responses = pieces.flatMap((part) => {
          if (!('text' in part)) return [candidate([part])];
          const letters = [...part.text];
          const at = cut.next().value ?? 0;
          const halves = [letters.slice(0, at).join(''), letters.slice(at).join('')];
          return halves.map((half) => candidate([{ ...part, text: half }]));
        });
        responses.push(candidate([{ text: '' }], { finishReason: 'STOP' }));
        const sse = responses.map((response) => `data: ${JSON.stringify(response)}\r\n\r\n`).join('');
        expect(joinParts(streamed(adapter, sse))).toEqual(whole);
      }),
      { numRuns, seed },
    );
  });

  test('gives calls without IDs an ID that is unique across answers', () => {
    const idsOf = (responseId: string | undefined, index = 0) =>
      read({
        responseId,
        ...candidate([{ functionCall: { name: 'f' } }, { functionCall: { name: 'f' } }], { index }),
      }).map((part) => (part.type === 'tool-call' ? part.id : ''));
    expect(idsOf('abc')).toEqual(['call_3rqq83yd8_0_0', 'call_3rqq83yd8_0_1']);
    expect(idsOf('abc', 1)).toEqual(['call_3rqq83yd8_1_0', 'call_3rqq83yd8_1_1']);
    expect(idsOf(undefined)).toEqual(['call_0_0', 'call_0_1']);
    // OpenAI accepts 40 characters, in case the conversation continues there.
    expect(Math.max(...idsOf('x'.repeat(99)).map((id = '') => id.length))).toBeLessThanOrEqual(40);
  });

  test('with unexpected members returns its readable parts, and never throws', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (odd, other) => {
        const functionCall = { name: odd, args: other, id: odd };
        const parts = [
          odd,
          { text: odd, thought: other, thoughtSignature: odd },
          { functionCall, thoughtSignature: other },
        ];
        const logprobsResult = { chosenCandidates: [odd, { token: odd }], topCandidates: [other, { candidates: odd }] };
        for (const content of [odd, { parts: odd }, { parts }]) {
          const candidates = [odd, { content, index: odd, finishReason: other, logprobsResult }];
          const response = {
            candidates,
            promptFeedback: { blockReason: odd },
            usageMetadata: { promptTokenCount: odd },
          };
          expect(Array.isArray(read(response, { candidates: odd, error: other, responseId: odd }))).toBe(true);
          adapter.failure(
            400,
            new Headers(),
            JSON.stringify({ error: { message: odd, details: [odd, { violations: [other] }] } }),
          );
        }
      }),
      { numRuns, seed },
    );
    expect(adapter.stream().read({ event: '', data: '' })).toEqual([]);
  });
});

describe('a finish', () => {
  test.each([
    ['STOP', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['SAFETY', 'content_filter'],
    ['RECITATION', 'content_filter'],
    ['BLOCKLIST', 'content_filter'],
    ['PROHIBITED_CONTENT', 'content_filter'],
    ['SPII', 'content_filter'],
    ['IMAGE_SAFETY', 'content_filter'],
    ['LANGUAGE', 'content_filter'],
    ['OTHER', 'content_filter'],
    ['SOMETHING_NEW', 'content_filter'],
  ])('%s means %s, and the original reason is kept', (raw, reason) => {
    expect(read(candidate([], { finishReason: raw }))).toEqual([finish(reason as 'stop', raw)]);
  });

  test('that is unspecified is ignored; a reason for an invalid answer is a failure after the usage', () => {
    expect(read(candidate([], { finishReason: 'FINISH_REASON_UNSPECIFIED' }), candidate([], {}))).toEqual([]);
    for (const raw of ['UNEXPECTED_TOOL_CALL', 'TOO_MANY_TOOL_CALLS', 'MALFORMED_RESPONSE']) {
      const broken = { ...candidate([{ text: 'x' }], { finishReason: raw }), usageMetadata: { promptTokenCount: 1 } };
      expect(read(broken).map(({ type }) => type)).toEqual(['text', 'usage', 'failure']);
    }
    expect(read(candidate([{ functionCall: {} }]))).toMatchObject([
      { type: 'failure', failure: { kind: 'malformed' } },
    ]);
  });

  test('for calls that the cap cut off is `length`', () => {
    expect(read(candidate([{ functionCall: { name: 'f' } }], { finishReason: 'MAX_TOKENS' })).at(-1)).toEqual(
      finish('length', 'MAX_TOKENS'),
    );
  });
});

describe('usage', () => {
  const of = (usageMetadata: object) => read({ usageMetadata });

  test.each([
    ['flex', 'flex'],
    ['SERVICE_TIER_PRIORITY', 'priority'],
    ['STANDARD', 'standard'],
    ['SERVICE_TIER_UNSPECIFIED', undefined],
    ['unspecified', undefined],
  ])('has the service tier in any spelling: %s', (stated, serviceTier) => {
    const counts = { promptTokenCount: 1, candidatesTokenCount: 2, totalTokenCount: 3, serviceTier: stated };
    expect(of(counts)).toEqual([{ ...usage(1, 2), serviceTier }]);
  });

  test('includes the cache in the prompt, excludes thinking from the answer, and adds tool input to the prompt', () => {
    expect(
      of({
        promptTokenCount: 1_000,
        cachedContentTokenCount: 600,
        toolUsePromptTokenCount: 50,
        candidatesTokenCount: 20,
        thoughtsTokenCount: 300,
        totalTokenCount: 1_370,
      }),
    ).toEqual([usage(1_050, 320, 300, 600)]);
  });

  test('counts thinking once if the total shows that the answer includes it', () => {
    const among = { promptTokenCount: 10, candidatesTokenCount: 120, thoughtsTokenCount: 100, totalTokenCount: 130 };
    expect(of(among)).toEqual([usage(10, 120, 100)]);
  });

  test('has tokens of audio and images as units; those in the cache count as cached', () => {
    const details = (audio: number, image: number) => [
      { modality: 'TEXT', tokenCount: 5 },
      { modality: 'AUDIO', tokenCount: audio },
      { modality: 'IMAGE', tokenCount: image },
    ];
    const [read] = of({
      ...{ promptTokenCount: 1_000, cachedContentTokenCount: 60, candidatesTokenCount: 200, totalTokenCount: 1_200 },
      promptTokensDetails: details(400, 300),
      cacheTokensDetails: details(50, 5),
      candidatesTokensDetails: details(30, 120),
    });
    expect(read).toMatchObject({
      usage: {
        ...{ inputTokens: 1_000, outputTokens: 200 },
        units: { cached_input: 60, audio_input: 350, image_input: 295, audio_output: 30, image_output: 120 },
      },
    });
  });

  test('without a prompt count is ignored', () => {
    expect(of({ candidatesTokenCount: 5 })).toEqual([]);
  });
});
