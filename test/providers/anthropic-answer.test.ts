import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { anthropic } from '../../plugins/providers/anthropic.ts';
import type { StreamPart } from '../../src/contract/parts.ts';
import type { ChatMessage } from '../../src/core/api/chat-request.ts';
import { plainUsage } from '../../src/core/money/usage.ts';
import { tries } from '../deep/effort.ts';
import { callerMessage } from '../support/caller-message.ts';
import { toolCall as call, details, finish, refusal, shownOf, text, thought, used } from '../support/parts.ts';
import { joinParts, providerCall } from '../support/provider-call.ts';
import { streamed, wireAdapter, wireRequest } from '../support/wire-request.ts';

const adapter = wireAdapter(anthropic.prepare({ service: 'anthropic', prompt_cache: 'by_caller', threads: false }));

const FIXTURES = join(import.meta.dir, 'fixtures', 'anthropic');
const replies: Record<string, { content: object[] }> = await Bun.file(join(FIXTURES, 'replies.json')).json();
const errors: { status: number; kind: string; body: { error: { message: string } } }[] = await Bun.file(
  join(FIXTURES, 'errors.json'),
).json();

const replied = (name: string) => adapter.reply(JSON.stringify(replies[name]));
const fromStream = (name: string) => streamed(adapter, readFileSync(join(FIXTURES, `${name}.sse`), 'utf8'));
function read(...events: object[]): StreamPart[] {
  const reader = adapter.stream();
  return events.flatMap((event) => reader.read({ event: '', data: JSON.stringify(event) }));
}

const usage = (input: number, output: number, more: object = {}): StreamPart => ({
  type: 'usage',
  usage: { ...plainUsage(input, output), ...more },
});
/** Returns the content and the last usage. */
const said = (parts: readonly StreamPart[]) => {
  const finished = parts.some(({ type }) => type === 'finish');
  const last = parts.findLastIndex(({ type }) => type === 'usage');
  return joinParts(parts.filter(({ type }, at) => type !== 'usage' || (finished && at === last)));
};

const SIGNATURE = 'EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxB/x+y==';
const DATA = 'EmwKAhgBEgy3va3pzix/LafPsn4aDFIT2Xlx';

