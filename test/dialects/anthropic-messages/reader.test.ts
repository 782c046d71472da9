import { describe, expect, test } from 'bun:test';
import type { ContentPart, Turn } from '../../../src/core/request/conversation.ts';
import type { ModelRequest } from '../../../src/core/request/model-request.ts';
import { wrapState } from '../../../src/core/request/wrapped-state.ts';
import { createMessage } from '../../../src/dialects/anthropic-messages/surface.ts';
import { readOn } from '../../support/read-request.ts';

const text = (words: string) => ({ type: 'text', text: words });
const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
const state = { details: [{ type: 'reasoning.encrypted', data: 'x' }], calls: { t1: { google: 1 } } };

const RICH = {
  model: 'auto',
  max_tokens: 1_000,
  system: [text('First.'), { ...text('Second.'), cache_control: { type: 'ephemeral' } }],
  messages: [
    {
      role: 'user',
      content: [
        text('Look:'),
        image,
        { type: 'document', title: 'a', source: { type: 'text', media_type: 'text/plain', data: 'Page.' } },
        { type: 'search_result', title: 'b' },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: wrapState(state) },
        { type: 'thinking', thinking: 'Own.', signature: 'signed' },
        text('I look.'),
        { type: 'tool_use', id: 't1', name: 'look', input: { b: 1, a: 2 } },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 't1', is_error: true, content: [text('Dark.'), image] },
        { type: 'tool_result', tool_use_id: 't2', content: 'Light.' },
        text('And now?'),
      ],
    },
  ],
  tools: [
    { name: 'look', input_schema: { type: 'object' } },
    { type: 'bash_20250124', name: 'bash' },
  ],
  tool_choice: { type: 'any', disable_parallel_tool_use: true },
};

const read = (body: object): ModelRequest => readOn(createMessage, body).request;
const shape = ({ role, toolCallId, parts }: Turn) => [role, toolCallId, parts.map(({ type }) => type)];

/** Returns the value of a part, read at its path in the original. */
function readFrom(part: ContentPart): unknown {
  if (part.type === 'tool-call') return JSON.parse(part.arguments);
  if (part.type === 'image') return part.url.replace(/^data:[^,]*,/, '');
  return 'text' in part ? part.text : undefined;
}

describe('a conversation', () => {
  const request = read(RICH);

  test('has tool results as turns of their own, with their images after them, and native parts by their kind', () => {
    expect(request.conversation.turns.map(shape)).toEqual([
      ['system', undefined, ['text', 'text']],
      ['user', undefined, ['text', 'image', 'text', 'native']],
      ['assistant', undefined, ['text', 'tool-call']],
      ['tool', 't1', ['text']],
      ['tool', 't2', ['text']],
      ['user', undefined, ['image', 'text']],
    ]);
    expect(request.conversation.nativeTools).toMatchObject([{ kind: 'bash_20250124', billing: 'tokens' }]);
    expect([request.conversation.toolChoice, request.settings.parallelToolCalls]).toEqual(['required', false]);
    // If a request forces a call of a single tool, the answer has a single call, and providers need no special field for it.
    const choices = [
      { tools: RICH.tools, tool_choice: { ...RICH.tool_choice, type: 'tool', name: 'look' } },
      { tools: RICH.tools.slice(0, 1), tool_choice: RICH.tool_choice },
    ];
    for (const one of choices) expect(read({ ...RICH, ...one }).settings.parallelToolCalls).toBeUndefined();
  });

  test('has paths that lead to the values that were read from them', () => {
    for (const { parts } of request.conversation.turns) {
      for (const part of parts) {
        expect(request.originalAt(part.at)).toBeDefined();
        if (part.type !== 'native') expect(request.originalAt(part.valueAt)).toEqual(readFrom(part));
      }
    }
  });

  test('has the state of earlier thinking in the place where every adapter reads it', () => {
    const turn = request.conversation.turns[2]!;
    expect(turn.extras).toEqual({
      reasoning_content: 'Hm.Own.',
      reasoning_details: [
        ...state.details,
        {
          ...{ type: 'reasoning.text', text: 'Own.', signature: 'signed' },
          ...{ format: 'anthropic-claude-v1', index: 1, id: 'thought-1-0-0' },
        },
      ],
    });
    expect(turn.parts[1]!.extras).toEqual({ extra_content: { google: 1 } });
  });

  test('with damaged state is read like a conversation without state', () => {
    for (const signature of [`${wrapState(state)}!`, wrapState({}).slice(0, -1)]) {
      const content = [{ type: 'redacted_thinking', data: signature }, text('Hi.')];
      const { turns } = read({ ...RICH, messages: [{ role: 'assistant', content }] }).conversation;
      expect(turns.at(-1)).toMatchObject({ parts: [{ type: 'text' }], extras: {} });
      expect(turns.at(-1)!.extras.reasoning_details).toBeUndefined();
    }
  });
});

test.each<[object, string | undefined]>([
  [{ thinking: { type: 'disabled' } }, 'none'],
  [{ thinking: { type: 'adaptive' } }, undefined],
  [{ thinking: { type: 'adaptive' }, output_config: { effort: 'max' } }, 'max'],
  [{ max_tokens: 10_000, thinking: { type: 'enabled', budget_tokens: 2_000 } }, 'low'],
  [{ max_tokens: 10_000, thinking: { type: 'enabled', budget_tokens: 5_000 } }, 'medium'],
  [{ max_tokens: 10_000, thinking: { type: 'enabled', budget_tokens: 9_000 } }, 'high'],
])('%j is the effort %s', (fields, effort) => {
  expect(read({ ...RICH, ...fields }).settings.reasoningEffort).toBe(effort!);
});

test('the reader reads Anthropic’s headers and the session of Claude Code, and nothing else about a caller', () => {
  const headers = new Headers({
    'anthropic-beta': 'a,b',
    'anthropic-dangerous-direct-browser-access': 'true',
    'x-claude-code-session-id': 's-1',
    'x-claude-code-agent-id': 'a-1',
    cookie: 'c',
  });
  expect(readOn(createMessage, RICH, headers).request.headers).toMatchObject({
    passed: { 'anthropic-beta': 'a,b' },
    run: { session: 's-1', agent: 'a-1', parentAgent: null },
  });
});
