/** The bodies to send to the routes for wallets and payments, for the documentation. */

export const TOP_UP_REQUESTS = {
  dollars: { summary: 'A dollar', value: { usd: 1 } },
  credits: {
    summary: 'Credits, and a key beside those there are',
    value: { credits: 5_000, name: 'agent-7', new_key: true },
  },
} as const;

export const WALLET_KEY_REQUESTS = {
  another: { summary: 'Another key', value: { name: 'agent-8' } },
  leaked: { summary: 'A key in place of all others', value: { revoke_others: true } },
} as const;

export const BLOCK_REQUESTS = {
  plain: { summary: 'With the reason', value: { note: 'abuse, ticket 88' } },
} as const;

export const CREDIT_REQUESTS = {
  add: { summary: 'Add', value: { credits: 25, note: 'goodwill' } },
  back: { summary: 'Take back', value: { credits: -5 } },
} as const;