describe('an answer', () => {
  test.each<[string, StreamPart[]]>([
    ['success', [text('Berlin is the capital of Germany.'), finish('stop', 'end_turn'), usage(17, 9)]],
    ['stop-sequence', [text('one, two, '), finish('stop', 'stop_sequence', 0, 'three'), usage(14, 6)]],
    [
      'tool-call',
      [
        text('I will look.'),
        call(0, 'toolu_01Aa', 'get_weather', '{"city":"Berlin","unit":"celsius"}'),
        finish('tool_calls', 'tool_use'),
        usage(391, 62),
      ],
    ],
    [
      'parallel-calls',
      [
        call(0, 'toolu_01Aa', 'get_weather', '{"city":"Berlin"}'),
        call(1, 'toolu_01Bb', 'get_time', ''),
        finish('tool_calls', 'tool_use'),
        usage(402, 88),
      ],
    ],
    [
      'refusal',
      [
        refusal('This request was declined: it may enable harm to computers.'),
        finish('content_filter', 'refusal'),
        usage(54, 0),
      ],
    ],
    ['refusal-bare', [text('I can'), finish('content_filter', 'refusal'), usage(54, 3)]],
    ['length', [text('Once upon a'), finish('length', 'max_tokens'), usage(12, 3)]],
    ['context-full', [text('And so'), finish('length', 'model_context_window_exceeded'), usage(199_000, 1_000)]],
    ['server-tool', [text('Found.'), finish('stop', 'end_turn'), usage(60, 20)]],
  ])('named %s is read whole', (name, parts) => {
    expect(joinParts(replied(name))).toEqual(parts);
  });

  test('counts cached, written and thinking tokens once', () => {
    const cached = usage(21 + 1_800 + 240, 4, { units: { cached_input: 1_800, cache_write: 240, cache_write_1h: 0 } });
    expect(replied('cached').at(-1)).toEqual(cached);
    expect(fromStream('cached').at(-1)).toEqual(cached);
    expect(replied('thinking').at(-1)).toEqual(usage(22, 140, { reasoningTokens: 118 }));
  });

  test.each([
    [{ speed: 'fast', service_tier: 'standard' }, 'fast'],
    [{ speed: 'standard', service_tier: 'standard' }, 'default'],
    // Capacity that the account has bought in advance has no list price.
    [{ speed: 'standard', service_tier: 'priority' }, 'default'],
    [{ service_tier: 'batch' }, 'batch'],
    // Without a speed, the answer may have been fast.
    [{ service_tier: 'standard' }, undefined],
    [{ speed: null, service_tier: 'priority' }, undefined],
    [{ speed: 'ultra', service_tier: 'standard' }, 'ultra'],
    [{}, undefined],
  ])('states its service tier, in one piece and at the start of its stream: %j', (stated, serviceTier) => {
    const counts = { input_tokens: 3, output_tokens: 4, ...stated };
    const content = [{ type: 'text', text: 'Hi' }];
    const whole = adapter.reply(JSON.stringify({ content, stop_reason: 'end_turn', usage: counts }));
    expect(whole.at(-1)).toEqual({ type: 'usage', usage: plainUsage(3, 4), serviceTier });
    const parts = read(
      { type: 'message_start', message: { usage: counts } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } },
    );
    expect(parts.at(-1)).toEqual({ type: 'usage', usage: plainUsage(3, 9), serviceTier });
  });

  test('is a failure if it is invalid', () => {
    for (const body of ['', '[]', '{}', '{"content":"Hi"}', 'null', '{"content":null,"stop_reason":"end_turn"}']) {
      expect(adapter.reply(body)).toEqual([
        { type: 'failure', failure: { kind: 'malformed', message: expect.stringMatching(/^the answer /) } },
      ]);
    }
    expect(adapter.reply('{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}')).toEqual([
      { type: 'failure', failure: { kind: 'overloaded', message: 'Overloaded' } },
    ]);
    const nameless = {
      content: [{ type: 'tool_use', id: 'c', input: {} }],
      usage: { input_tokens: 1, output_tokens: 2 },
    };
    expect(adapter.reply(JSON.stringify(nameless)).map(({ type }) => type)).toEqual(['usage', 'failure']);
  });
});

