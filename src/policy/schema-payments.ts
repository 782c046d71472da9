import { type NumberOptions, type Static, Type } from '@sinclair/typebox';
import {
  boolean,
  closed,
  closedOrEmpty,
  excludes,
  integer,
  needsOneOf,
  number,
  oneOfExplained,
  optional,
  string,
  VARIABLE_NAME,
} from './schema-parts.ts';

const variable = (description: string, example: string) => optional.string({ ...VARIABLE_NAME, example }, description);

/** The form of an address. `payment-networks.ts` checks its checksum. */
export const ADDRESS_PATTERN = '^0x[0-9A-Fa-f]{40}$';

const address = (description: string, example: string) =>
  string({ pattern: ADDRESS_PATTERN, expected: '`0x` and 40 hexadecimal digits', example }, description);

const usd = (fallback: number, bounds: NumberOptions, description: string) =>
  number({ ...bounds, default: fallback }, description);

const milliseconds = (fallback: number, maximum: number, description: string) =>
  integer({ minimum: 1000, maximum, default: fallback }, description);

export const AssetText = closed('Accepted stablecoin, with `transferWithAuthorization` (EIP-3009), such as USDC.', {
  address: address('Address of its contract.', '0x036CbD53842c5426634e7929541eC2318f3dCF7e'),
  name: string({ minLength: 1, maxLength: 64, example: 'USDC' }, 'EIP-712 name of its contract. Payers sign it.'),
  version: string({ minLength: 1, maxLength: 16, default: '2' }, 'EIP-712 version of its contract.'),
  decimals: integer({ minimum: 0, maximum: 18, default: 6 }, 'Its decimals. A whole unit counts as 1 USD.'),
});

/** The keys of each mode of a facilitator. The first one is required. */
export const FACILITATOR_KEYS = {
  local: ['private_key_env', 'confirmation_timeout_ms', 'gas_alarm_eth'],
  http: ['url', 'timeout_ms', 'bearer_env'],
} as const;

export const FacilitatorText = closed('The service that settles payments on the chain.', {
  mode: oneOfExplained({
    means: {
      local: 'This process, with a key that pays the gas.',
      http: 'A service at an address.',
    },
    examples: ['local'],
    description: '`local`: this process, with a key of its own that pays the gas. `http`: a service.',
  }),
  private_key_env: variable(
    'Only with `local`, and needed there: name of the variable that holds the key, never the key. It needs the coin that gas is paid in, and nothing else.',
    'X402_GAS_KEY',
  ),
  confirmation_timeout_ms: milliseconds(
    20_000,
    300_000,
    'Only with `local`: milliseconds that a transaction is waited for.',
  ),
  gas_alarm_eth: number(
    { minimum: 0, maximum: 1_000_000, default: 0.005 },
    'With `local`: how much of the gas coin the key must hold without an alert.',
  ),
  url: optional.string(
    { example: 'https://facilitator.example.com' },
    'Only with `http`, and needed there: address of the service.',
  ),
  timeout_ms: milliseconds(15_000, 120_000, 'With `http`: milliseconds to wait for an answer.'),
  bearer_env: variable('With `http`: variable with its token.', 'X402_FACILITATOR_TOKEN'),
});

const NETWORK = {
  id: string(
    {
      pattern: '^eip155:[1-9]\\d{0,14}$',
      expected: '`eip155:` and the number of the chain, such as eip155:84532',
      example: 'eip155:84532',
    },
    'Chain, by its CAIP-2 name.',
  ),
  asset: AssetText,
  pay_to: address('Your address. Keep its key off this machine.', '0x52908400098527886E0F7030069857D2E4169EE7'),
  rpc_urls: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), {
      minItems: 1,
      maxItems: 8,
      examples: [['https://sepolia.base.org']],
      description: 'Addresses of nodes of the chain, without a key, in the order of use.',
    }),
  ),
  rpc_urls_env: variable('Variable with the addresses, separated by commas, in place of `rpc_urls`.', 'BASE_RPC_URLS'),
  facilitator: FacilitatorText,
};
export const NetworkText = closed('A chain and a stablecoin that the gateway accepts.', NETWORK, {
  ...needsOneOf('rpc_urls', 'rpc_urls_env'),
  ...excludes('rpc_urls', 'rpc_urls_env'),
});
export type NetworkText = Static<typeof NetworkText>;

export const QuoteText = closedOrEmpty('Bounds of quotes.', {
  ttl_seconds: integer({ minimum: 10, maximum: 3600, default: 120 }, 'How many seconds a quote can be paid.'),
  max_usd: usd(
    1,
    { exclusiveMinimum: 0, maximum: 10_000 },
    'Most USD of a quote; caps the worst case of the request. Common clients pay at most 1 USD at a time.',
  ),
  min_charge_usd: usd(0.001, { minimum: 0, maximum: 10_000 }, 'Least USD of a settlement. The excess becomes balance.'),
  settle_fee_usd: usd(
    0.001,
    { minimum: 0, maximum: 10_000 },
    'USD that a settlement for a request adds to its price. Read exactly.',
  ),
  apply_balance: boolean(
    { default: true, example: false },
    'Lets the balance of `agent_wallet` lower its quote, which reveals it to anyone with the address.',
  ),
});

const TOP_UP = { exclusiveMinimum: 0, maximum: 1_000_000 };

export const PrepaidText = closedOrEmpty('Balance paid in advance and spent with a key of the wallet.', {
  enabled: boolean({ default: true, example: false }, 'Whether wallets can be topped up.'),
  min_usd: usd(1, TOP_UP, 'USD of the smallest top-up. Read exactly.'),
  max_usd: usd(100, TOP_UP, 'Largest top-up, in USD.'),
});

export const X402Text = closed('Payments by the protocol x402, in stablecoins.', {
  enabled: boolean({ default: false, example: true }, 'Whether agents can pay. The section is checked in any case.'),
  allow_mainnet: boolean(
    { default: false, example: true },
    'Allows networks that are not known test networks. Their payments are real money.',
  ),
  public_url: optional.string(
    {
      pattern: '^https?://[^\\s/?#@]+$',
      expected: 'http:// or https:// and a host, without a path, such as https://llm.example.com',
      maxLength: 256,
      example: 'https://llm.example.com',
    },
    'Address of this gateway for agents, without a path. Default: the section `public_url`, else the address of the request.',
  ),
  networks: Type.Array(NetworkText, {
    maxItems: 16,
    default: [],
    description: 'Networks that the gateway accepts payments on, in the order of the offer.',
  }),
  quote: QuoteText,
  settle_margin_seconds: integer(
    { minimum: 6, maximum: 600, default: 60 },
    'Seconds that a payment must stay valid when it is settled.',
  ),
  agent_wallet: closedOrEmpty('The field that names the wallet of a request.', {
    required: boolean(
      { default: false, example: true },
      'Answers 401 to a request with neither a key nor `agent_wallet`.',
    ),
  }),
  prepaid: PrepaidText,
  body_bytes_max: integer(
    { minimum: 1024, maximum: 1_073_741_824, default: 262_144 },
    'Largest body of a request without a key, in bytes. `gateway.body_bytes_max` also applies.',
  ),
});

export const PaymentsText = closed('Payments by agents without a key. Off by default.', {
  x402: Type.Optional(X402Text),
});
