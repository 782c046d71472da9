import { describe, expect, test } from 'bun:test';
import { anthropic } from '../../plugins/providers/anthropic.ts';
import type { WireAdapter } from '../../src/contract/provider.ts';
import { openaiAdapter } from '../support/provider-call.ts';
import { wireAdapter } from '../support/wire-request.ts';
import { geminiAdapter } from './fixtures/gemini/adapter.ts';

const anthropicAdapter = () =>
  wireAdapter(anthropic.prepare({ service: 'anthropic', prompt_cache: 'by_caller', threads: false }));

/** The errors of providers for an account without credit, as their documentation or users report them. */
const ACCOUNTS: readonly (readonly [string, () => WireAdapter, number, object])[] = [
  [
    'OpenAI',
    openaiAdapter,
    429,
    {
      error: {
        message: 'You exceeded your current quota, please check your plan and billing details.',
        type: 'insufficient_quota',
        param: null,
        code: 'insufficient_quota',
      },
    },
  ],
  [
    'OpenAI, at its hard limit',
    openaiAdapter,
    400,
    {
      error: {
        message: 'Billing hard limit has been reached',
        type: 'invalid_request_error',
        code: 'billing_hard_limit_reached',
      },
    },
  ],
  [
    'OpenAI, without billing',
    openaiAdapter,
    429,
    {
      error: {
        message: 'Your account is not active, please check your billing details on our website.',
        type: 'billing_not_active',
        code: 'billing_not_active',
      },
    },
  ],
  [
    'Groq',
    openaiAdapter,
    400,
    { error: { message: 'API access is blocked.', type: 'invalid_request_error', code: 'blocked_api_access' } },
  ],
  [
    'DeepSeek',
    openaiAdapter,
    402,
    { error: { message: 'Insufficient Balance', type: 'unknown_error', param: null, code: 'invalid_request_error' } },
  ],
  [
    'xAI, by 429',
    openaiAdapter,
    429,
    {
      code: 'Some resource has been exhausted',
      error: 'Your team 16f2151a has either used all available credits or reached its monthly spending limit.',
    },
  ],
  [
    'xAI, by 403',
    openaiAdapter,
    403,
    { code: 'permission-denied', error: 'You have run out of credits or need a Grok subscription.' },
  ],
  [
    'Together',
    openaiAdapter,
    402,
    {
      id: 'o3L',
      error: {
        message: 'Credit limit exceeded. Please navigate to https://api.together.xyz/settings/billing to add credit.',
        type: 'credit_limit',
        param: null,
        code: null,
      },
    },
  ],
  [
    'Fireworks',
    openaiAdapter,
    412,
    {
      error: {
        message:
          'Account acme is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices.',
        code: 'PRECONDITION_FAILED',
        type: 'error',
      },
    },
  ],
  [
    'Moonshot',
    openaiAdapter,
    403,
    {
      error: {
        message: 'Your account <ak> is not active, organization <org> exceeded current quota, please check your plan',
        type: 'exceeded_current_quota_error',
      },
    },
  ],
  [
    'Z.ai',
    openaiAdapter,
    429,
    { error: { code: '1113', message: 'Insufficient balance or no resource package. Please recharge.' } },
  ],
  [
    'Alibaba',
    openaiAdapter,
    400,
    {
      error: {
        code: 'Arrearage',
        message: 'Access denied, please make sure your account is in good standing.',
        type: 'Arrearage',
      },
    },
  ],
  [
    'Xiaomi',
    openaiAdapter,
    402,
    { error: { code: '402', message: 'Insufficient account balance', type: 'insufficient_balance' } },
  ],
  [
    'Anthropic',
    anthropicAdapter,
    400,
    {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: 'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.',
      },
    },
  ],
  [
    'Anthropic, at a limit of the workspace',
    anthropicAdapter,
    400,
    {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: 'You have reached your specified workspace API usage limits. You will regain access on 2026-12-01.',
      },
    },
  ],
  [
    'Anthropic, at the limit of a contract',
    anthropicAdapter,
    429,
    {
      type: 'error',
      error: {
        type: 'rate_limit_error',
        message: 'The spend limit is reached.',
        details: { error_code: 'contract_spend_limit_reached' },
      },
    },
  ],
  [
    'Anthropic, at the threshold of a tier',
    anthropicAdapter,
    429,
    {
      type: 'error',
      error: {
        type: 'rate_limit_error',
        message: 'The threshold is reached.',
        details: { error_code: 'enforced_spend_limit_reached' },
      },
    },
  ],
  [
    'Anthropic, by 402',
    anthropicAdapter,
    402,
    { type: 'error', error: { type: 'billing_error', message: 'There is an issue with your billing.' } },
  ],
  [
    'Z.ai in the dialect of Anthropic',
    anthropicAdapter,
    429,
    {
      type: 'error',
      error: {
        type: 'rate_limit_error',
        code: '1113',
        message: '[1113][Insufficient balance or no resource package.]',
      },
    },
  ],
  [
    'Gemini',
    geminiAdapter,
    402,
    {
      error: {
        code: 402,
        message: 'Your prepayment credits are depleted. Please go to AI Studio at https://ai.studio/projects.',
        status: 'RESOURCE_EXHAUSTED',
      },
    },
  ],
  [
    'Gemini, as before 2026',
    geminiAdapter,
    429,
    {
      error: {
        code: 429,
        message: 'Your prepayment credits are depleted. Please go to AI Studio at https://ai.studio/projects.',
        status: 'RESOURCE_EXHAUSTED',
      },
    },
  ],
  [
    'Gemini, at its spending cap',
    geminiAdapter,
    429,
    {
      error: {
        code: 429,
        message: 'Your project has exceeded its monthly spending cap.',
        status: 'RESOURCE_EXHAUSTED',
      },
    },
  ],
  [
    'Gemini, without billing',
    geminiAdapter,
    403,
    {
      error: {
        code: 403,
        message: 'This API method requires billing to be enabled.',
        status: 'PERMISSION_DENIED',
        details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'BILLING_DISABLED' }],
      },
    },
  ],
];

