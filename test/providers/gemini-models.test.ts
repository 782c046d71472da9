import { describe, expect, test } from 'bun:test';
import type { Capability } from '../../src/core/request/capability.ts';
import { providerCall } from '../support/provider-call.ts';
import { wireRequest } from '../support/wire-request.ts';
import { geminiAdapter } from './fixtures/gemini/adapter.ts';

const adapter = geminiAdapter();
const NEW = 'gemini-3.8-flash';
const OLD = 'gemini-2.5-flash';

describe('thinking', () => {
  const model = { capabilities: ['reasoning' as const] };
  const thinkingOf = (upstream: string, reasoning_effort: string | undefined): object => {
    const call = providerCall({ reasoning_effort }, { upstream, model });
    const { body, dropped } = wireRequest(adapter, call);
    return { ...(body.generationConfig as { thinkingConfig: object }).thinkingConfig, dropped };
  };

  test.each<[string, string | undefined, object]>([
    ['gemini-2.5-flash', 'none', { includeThoughts: false, thinkingBudget: 0 }],
    ['gemini-2.5-flash', 'minimal', { includeThoughts: true, thinkingBudget: 1_024 }],
    ['gemini-2.5-flash-lite', 'high', { includeThoughts: true, thinkingBudget: 24_576 }],
    ['models/gemini-2.5-pro', 'none', { includeThoughts: true, thinkingBudget: 128 }],
    ['gemini-2.5-pro', 'medium', { includeThoughts: true, thinkingBudget: 8_192 }],
    ['gemini-3-pro-preview', 'medium', { includeThoughts: true, thinkingLevel: 'HIGH' }],
    ['gemini-3.1-pro-preview', 'medium', { includeThoughts: true, thinkingLevel: 'MEDIUM' }],
    ['gemini-3.1-pro-preview', 'minimal', { includeThoughts: true, thinkingLevel: 'LOW' }],
    ['gemini-3-flash-preview', 'none', { includeThoughts: true, thinkingLevel: 'MINIMAL' }],
    ['gemini-3.1-flash-lite', 'minimal', { includeThoughts: true, thinkingLevel: 'MINIMAL' }],
    ['gemini-3.6-flash', 'minimal', { includeThoughts: true, thinkingLevel: 'MINIMAL' }],
    ['gemini-3.7-flash', 'minimal', { includeThoughts: true, thinkingLevel: 'LOW' }],
    ['gemini-3.8-flash', 'low', { includeThoughts: true, thinkingLevel: 'LOW' }],
    ['gemini-4-argon', 'xhigh', { includeThoughts: true, thinkingLevel: 'HIGH' }],
    ['gemini-flash-latest', 'none', { includeThoughts: true, thinkingLevel: 'LOW' }],
    ['gemini-3.8-flash', undefined, { includeThoughts: true }],
  ])('is requested in the form that the model accepts: %s, %s', (upstream, effort, expected) => {
    expect(thinkingOf(upstream, effort)).toEqual({ ...expected, dropped: [] });
  });

  test('with an unknown effort, or for a model that does not think, is reported as dropped', () => {
    expect(thinkingOf(NEW, 'ponder')).toEqual({ includeThoughts: true, dropped: ['reasoning_effort'] });
    const { body, dropped } = wireRequest(adapter, providerCall({ reasoning_effort: 'high' }, { upstream: NEW }));
    expect({ config: body.generationConfig, dropped }).toEqual({
      config: { maxOutputTokens: 1_000 },
      dropped: ['reasoning_effort'],
    });
  });
});

test.each<[string, Capability[]]>([
  [NEW, ['choices', 'continuation']],
  ['models/gemini-4-argon', ['choices', 'continuation']],
  ['gemini-3.5-flash-lite', ['choices', 'continuation']],
  ['gemini-3.5-flash', ['choices']],
  ['gemini-pro-latest', ['choices', 'continuation']],
  [OLD, ['json_with_tools']],
  ['gemini-2.0-flash', ['image_urls', 'json_with_tools']],
  ['gemma-3-27b-it', ['image_urls', 'json_with_tools']],
])('the capabilities that %s lacks follow from its name', (upstream, also) => {
  expect(adapter.lacks?.(providerCall().model, upstream)).toEqual([
    'logit_bias',
    'penalties',
    'single_tool_calls',
    'file_ids',
    ...also,
  ]);
});
