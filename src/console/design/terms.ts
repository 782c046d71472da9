/** Words of the ledger that newcomers do not know, each explained in one or two sentences. */
export const TERMS = {
  baseline: {
    word: 'Baseline',
    text: 'What the same tokens would have cost on one model, to compare with. The policy names that model as `baseline`; otherwise it is the model of the best quality that could serve the request.',
  },
  saved: {
    word: 'Saved',
    text: 'What the same tokens would have cost on the baseline model, minus what was charged. It is negative if the baseline would have been cheaper.',
  },
  held: {
    word: 'Held',
    text: 'Credits set aside before a request is sent, so that budgets are never overspent. When the request ends, what it used is charged and the rest is released.',
  },
} as const satisfies Record<string, { readonly word: string; readonly text: string }>;
export type TermName = keyof typeof TERMS;
