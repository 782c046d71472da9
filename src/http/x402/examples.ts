/** Example request bodies for the routes that a signature pays for. */

export const TOP_UP_REQUESTS = {
  dollars: { summary: 'A dollar', value: { usd: 1 } },
  credits: {
    summary: 'Credits, and an additional key',
    value: { credits: 5_000, name: 'agent-7', new_key: true },
  },
} as const;

export const WALLET_KEY_REQUESTS = {
  another: { summary: 'Another key', value: { name: 'agent-8' } },
  leaked: { summary: 'A key that replaces all others', value: { revoke_others: true } },
} as const;
