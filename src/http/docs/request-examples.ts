/** Example request bodies for the documentation. Tests check the example bodies against the schemas. */

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
  good: { summary: 'It did what the request wanted', value: { decision_id: 'dec_0a4x1wm3zk0', score: 1 } },
  tests: {
    summary: 'Half of the tests passed',
    value: { decision_id: 'dec_0a4x1wm3zk0', score: 0.5, label: 'unit-tests' },
  },
} as const;
