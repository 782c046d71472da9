/** Examples of requests and answers of the route for feedback, for the documentation. */
export const FEEDBACK_REQUESTS = {
  good: { summary: 'It did what was asked', value: { decision_id: 'dec_0a4x1wm3zk0', score: 1 } },
  tests: {
    summary: 'Half of the tests passed',
    value: { decision_id: 'dec_0a4x1wm3zk0', score: 0.5, label: 'unit-tests' },
  },
} as const;

export const FEEDBACK_ANSWER = {
  object: 'feedback',
  decision_id: 'dec_0a4x1wm3zk0',
  model: 'gpt-6-luna',
  task: 'coding',
  score: 0.5,
  label: 'unit-tests',
  result: 'learnt',
  weight: 1,
};