const read = (adapter: () => WireAdapter, status: number, body: object) =>
  adapter().failure(status, new Headers(), JSON.stringify(body));

test.each(ACCOUNTS)(
  'an account without credit is recognized by the provider’s error: %s',
  (_, adapter, status, body) => {
    expect(read(adapter, status, body)).toMatchObject({ kind: 'credit', ofAccount: true, status });
  },
);

test.each(ACCOUNTS.filter(([, , , body]) => 'error' in body && typeof body.error === 'object'))(
  'an error about lacking credit instead of an answer means the same as an error status: %s',
  (_, adapter, __, body) => {
    expect(adapter().reply(JSON.stringify(body))).toMatchObject([
      { type: 'failure', failure: { kind: 'credit', ofAccount: true } },
    ]);
  },
);

describe('a 402 that does not concern the whole account', () => {
  test.each<[string, () => WireAdapter, object | string]>([
    [
      'OpenRouter, for a long answer',
      openaiAdapter,
      {
        error: {
          code: 402,
          message:
            'This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 3395.',
        },
      },
    ],
    [
      'OpenRouter, whose balance may cover a smaller request',
      openaiAdapter,
      {
        error: {
          code: 402,
          message: 'Insufficient credits. Add more using https://openrouter.ai/settings/credits',
          metadata: { limit_source: 'openrouter_credits' },
        },
      },
    ],
    ['Mistral', openaiAdapter, { object: 'error', message: 'Payment required', type: 'billing' }],
    [
      'Anthropic, of the organization that one request names',
      anthropicAdapter,
      {
        error: {
          type: 'billing_error',
          message: 'It lacks credit.',
          details: { error_code: 'linked_organization_spend_limit_reached' },
        },
      },
    ],
    [
      'Signalbox, for more than a budget',
      openaiAdapter,
      { error: { message: 'It never fits.', type: 'insufficient_quota', code: 'request_exceeds_budget' } },
    ],
    [
      'Signalbox, for more than the rest of a budget',
      openaiAdapter,
      { error: { message: 'The budget is used up.', type: 'insufficient_quota', code: 'insufficient_quota' } },
    ],
    ...['insufficient_quota', 'request_exceeds_budget'].map((error_code): [string, () => WireAdapter, object] => [
      `Signalbox in Anthropic’s dialect, by ${error_code}`,
      anthropicAdapter,
      { error: { type: 'billing_error', message: 'It does not fit.', details: { error_code } } },
    ]),
    ['one without a body', anthropicAdapter, {}],
    ['another of Gemini', geminiAdapter, { error: { code: 402, message: 'Pay.', status: 'RESOURCE_EXHAUSTED' } }],
  ])('says nothing about other requests: %s', (_, adapter, body) => {
    const failure = read(adapter, 402, Object(body));
    expect([failure.kind, failure.ofAccount]).toEqual(['credit', undefined]);
  });
});

test.each<[string, () => WireAdapter, number, object]>([
  ['OpenAI', openaiAdapter, 429, { error: { message: 'Rate limit reached for gpt-6', code: 'rate_limit_exceeded' } }],
  [
    'Together, whose type of it is `credit_limit`',
    openaiAdapter,
    429,
    { error: { message: 'You have been rate limited. Please navigate to the billing page.', type: 'credit_limit' } },
  ],
  [
    'Gemini in OpenAI’s dialect',
    openaiAdapter,
    429,
    { error: { code: 429, message: 'You exceeded your current quota, please check your plan and billing details.' } },
  ],
  [
    'Gemini',
    geminiAdapter,
    429,
    {
      error: {
        code: 429,
        message: 'You exceeded your current quota, please check your plan and billing details.',
        status: 'RESOURCE_EXHAUSTED',
      },
    },
  ],
])('a rate limit is still read as a rate limit: %s', (_, adapter, status, body) => {
  expect(read(adapter, status, body).kind).toBe('rate_limited');
});

test('a prompt that an error quotes is not read as a message about the account', () => {
  const message = 'Invalid value: "your credit balance is too low, insufficient balance"';
  const error = { type: 'invalid_request_error', message };
  for (const adapter of [openaiAdapter, anthropicAdapter]) expect(read(adapter, 400, { error }).kind).toBe('rejected');
});
