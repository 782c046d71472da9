/** The bodies that the documentation shows. Tests hold them against the schemas. */

const platform = {
  routed_model: 'gpt-6-luna',
  route_reason: 'auto:balanced',
  credits_consumed: 0.0455,
  cost_saved_credits: 0.8745,
  decision_id: 'dec_0a4x1wm3zk0',
  policy_revision: '95f1a7d5f908027b',
  estimated: false,
  dropped: [],
  attempts: [
    {
      model: 'gpt-6-luna',
      provider: 'openai',
      ms: 912,
      failure: null,
      request_id: 'req_7f3a',
      finish_reasons: ['stop'],
    },
  ],
};

const usage = {
  prompt_tokens: 15,
  completion_tokens: 88,
  total_tokens: 103,
  prompt_tokens_details: { cached_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0 },
};

export const CHAT_REQUESTS = {
  simple: {
    summary: 'Let Signalbox choose',
    value: { model: 'auto', messages: [{ role: 'user', content: 'Say hello.' }] },
  },
  limited: {
    summary: 'Cheap, streamed, with a hard limit',
    value: {
      model: 'auto-cheap',
      stream: true,
      stream_options: { include_usage: true },
      budget_limit: 5,
      messages: [{ role: 'user', content: 'Summarise the history of railway signalling.' }],
    },
  },
  tools: {
    summary: 'With a tool, weights and limits on the choice',
    value: {
      model: 'auto',
      messages: [{ role: 'user', content: 'What is the weather in Bern?' }],
      tools: [
        {
          type: 'function',
          function: {
            name: 'weather',
            description: 'The weather of a city.',
            parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
          },
        },
      ],
      route_strategy: { cost_weight: 0.2, quality_weight: 0.8 },
      constraints: { max_latency_ms: 30000 },
    },
  },
} as const;

export const CHAT_ANSWER = {
  id: 'chatcmpl-0a4x1wm3zk0',
  object: 'chat.completion',
  created: 1795161464,
  model: 'gpt-6-luna',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'Hello! How can I help you?', refusal: null },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage,
  platform,
};

const head = { id: 'chatcmpl-0a4x1wm3zk0', object: 'chat.completion.chunk', created: 1795161464, model: 'gpt-6-luna' };

/** The chunks of a stream with `include_usage`. */
export const CHAT_CHUNKS = [
  { ...head, choices: [{ index: 0, delta: { role: 'assistant', content: 'Hel' } }] },
  { ...head, choices: [{ index: 0, delta: { content: 'lo!' } }] },
  { ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], platform },
  { ...head, choices: [], usage },
];

/** The same as it comes over the wire. */
export const CHAT_STREAM = `${CHAT_CHUNKS.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`;

export const ROUTE_REQUESTS = {
  task: {
    summary: 'For a kind of task',
    value: {
      task_type: 'coding',
      estimated_input_tokens: 2000,
      constraints: { max_cost_credits: 20, max_latency_ms: 30000, required_languages: ['js', 'rust'] },
    },
  },
  conversation: {
    summary: 'For a real conversation',
    value: { model: 'auto-fast', messages: [{ role: 'user', content: 'What does SIGTERM do?' }] },
  },
  chat: {
    summary: 'For a whole chat request',
    value: {
      model: 'auto',
      messages: [{ role: 'user', content: 'Answer as JSON: which port does HTTPS use?' }],
      response_format: { type: 'json_object' },
      max_tokens: 200,
      budget_limit: 5,
      estimated_output_tokens: 20,
    },
  },
} as const;

