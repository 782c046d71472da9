import { describe } from 'bun:test';
import { simulated } from '../../../plugins/providers/simulated.ts';
import type { StreamPart } from '../../../src/contract/parts.ts';
import type {
  HttpCall,
  InProcessAdapter,
  ProviderCall,
  ProviderPlugin,
  WireAdapter,
} from '../../../src/contract/provider.ts';
import { ANSWER_LAWS } from '../../../src/tools/conformance/provider-answer.ts';
import { IN_PROCESS_LAWS } from '../../../src/tools/conformance/provider-in-process.ts';
import { PREPARED_LAWS, REQUEST_LAWS } from '../../../src/tools/conformance/provider-request.ts';
import { SAMPLE_LAWS } from '../../../src/tools/conformance/provider-samples.ts';
import type { ProviderSubject } from '../../../src/tools/conformance/provider-subject.ts';
import { host } from '../../../src/tools/plugin/gateway-parts.ts';
import { samplesBeside } from '../../../src/tools/plugin/samples.ts';
import { exampleProvider } from '../../../src/tools/plugin/templates/provider/index.ts';
import { testMutants } from './support.ts';

const samples = samplesBeside(`${import.meta.dir}/../../../src/tools/plugin/templates/provider`)[''] ?? [];
const of = (plugin: ProviderPlugin): ProviderSubject => ({ plugin, host, samples });

function adapterOf({ prepare }: ProviderPlugin): WireAdapter {
  const prepared = prepare({});
  if (prepared.kind !== 'wire') throw new Error('not a wire adapter');
  return prepared;
}

/** The adapter of the template, with a mistake. */
const wrong = (
  mistake: (real: WireAdapter) => Partial<WireAdapter> & { lacks?: () => readonly never[] },
): ProviderSubject =>
  of({
    ...exampleProvider,
    prepare: () => {
      const real = adapterOf(exampleProvider);
      return { lacks: () => [], ...real, ...mistake(real) };
    },
  });

/** The adapter of the template, changed for a service without keys. */
function keyless(): WireAdapter {
  const { auth: _, ...rest } = adapterOf(exampleProvider);
  return rest;
}

/** The adapter of the template, with changed requests. */
const sending = (change: (made: HttpCall, call: ProviderCall) => Partial<HttpCall>): ProviderSubject =>
  wrong((real) => ({
    request(call) {
      const made = real.request(call);
      return 'kind' in made ? made : { ...made, ...change(made, call) };
    },
  }));

/** The adapter of the template, with a mistake in its requests to count tokens. */
const counting = (change: (made: HttpCall) => Partial<HttpCall>): ProviderSubject =>
  wrong((real) => ({
    tokenCount: {
      request(call) {
        const made = real.request(call);
        return 'kind' in made ? made : { ...made, ...change(made) };
      },
      reply: () => null,
    },
  }));

const json = (text: string) => JSON.parse(text);

/** The adapter of the template, with changed answers. */
const reading = (change: (parts: readonly StreamPart[], text: string) => readonly StreamPart[]): ProviderSubject =>
  wrong((real) => ({
    reply: (body) => change(real.reply(body), body),
    stream() {
      const reader = real.stream();
      return { read: (frame) => change(reader.read(frame), frame.data) };
    },
  }));

const FINISH: StreamPart = { type: 'finish', choice: 0, reason: 'stop', raw: 'stop' };
const usage = (inputTokens: number, cached: number): StreamPart => ({
  type: 'usage',
  usage: { inputTokens, outputTokens: 1, reasoningTokens: 0, units: { cached_input: cached } },
});
const refusing = (error: Error): ProviderSubject =>
  of({
    ...exampleProvider,
    prepare() {
      throw error;
    },
  });

let frames = 0;
let last = '';

