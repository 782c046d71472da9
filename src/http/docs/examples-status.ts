/** Examples of the answers about endpoints and learning. */
export const ENDPOINTS_ANSWER = {
  object: 'list',
  data: [
    {
      provider: 'openai',
      model: 'gpt-6-luna',
      upstream: 'gpt-6-luna-2026-09-01',
      state: 'ejected',
      retry_at: '2026-11-20T09:30:12.000Z',
      ttft_ms: { p50: 412.5, p90: 901 },
      warm_ttft_ms: null,
      tokens_per_second: { p50: 88.1, p90: 120.4 },
      attempts: { ok: 1_204, timeout: 7 },
      retries: 5,
      retries_denied: 0,
      ejections: 1,
    },
  ],
};

export const LEARNING_ANSWER = {
  mode: 'on',
  estimator: 'learned',
  outcomes: [{ source: 'caller', outcomes: 214, learnt: 180.5, withheld: 3 }],
  examples: 51,
  checkpoint: { through: '2026-11-20T09:29:00.000Z', behind: 2 },
  brier: { declared: 0.2104, estimated: 0.1733 },
  models: [{ model: 'gpt-6-luna', task: null, outcomes: 96.5, declared: 0.8, learnt: 0.84, difference_points: 4 }],
  keys: [{ key_id: 'k7mw2pq9x4ta', learnt: 180.5, share: 1, share_of_chats: 1, bound: null, is_at_bound: false }],
  faults: [],
};
