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
