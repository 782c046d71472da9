/** Examples of requests and answers of the routes for wallets and payments, for the documentation. */
const WALLET_ADDRESS = '0x4a3b2c1d0e9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b';
const TOKEN = '0x036CbD53842c5426634e7929541eC2318f3dCF7e';
const PAY_TO = '0x1d2c3b4a5f6e7d8c9b0a1f2e3d4c5b6a7f8e9d0c';
const TRANSACTION = '0x6f0e1d2c3b4a59687766554433221100ffeeddccbbaa99887766554433221100';

export const PAYMENT_ANSWER = {
  object: 'payment',
  id: 'pay_0a4x1wm3zk0',
  state: 'settled',
  purpose: 'chat',
  network: 'eip155:84532',
  asset: TOKEN,
  payer: WALLET_ADDRESS,
  pay_to: PAY_TO,
  amount_atomic: '3250',
  paid_credits: 3.25,
  fee_credits: 1,
  charged_credits: 1.09,
  balance_added_credits: 1.16,
  decision_id: 'dec_0a4x1wm3zk0',
  transaction: TRANSACTION,
  error: null,
  created_at: '2026-11-20T09:30:00.000Z',
  updated_at: '2026-11-20T09:30:03.000Z',
};

export const PAYMENTS_ANSWER = { object: 'list', data: [PAYMENT_ANSWER] };

export const TOP_UP_REQUESTS = {
  dollars: { summary: 'A dollar', value: { usd: 1 } },
  credits: {
    summary: 'Credits, and a key beside those there are',
    value: { credits: 5_000, name: 'agent-7', new_key: true },
  },
} as const;

export const TOP_UP_ANSWER = {
  object: 'wallet.topup',
  wallet: WALLET_ADDRESS,
  paid_credits: 1_000,
  balance_credits: 1_000,
  key: 'sb_live_k7mw2pq9x4ta_…',
  key_id: 'k7mw2pq9x4ta',
  payment: {
    id: 'pay_0a4x1wm3zk1',
    source: 'x402',
    payer: WALLET_ADDRESS,
    state: 'settled',
    scheme: 'exact',
    network: 'eip155:84532',
    asset: TOKEN,
    paid_atomic: '1000000',
    transaction: TRANSACTION,
    paid_credits: 1_000,
    fee_credits: 0,
    balance_added_credits: 1_000,
  },
};

export const WALLET_KEY_REQUESTS = {
  another: { summary: 'Another key', value: { name: 'agent-8' } },
  leaked: { summary: 'A key in place of all others', value: { revoke_others: true } },
} as const;

export const WALLET_KEY_ANSWER = {
  object: 'wallet.key',
  wallet: WALLET_ADDRESS,
  id: 'k7mw2pq9x4ta',
  name: 'agent-8',
  key: 'sb_live_k7mw2pq9x4ta_…',
  revoked: 1,
};

export const WALLET_ANSWER = {
  object: 'wallet',
  wallet: WALLET_ADDRESS,
  balance_credits: 1.16,
  held_credits: 0,
  granted_credits: 2.25,
  keys: [
    {
      id: 'k7mw2pq9x4ta',
      name: 'agent-8',
      created_at: '2026-11-20T09:30:00.000Z',
      last_used_at: '2026-11-20T12:01:07.000Z',
    },
  ],
  payments: [PAYMENT_ANSWER],
};

export const WALLET_STATUS_ANSWER = { ...WALLET_ANSWER, is_blocked: false };
export const BLOCKED_WALLET_ANSWER = { ...WALLET_ANSWER, is_blocked: true };

export const BLOCK_REQUESTS = {
  plain: { summary: 'With the reason', value: { note: 'abuse, ticket 88' } },
} as const;

export const CREDIT_REQUESTS = {
  add: { summary: 'Add', value: { credits: 25, note: 'goodwill' } },
  back: { summary: 'Take back', value: { credits: -5 } },
} as const;

export const PAYMENT_TERMS_ANSWER = {
  x402Version: 2,
  schemes: ['exact'],
  payment_flow: 'upfront',
  networks: [
    {
      network: 'eip155:84532',
      asset: { address: TOKEN, name: 'USDC', version: '2', decimals: 6 },
      pay_to: PAY_TO,
      ready: true,
    },
  ],
  usd_per_credit: 0.001,
  quote: { ttl_seconds: 120, max_usd: 1, min_charge_usd: 0.001, settle_fee_usd: 0.001 },
  prepaid: { min_usd: 1, max_usd: 100 },
  agent_wallet_required: false,
  resources: [
    { method: 'POST', path: '/v1/chat/completions', description: 'Chat completions.' },
    { method: 'POST', path: '/v1/wallets/topup', description: 'Credits, paid in advance, and a key.' },
    { method: 'POST', path: '/v1/wallets/keys', description: 'A key of a wallet, for a signature alone.' },
  ],
  refunds:
    'What is paid and not used stays as balance of the wallet and pays for its next requests; nothing is sent back on the chain.',
};
