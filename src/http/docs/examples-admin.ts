/** Examples of what the admin routes answer, as the documentation shows them. */
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
