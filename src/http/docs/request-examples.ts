/** The bodies to send that the documentation shows. Tests hold them against the schemas. */

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

export const KEY_REQUESTS = {
  plain: { summary: 'For an application', value: { name: 'billing-app', labels: { team: 'billing' } } },
  limited: {
    summary: 'With limits, a budget and an end',
    value: {
      name: 'trial',
      scopes: ['chat'],
      models: ['gpt-6-luna'],
      expires_in_seconds: 2_592_000,
      limits: { requests_per_minute: 60, concurrent_streams: 4 },
      budgets: [{ limit_credits: 500, window: 'month', time_zone: 'Europe/Berlin', on_exhausted: 'downgrade' }],
    },
  },
  wallets: {
    summary: 'For agents of these wallets alone',
    value: { name: 'agents', wallets: ['0x7e5f4552091a69125d5dfcb7b8c2659029395bdf'] },
  },
} as const;

export const KEY_CHANGES = {
  limited: {
    summary: 'Another budget, one label less, the limits of the policy',
    value: { budgets: [{ limit_credits: 800, window: 'month' }], labels: { trial: null }, limits: null },
  },
  ending: { summary: 'Another name and an end', value: { name: 'billing', expires_at: '2027-02-18T09:30:00Z' } },
} as const;

export const CHILD_KEY_REQUESTS = {
  worker: {
    summary: 'For a sub-agent, for an hour',
    value: {
      name: 'crawler',
      labels: { 'child.task': 'crawl' },
      expires_in_seconds: 3_600,
      budgets: [{ limit_credits: 20, window: 'total' }],
    },
  },
} as const;

export const ROTATE_REQUESTS = {
  overlap: { summary: 'The old secret works for an hour more', value: { overlap_seconds: 3_600 } },
  leaked: { summary: 'The old secret ends at once', value: { overlap_seconds: 0 } },
} as const;

export const GRANT_REQUESTS = {
  grant: { summary: 'Add', value: { credits: 25, note: 'invoice 1042' } },
  back: { summary: 'Take back', value: { credits: -5 } },
} as const;

export const FEEDBACK_REQUESTS = {
  good: { summary: 'It did what was asked', value: { decision_id: 'dec_0a4x1wm3zk0', score: 1 } },
  tests: {
    summary: 'Half of the tests passed',
    value: { decision_id: 'dec_0a4x1wm3zk0', score: 0.5, label: 'unit-tests' },
  },
} as const;

const TEAM_BUDGET = { limit_credits: 200_000, window: 'month', time_zone: 'Europe/Berlin' } as const;

export const TEAM_REQUESTS = {
  budget: {
    summary: 'With a budget, and one for each member',
    value: {
      name: 'search',
      budgets: [TEAM_BUDGET],
      member_defaults: { budgets: [{ limit_credits: 5_000, window: 'month' }] },
    },
  },
} as const;

export const TEAM_CHANGES = {
  limits: { summary: 'Another limit; the rest stays', value: { limits: { requests_per_minute: 600 } } },
  models: { summary: 'All models', value: { models: null } },
} as const;

export const USER_REQUESTS = {
  member: { summary: 'A member of a team', value: { name: 'Ada Lovelace', email: 'ada@example.com', team: 'search' } },
} as const;

export const USER_CHANGES = {
  lead: { summary: 'A lead', value: { role: 'lead' } },
  budget: { summary: 'A budget of its own', value: { budgets: [{ limit_credits: 20_000, window: 'month' }] } },
} as const;

export const ERASE_REQUESTS = {
  actor: { summary: 'An actor', value: { actor_name: 'alice' } },
  subject: { summary: 'The words in the changes of a key', value: { subject: 'k7mw2pq9x4ta' } },
} as const;