describe('adapter laws:', () => {
  testMutants([...PREPARED_LAWS, ...REQUEST_LAWS, ...ANSWER_LAWS, ...SAMPLE_LAWS], of(exampleProvider), {
    settings: [
      ['refuses its own defaults', refusing(new Error('no'))],
      ['fails because of its settings', refusing(new TypeError('undefined is not an object'))],
    ],
    presets: [
      ['has a key in its address', of({ ...exampleProvider, presets: { a: { baseUrl: 'https://me:key@a.example' } } })],
      ['has a key where a variable belongs', of({ ...exampleProvider, presets: { a: { apiKeyEnv: 'sk-123-456' } } })],
      [
        'has settings that its schema does not know',
        of({ ...exampleProvider, presets: { a: { settings: { speed: 1 } } } }),
      ],
    ],
    lacks: [['misspells a capability', wrong(() => ({ lacks: () => ['vison'] as never[] }))]],
    form: [
      ['wants the key in a header of the connection', wrong(() => ({ auth: { header: 'host', prefix: '' } }))],
      ['has a preset with a key, but no header for it', of({ ...exampleProvider, prepare: keyless })],
      ['uses an unknown framing', wrong(() => ({ frames: 'xml' as 'sse' }))],
    ],
    request: [
      ['has a blank in its path', sending((_, { upstream }) => ({ path: `/models/${upstream} /generate` }))],
      ['leads out of the address', sending((_, { upstream }) => ({ path: `/../../${upstream}` }))],
      ['sends text instead of JSON', sending((_, { upstream }) => ({ body: `model=${upstream}` }))],
      ['uses a header that the gateway does not send', sending(() => ({ headers: { cookie: 'a=b' } }))],
      [
        'throws at anything but text',
        wrong((real) => ({
          request(call) {
            const made = real.request(call);
            if ('kind' in made) throw new Error('images are not supported');
            return made;
          },
        })),
      ],
      ['fails instead of rejecting', wrong(() => ({ request: () => ({ kind: 'server', message: 'no' }) }))],
    ],
    pure: [
      ['stamps its requests', sending(({ body }) => ({ body: JSON.stringify({ ...json(body), at: Date.now() }) }))],
      ['makes up an ID', sending(({ body }) => ({ body: JSON.stringify({ ...json(body), id: crypto.randomUUID() }) }))],
      [
        'adds to the messages of the caller',
        sending(({ body }, { request }) => {
          (request.original.body.messages as object[]).push({ role: 'user', content: 'Be brief.' });
          return { body };
        }),
      ],
    ],
    key: [
      ['puts the key in the path', sending(() => ({ path: `/generate?key=${process.env.EXAMPLE_API_KEY}` }))],
      ['sets the header itself', sending(() => ({ headers: { Authorization: 'Bearer x' } }))],
    ],
    'output-cap': [
      ['forgets the cap', sending(({ body }) => ({ body: JSON.stringify({ ...json(body), max_tokens: undefined }) }))],
      [
        'uses the cap that the caller requested',
        sending(({ body }, { request }) => ({
          body: JSON.stringify({ ...json(body), max_tokens: request.settings.outputTokensMax }),
        })),
      ],
    ],
    'token-count': [
      ['counts at a path with a blank', counting(() => ({ path: '/count tokens' }))],
      ['sends a request to count tokens that is not JSON', counting(({ body }) => ({ body: body.slice(1) }))],
      ['stamps its counts', counting(() => ({ body: JSON.stringify({ at: Date.now() }) }))],
      [
        'fails instead of rejecting a count',
        wrong(() => ({ tokenCount: { request: () => ({ kind: 'server', message: 'no' }), reply: () => null } })),
      ],
      ...[
        { tokens: -1, share: 0 },
        { tokens: 0, share: Number.NaN },
        { tokens: Number.POSITIVE_INFINITY, share: 0 },
      ].map((margin): [string, ProviderSubject] => [
        `states a margin of ${margin.tokens} and ${margin.share} for counts`,
        wrong((real) => ({ tokenCount: { request: real.request, reply: () => null, margin } })),
      ]),
    ],
    heard: [
      ['can express only text, and does not say so', wrong(() => ({ lacks: () => [] }))],
      ['leaves hints out without reporting them', sending(() => ({ dropped: [] }))],
    ],
    reply: [
      [
        'throws on garbage',
        wrong(() => ({ reply: (body) => [{ type: 'text', choice: 0, text: json(body).text.trim() }] })),
      ],
      ['treats garbage as an answer', reading((parts) => [...parts.filter(({ type }) => type !== 'failure'), FINISH])],
      [
        'passes on a value that is not a text',
        reading((_, text) => [{ type: 'text', choice: 0, text: json(text || '{}') }]),
      ],
    ],
    stream: [
      ['throws on garbage', wrong(() => ({ stream: () => ({ read: ({ data }) => json(data).parts ?? [] }) }))],
      ['gives no list', wrong(() => ({ stream: () => ({ read: () => null as never }) }))],
      [
        'states a form of texts that it does not read',
        wrong((real) => ({
          stream: () => Object.assign(real.stream(), { textForm: { choice: 0, before: '{"text":"', after: '"}.' } }),
        })),
      ],
    ],
    apart: [
      [
        'returns nothing for a repeated text, whichever stream it comes from',
        reading((parts, text) => {
          const isSame = text === last;
          last = text;
          return isSame ? [] : parts;
        }),
      ],
    ],
    deterministic: [['waits for the clock', reading((parts) => (Date.now() > 0 ? parts : []))]],
    failure: [
      ['makes up a kind', wrong(() => ({ failure: () => ({ kind: 'oops' as 'server', message: '' }) }))],
      [
        'throws at a page of HTML',
        wrong(() => ({ failure: (_, __, body) => ({ kind: 'server', message: String(json(body).error) }) })),
      ],
    ],
    statuses: [
      ['blames the caller for everything', wrong(() => ({ failure: () => ({ kind: 'rejected', message: 'no' }) }))],
    ],
    samples: [
      [
        'treats a cut answer as a complete one',
        reading((parts) => parts.map((part) => (part.type === 'finish' ? { ...part, reason: 'stop' as const } : part))),
      ],
    ],
    splits: [
      ['drops every other event that it reads', reading((parts) => (frames++ % 2 === 0 ? parts : []))],
      ['treats each line as an event', wrong(() => ({ frames: 'sse' }))],
    ],
    ending: [
      ['never finishes', reading((parts) => parts.filter(({ type }) => type !== 'finish'))],
      ['finishes first', reading((parts) => (parts.some(({ type }) => type === 'text') ? [FINISH, ...parts] : parts))],
      ['reports more cached tokens than input tokens', reading((parts) => [...parts, usage(5, 6)])],
      ['has a usage below 0', reading((parts) => [...parts, usage(-1, 0)])],
    ],
    cut: [['finishes with every event', reading((parts) => [...parts, FINISH])]],
  });
});