describe('a stream', () => {
  test.each<[string, StreamPart[]]>([
    ['stream', [text('Berlin is the capital.'), finish('stop', 'end_turn'), usage(25, 11)]],
    [
      'tool-call',
      [
        text('I will look.'),
        call(0, 'toolu_01Aa', 'get_weather', '{"city": "Berlin"}'),
        finish('tool_calls', 'tool_use'),
        usage(391, 62),
      ],
    ],
    [
      'parallel-calls',
      [
        call(0, 'toolu_01Aa', 'get_weather', '{"city": "Berlin"}'),
        call(1, 'toolu_01Bb', 'get_time', ''),
        finish('tool_calls', 'tool_use'),
        usage(402, 88),
      ],
    ],
    [
      'refusal',
      [text('I can'), refusal('This request was declined.'), finish('content_filter', 'refusal'), usage(25, 3)],
    ],
    ['length', [text('Once upon a'), finish('length', 'max_tokens'), usage(25, 3)]],
    ['overloaded', [text('Once'), { type: 'failure', failure: { kind: 'overloaded', message: 'Overloaded' } }]],
  ])('named %s is read whole', (name, parts) => {
    expect(said(fromStream(name))).toEqual(parts);
  });

  test('returns its thinking, then the signature with the whole block', () => {
    expect(said(fromStream('thinking'))).toEqual([
      thought('27 times 453 is 12231.'),
      details({
        ...{ type: 'reasoning.text', text: '27 times 453 is 12231.', signature: SIGNATURE },
        ...{ format: 'anthropic-claude-v1', index: 0, id: 'thought-0-0-0' },
      }),
      text('12,231'),
      finish('stop', 'end_turn'),
      usage(25, 140, { reasoningTokens: 118 }),
    ]);
    expect(said(fromStream('redacted-thinking'))[0]).toEqual(
      details({
        type: 'reasoning.encrypted',
        data: DATA,
        format: 'anthropic-claude-v1',
        index: 0,
        id: 'thought-0-0-0',
      }),
    );
  });

  test('shows nothing of unknown events, but counts their output', () => {
    const done = { type: 'message_delta', delta: { stop_reason: 'a_new_reason' } };
    const parts = read(
      { type: 'ping' },
      { type: 'a_new_event', index: 0 },
      { type: 'content_block_start', index: 0, content_block: { type: 'server_tool_use', name: 'web_search' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"a":1}' } },
      { type: 'content_block_delta', index: 7, delta: { type: 'a_new_delta' } },
      { type: 'content_block_stop', index: 9 },
      done,
    );
    expect(shownOf(parts)).toEqual([finish('stop', 'a_new_reason')]);
    expect(parts.flatMap((part) => (part.type === 'unread' ? part.unread.texts : []))).toEqual([
      'web_search',
      '{"a":1}',
    ]);
    expect(adapter.stream().read({ event: '', data: 'x' })).toMatchObject([{ type: 'failure' }]);
  });

  test('is read if the input is at the start and block ends are missing', () => {
    const block = { type: 'tool_use', id: 'c', name: 'f', input: { a: 1 } };
    const parts = read(
      { type: 'message_start', message: { usage: { input_tokens: 3, output_tokens: 0 } } },
      { type: 'content_block_start', index: 0, content_block: block },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
      { type: 'message_stop' },
    );
    // The count at the start is not repeated after the finish, because it would then count as the count of the whole answer.
    expect(said(parts)).toEqual([used(3, 0, 0, 0, 0), call(0, 'c', 'f', '{"a":1}'), finish('tool_calls', 'tool_use')]);
  });

  test('is the same however its texts and arguments are split', () => {
    const pieces = fc.array(fc.string({ unit: 'grapheme', maxLength: 6 }), { maxLength: 6 });
    const block = fc.record({ type: fc.constantFrom('text', 'thinking', 'tool_use'), pieces });
    const DELTAS = {
      text: ['text_delta', 'text'],
      thinking: ['thinking_delta', 'thinking'],
      tool_use: ['input_json_delta', 'partial_json'],
    };
    const eventsOf = (blocks: { type: string; pieces: string[] }[], whole: boolean) => [
      ...blocks.flatMap(({ type, pieces: cut }, index) => {
        const [delta = '', member = ''] = DELTAS[type as keyof typeof DELTAS];
        const start = type === 'tool_use' ? { id: `c${index}`, name: 'f', input: {} } : {};
        const signed = type === 'thinking' ? [{ type: 'signature_delta', signature: 's' }] : [];
        const deltas = [
          ...(whole ? [cut.join('')] : cut).map((piece) => ({ type: delta, [member]: piece })),
          ...signed,
        ];
        return [
          { type: 'content_block_start', index, content_block: { type, ...start } },
          ...deltas.map((each) => ({ type: 'content_block_delta', index, delta: each })),
          { type: 'content_block_stop', index },
        ];
      }),
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { input_tokens: 1, output_tokens: 1 } },
    ];
    fc.assert(
      fc.property(fc.array(block, { maxLength: 6 }), (blocks) => {
        const parts = read(...eventsOf(blocks, false));
        expect(joinParts(parts)).toEqual(joinParts(read(...eventsOf(blocks, true))));
        const firsts = parts.flatMap((part) => (part.type === 'tool-call' && part.id ? [part.index] : []));
        expect(firsts).toEqual(firsts.map((_, at) => at));
      }),
      tries('Anthropic’s blocks, cut anywhere, give the parts of the whole answer', 60, 5_000),
    );
  });
});

