/** Examples of the admin routes' answers, for the documentation. */
export const RELOAD_ANSWER = {
  time: '2026-11-20T09:30:00.000Z',
  took_ms: 41,
  cause: 'request',
  result: 'applied',
  revision: '95f1a7d5f908027b',
  message: 'The policy is in force.',
  diagnostics: [],
  changes: [
    {
      change: 'changed',
      section: 'models',
      name: 'gpt-6-luna',
      keys: [{ key: 'price.input', from: 0.2, to: 0.25 }],
    },
  ],
};

export const POLICY_ANSWER = {
  revision: '95f1a7d5f908027b',
  since: '2026-11-20T09:30:00.000Z',
  files: ['policies/models.yaml', 'policies/signalbox.yaml'],
  models: 4,
  warnings: [],
  outdated_plugins: [],
  last_reload: {
    time: '2026-11-20T09:41:07.000Z',
    took_ms: 287,
    cause: 'edit',
    result: 'refused',
    revision: '95f1a7d5f908027b',
    message: 'The policy has 1 error; nothing was changed.',
    diagnostics: [
      {
        severity: 'error',
        code: 'unknown-key',
        file: 'policies/models.yaml',
        line: 12,
        column: 5,
        length: 12,
        message: '`models.gpt-6-luna` has no key `contxt_window`',
        hint: 'did you mean `context_window`?',
      },
    ],
    changes: [],
  },
  previous: { revision: '0c2e77a1b5d94f60', changes: RELOAD_ANSWER.changes },
};

export const ADMIN_USAGE_ANSWER = {
  object: 'usage',
  from: '2026-10-22',
  to: '2026-11-21',
  time_zone: 'UTC',
  by: ['key', 'model'],
  total_credits: 61.75,
  groups: [
    {
      group: { key_id: 'k7mw2pq9x4ta', model: 'gpt-6-luna' },
      charges: 214,
      input_tokens: 120_400,
      output_tokens: 31_250,
      credits: 61.75,
    },
  ],
};

export const LEDGER_ANSWER = {
  charged_credits: 40_210.25,
  held_credits: 12.4,
  open_reservations: 7,
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
  funds_total: 1,
};

const KEY_ANSWER = {
  id: 'k7mw2pq9x4ta',
  name: 'billing-app',
  state: 'valid',
  scopes: ['chat', 'route'],
  labels: { team: 'billing' },
  models: null,
  limits: { requests_per_minute: 60, tokens_per_minute: null, concurrent_streams: 4 },
  budgets: [{ limit_credits: 500, window: 'month', time_zone: 'Europe/Berlin', on_exhausted: 'reject' }],
  wallets: null,
  wallet: null,
  created_at: '2026-11-20T09:30:00.000Z',
  expires_at: '2027-02-18T09:30:00.000Z',
  revoked_at: null,
  last_used_at: '2026-11-20T12:01:07.000Z',
  rotated_at: null,
  overlap_ends_at: null,
};

/** A key that shows a wallet. */
const WALLET_KEY_ANSWER = {
  ...KEY_ANSWER,
  id: 'w5tz8hc3nb6e',
  name: 'my agent',
  labels: {},
  limits: { requests_per_minute: null, tokens_per_minute: null, concurrent_streams: null },
  budgets: [],
  wallet: '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf',
  created_at: '2026-11-20T10:05:00.000Z',
  expires_at: null,
  last_used_at: null,
};

export const KEYS_ANSWER = { object: 'list', data: [KEY_ANSWER, WALLET_KEY_ANSWER] };

export const NEW_KEY_ANSWER = { key: 'sb_live_k7mw2pq9x4ta_…', ...KEY_ANSWER, last_used_at: null };

export const ROTATED_KEY_ANSWER = {
  key: 'sb_live_k7mw2pq9x4ta_…',
  ...KEY_ANSWER,
  rotated_at: '2026-11-20T14:00:00.000Z',
  overlap_ends_at: '2026-11-21T14:00:00.000Z',
};

export const REVOKED_KEY_ANSWER = { ...KEY_ANSWER, state: 'revoked', revoked_at: '2026-11-20T15:00:00.000Z' };

export const KEY_STATUS_ANSWER = {
  ...KEY_ANSWER,
  budgets: [
    { ...KEY_ANSWER.budgets[0], spent_credits: 120.5, left_credits: 379.5, renews_at: '2026-11-30T23:00:00.000Z' },
  ],
  balance: { granted_credits: 25, spent_credits: 3.2, left_credits: 21.8 },
};

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

export const ROTATE_REQUESTS = {
  overlap: { summary: 'The old secret works for an hour more', value: { overlap_seconds: 3_600 } },
  leaked: { summary: 'The old secret ends at once', value: { overlap_seconds: 0 } },
} as const;

export const GRANT_REQUESTS = {
  grant: { summary: 'Add', value: { credits: 25, note: 'invoice 1042' } },
  back: { summary: 'Take back', value: { credits: -5 } },
} as const;

export const TRAIL_ANSWER = {
  object: 'list',
  data: [
    {
      time: '2026-11-20T14:00:00.000Z',
      actor: { kind: 'key', name: 'a3nn8wkz5h2c' },
      action: 'rotate',
      key_id: 'k7mw2pq9x4ta',
      details: { overlap_ends_at: '2026-11-21T14:00:00.000Z' },
      request_id: 'req_0a4x1wm3zk0',
    },
    {
      time: '2026-11-20T09:30:00.000Z',
      actor: { kind: 'cli', name: 'alice' },
      action: 'grant',
      key_id: 'k7mw2pq9x4ta',
      details: { credits: 25, note: 'invoice 1042' },
      request_id: null,
    },
  ],
};

export const CONTENT_ANSWER = {
  decision_id: 'dec_0a4x1wm3zk0',
  object: 'content',
  prompt: [{ role: 'user', content: 'Write to [email] that the meeting is at nine.' }],
  answer: [{ index: 0, content: 'Dear [email], the meeting is at nine.' }],
  is_cut: false,
  kept_until: '2026-11-27T09:30:00.000Z',
};

export const DECISIONS_ANSWER = {
  object: 'list',
  data: [
    {
      id: 'dec_0a4x1wm3zk0',
      object: 'decision.summary',
      created: 1_793_000_000,
      key_id: 'k7mw2pq9x4ta',
      operation: 'chat',
      status: 'completed',
      model: 'gpt-6-luna',
      task: 'coding',
      selector: 'auto',
      stream: true,
      labels: { team: 'search' },
      metadata: {},
      route_reason: 'auto:balanced',
      policy_revision: '95f1a7d5f908027b',
      error: null,
      attempts: 1,
      credits_consumed: 0.0123,
      cost_saved_credits: 0.0456,
      first_part_ms: 312,
      total_ms: 2_149,
    },
  ],
  has_more: true,
};
