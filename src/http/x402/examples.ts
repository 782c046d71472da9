/** The bodies to send to the routes that a signature pays for, for the documentation. */

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
