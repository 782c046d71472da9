/** Terms that newcomers do not know, each explained in one or two sentences. */
export const TERMS = {
  baseline: {
    word: 'Baseline',
    text: 'The cost of the same tokens on one model that you compare with. The policy names this model as `baseline`. If the policy names none, it is the model with the best quality that could serve the request.',
  },
  saved: {
    word: 'Saved',
    text: 'The cost of the same tokens on the baseline model, minus the amount that was charged. It is negative if the baseline would have been cheaper.',
  },
  held: {
    word: 'Held',
    text: 'Credits that Signalbox sets aside before it sends a request, so that budgets are never overspent. When the request ends, Signalbox charges the used Credits and releases the rest.',
  },
} as const satisfies Record<string, { readonly word: string; readonly text: string }>;
export type TermName = keyof typeof TERMS;