const big: StreamPart = {
  type: 'usage',
  usage: { inputTokens: 1, outputTokens: 1e6, reasoningTokens: 0 },
};
const answering = (answer: InProcessAdapter['answer']): ProviderSubject =>
  of({ ...simulated, prepare: () => ({ kind: 'in-process', answer }) });
const real = simulated.prepare({});
const parts = (call: ProviderCall) => (real.kind === 'in-process' ? [...real.answer(call)] : []);

describe('in-process adapter laws:', () => {
  testMutants(
    [...PREPARED_LAWS, ...IN_PROCESS_LAWS],
    { ...of(simulated), plugin: { ...simulated, presets: { a: {} } } },
    {
      settings: [['refuses its own defaults', refusing(new Error('no'))]],
      presets: [['has a word instead of an address', of({ ...simulated, presets: { a: { baseUrl: 'here' } } })]],
      lacks: [
        [
          'misspells a capability',
          of({
            ...simulated,
            prepare: () => ({ kind: 'in-process', answer: parts, lacks: () => ['vison'] as never[] }),
          }),
        ],
      ],
      answer: [
        ['never finishes', answering((call) => parts(call).filter(({ type }) => type !== 'finish'))],
        [
          'answers one choice of many',
          answering((call) => parts(call).filter((part) => !('choice' in part) || part.choice === 0)),
        ],
        ['exceeds the cap', answering((call) => parts({ ...call, outputCap: 5_000 }).concat(usage(5_000, 0), big))],
        [
          'does not end',
          answering(function* () {
            for (;;) yield { type: 'text', choice: 0, text: 'and ' };
          }),
        ],
      ],
      deterministic: [['throws dice', answering((call) => (Math.random() > 2 ? [] : parts(call)))]],
    },
  );
});