export const ROUTE_ANSWER = {
  recommended_model: 'sim-coder',
  reasoning:
    'For the task coding, sim-coder is the best of 2 eligible models by auto:balanced: expected quality 95 %, 8 Credits, 12500 ms.',
  estimated_cost_credits: 8,
  estimated_latency_ms: 12500,
  max_cost_credits: 22.48,
  alternatives: [
    {
      model: 'sim-large',
      estimated_cost_credits: 20.4,
      estimated_latency_ms: 18043,
      quality_trade_off: '15 percentage points lower expected quality at 255 % of the cost, in 18 s instead of 12.5 s.',
    },
  ],
  route_reason: 'auto:balanced',
  decision_id: 'dec_0a4x1wm3zk0',
  policy_revision: '95f1a7d5f908027b',
};

const luna = { id: 'gpt-6-luna', object: 'model', created: 1790035200, owned_by: 'openai' };

export const MODEL_ANSWER = luna;

export const MODELS_ANSWER = {
  object: 'list',
  data: [{ id: 'auto', object: 'model', created: 0, owned_by: 'signalbox' }, luna],
};

const STUDENTS = { name: 'students', file: 'rules.yaml', line: 4 };
const { dropped: _, ...receipt } = platform;

export const DECISION_ANSWER = {
  id: 'dec_0a4x1wm3zk0',
  object: 'decision',
  created: 1795161464,
  kind: 'chat',
  policy_revision: '95f1a7d5f908027b',
  seed: '9f2c51d07be83a64',
  route_reason: 'auto:balanced',
  choice: 'gpt-6-luna',
  fallbacks: ['mistral-small-4'],
  last_resorts: [],
  facts: {
    operation: 'chat',
    model: 'auto',
    pinned: false,
    task: 'general',
    task_shares: [],
    difficulty: 'usual',
    natural_language: 'en',
    languages: [],
    estimated_input_tokens: 15,
    max_input_tokens: 74,
    counted_input_tokens: null,
    cached_input_tokens: {},
    images: 0,
    audio_bytes: 0,
    unbounded_media: 0,
    estimated_output_tokens: null,
    asked_output_tokens: null,
    max_tokens: null,
    n: 1,
    needs: [],
    required_languages: [],
    route_strategy: null,
    max_cost_credits: null,
    max_latency_ms: null,
    budget_limit: null,
    max_funded_credits: null,
    key_models: null,
  },
  readings: { frame: 228_803_158_016_001 },
  quality: { 'gpt-6-astra': 0.93, 'gpt-6-luna': 0.71, 'mistral-small-4': 0.62 },
  left_out: ['openai (OPENAI_API_KEY is not set)'],
  replay: { matches: true, reason: null },
  explanation: [
    'Asked for auto, task general: about 15 tokens of input and 400 of output.',
    'Constraints that apply: students (rules.yaml:4).',
    'gpt-6-astra left out: the policy rejects it: students.',
    'gpt-6-luna is the best of 2 by auto:balanced: expected quality 71 %, 0.2015 Credits, 2,480 ms. It is 0.0565 ahead of mistral-small-4: quality +0.054, cost −0.000743, latency +0.0032.',
    'gpt-6-luna: 0.71 = declared 0.74 for general, −0.02 for length, −0.01 from 212 outcomes on this task.',
    'mistral-small-4: 0.62 = declared 0.64 for general, −0.02 for length, +0.00 from 187 outcomes on this task.',
    'The baseline, gpt-6-astra, would cost 4.03 Credits: 22 percentage points higher expected quality at 20 times the cost, in 4.4 s instead of 2.5 s.',
  ],
  expected_output_tokens: 400,
  answer_worth_credits: 32.3,
  candidates: [
    {
      model: 'gpt-6-luna',
      rank: 1,
      quality: 0.71,
      estimate: { declared: 0.74, length: -0.02, outcomes: -0.01, text: 0, outcome_count: 212, shadow_quality: null },
      languages: [],
      cost_credits: 0.2015,
      latency_ms: 2480,
      latency_basis: 'stated',
      reasoning_tokens: 600,
      utility: 0.411728483,
      parts: { quality: 0.426, cost: -0.001871517, latency: -0.0124 },
      input_tokens: 15,
      cached_input_tokens: 0,
      max_output_tokens: 4096,
      worst_case_credits: 2.0554,
      endpoints: [{ provider: 'openai', upstream: 'gpt-6-luna', health: 'healthy', open: true }],
      rejections: [],
    },
    {
      model: 'mistral-small-4',
      rank: 2,
      quality: 0.62,
      estimate: { declared: 0.64, length: -0.023, outcomes: 0.003, text: 0, outcome_count: 187, shadow_quality: null },
      languages: [],
      cost_credits: 0.1215,
      latency_ms: 3120,
      latency_basis: 'stated',
      reasoning_tokens: 500,
      utility: 0.355271517,
      parts: { quality: 0.372, cost: -0.001128483, latency: -0.0156 },
      input_tokens: 15,
      cached_input_tokens: 0,
      max_output_tokens: 4096,
      worst_case_credits: 1.2362,
      endpoints: [{ provider: 'mistral', upstream: 'mistral-small-4', health: 'healthy', open: true }],
      rejections: [],
    },
    {
      model: 'gpt-6-astra',
      rank: null,
      quality: 0.93,
      estimate: { declared: 0.945, length: -0.015, outcomes: 0, text: 0, outcome_count: 0, shadow_quality: null },
      languages: [],
      cost_credits: 4.03,
      latency_ms: 4400,
      latency_basis: 'stated',
      reasoning_tokens: 800,
      utility: null,
      parts: {},
      input_tokens: 15,
      cached_input_tokens: 0,
      max_output_tokens: 4096,
      worst_case_credits: 41.108,
      endpoints: [{ provider: 'openai', upstream: 'gpt-6-astra', health: 'healthy', open: false }],
      rejections: [{ kind: 'constraint', text: 'the policy rejects it: students', rules: [STUDENTS] }],
    },
  ],
  constraints: [STUDENTS],
  preferences: [],
  choice_without_preferences: null,
  strategy_failed: false,
  learning: { mode: 'on', trust: 0.4, choice_by_learnt: null },
  draw: null,
  runner_up: { model: 'mistral-small-4', quality: 0.62, cost_credits: 0.1215, latency_ms: 3120 },
  baseline: { model: 'gpt-6-astra', quality: 0.93, cost_credits: 4.03, latency_ms: 4400 },
  outcome: {
    status: 'completed',
    error: null,
    attempts: [
      {
        model: 'gpt-6-luna',
        provider: 'openai',
        upstream: 'gpt-6-luna',
        endpoint: 0,
        ms: 912,
        first_part_ms: 430,
        failure: null,
        request_id: 'req_7f3a',
        finish_reasons: ['stop'],
      },
    ],
    usage,
    estimated: false,
    credits_consumed: 0.0455,
    cost_saved_credits: 0.8745,
    runner_up_cost_credits: 0.0279,
    baseline_cost_credits: 0.92,
    first_part_ms: 431,
    total_ms: 913,
  },
  receipt,
};

export const USAGE_ANSWER = {
  object: 'usage',
  from: '2026-10-22',
  to: '2026-11-21',
  time_zone: 'UTC',
  total_credits: 64.25,
  days: [
    {
      date: '2026-11-19',
      model: 'gpt-6-luna',
      charges: 214,
      input_tokens: 120_400,
      output_tokens: 31_250,
      credits: 61.75,
    },
    { date: '2026-11-20', model: 'gpt-6-luna', charges: 9, input_tokens: 5_020, output_tokens: 1_300, credits: 2.5 },
  ],
  funds: [
    {
      kind: 'budget',
      name: 'team-month',
      subject: 'search',
      limit_credits: 50_000,
      spent_credits: 31_204.5,
      held_credits: 12.4,
      left_credits: 18_783.1,
      starts: '2026-10-31T23:00:00.000Z',
      renews_at: '2026-11-30T23:00:00.000Z',
    },
  ],
  balance_credits: null,
};