describe('the state of an answer', () => {
  function sentBack(message: ChatMessage): unknown {
    const results = (message.tool_calls ?? []).map(({ id }) => ({
      role: 'tool' as const,
      tool_call_id: id,
      content: 'r',
    }));
    const messages: ChatMessage[] = [
      { role: 'user', content: 'a' },
      message,
      ...results,
      { role: 'user', content: 'b' },
    ];
    const { body } = wireRequest(adapter, providerCall({ messages }, { upstream: 'claude-fable-5-1' }));
    return (body.messages as { content: unknown }[])[1]?.content;
  }
  const asSent = (block: object) =>
    Object.fromEntries(Object.entries(block).filter(([name]) => name !== 'citations' && name !== 'caller'));

  test.each(['thinking', 'thinking-omitted', 'redacted-thinking', 'progress-updates', 'tool-call', 'parallel-calls'])(
    'named %s is sent back block by block unchanged',
    (name) => {
      expect(sentBack(callerMessage(replied(name)))).toEqual(replies[name]?.content.map(asSent));
    },
  );

  test('is the same from a stream', () => {
    expect(sentBack(callerMessage(fromStream('thinking')))).toEqual([
      { type: 'thinking', thinking: '27 times 453 is 12231.', signature: SIGNATURE },
      { type: 'text', text: '12,231' },
    ]);
  });

  test('is also accepted from other gateways, in pieces and in their form', () => {
    const answer = { role: 'assistant' as const, content: 'Hi' };
    const detail = { type: 'reasoning.text', format: 'anthropic-claude-v1', index: 0 };
    const blocks = [
      { type: 'thinking', thinking: 'Hm', signature: 's' },
      { type: 'redacted_thinking', data: 'd' },
    ];
    expect(
      sentBack({
        ...answer,
        reasoning_details: [
          { ...detail, text: 'H' },
          { ...detail, text: 'm' },
          { ...detail, signature: 's' },
          { type: 'reasoning.encrypted', data: 'd', format: 'anthropic-claude-v1', index: 1 },
          { type: 'reasoning.encrypted', data: 'x', format: 'openai-responses-v1', index: 2 },
        ],
      } as ChatMessage),
    ).toEqual([...blocks, { type: 'text', text: 'Hi' }]);
    expect(sentBack({ ...answer, thinking_blocks: blocks } as ChatMessage)).toEqual([
      ...blocks,
      { type: 'text', text: 'Hi' },
    ]);
  });
});

describe('a failure', () => {
  test.each(errors.map(({ status, kind, body }) => [status, kind, body.error.message, body] as const))(
    '%i is of the kind %s: %s',
    (status, kind, message, body) => {
      const failure = adapter.failure(status, new Headers(), JSON.stringify(body));
      const more =
        status === 404 ? { unknownModel: true as const } : kind === 'credit' ? { ofAccount: true as const } : {};
      const filtered = message.includes('content filtering policy') ? { ofFilter: true as const } : {};
      expect(failure).toEqual({ kind: kind as never, message, status, ...more, ...filtered });
    },
  );

  test('with the status 404 says whether it concerns the model', () => {
    const failure = (message: string) =>
      adapter.failure(
        404,
        new Headers(),
        JSON.stringify({ type: 'error', error: { type: 'not_found_error', message } }),
      );
    expect(failure('model: claude-of-old')).toMatchObject({ kind: 'not_found', unknownModel: true });
    for (const message of ['File not found: file_1', 'skill: model', 'Not Found'])
      expect(failure(message)).toEqual({ kind: 'not_found', status: 404, message });
  });

  test('without the API’s error body is classified by its status', () => {
    const failure = (status: number, body: string) => adapter.failure(status, new Headers(), body);
    expect(failure(502, '<html>Bad gateway</html>')).toEqual({ kind: 'server', message: 'status 502', status: 502 });
    expect(failure(418, 'short and\nstout')).toEqual({ kind: 'rejected', message: 'short and stout', status: 418 });
    expect(failure(529, '')).toEqual({ kind: 'overloaded', message: 'status 529', status: 529 });
    expect(read({ type: 'error' })).toEqual([
      { type: 'failure', failure: { kind: 'server', message: 'the upstream reported an error' } },
    ]);
  });
});
