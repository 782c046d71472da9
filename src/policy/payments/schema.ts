import { type NumberOptions, type Static, Type } from '@sinclair/typebox';
import { closed, figure, flag, optional, text, whole, word } from '../../core/define/fields.ts';
import { excludes, needsOneOf, policyAmount, VARIABLE_NAME } from '../../core/define/policy-words.ts';

const variable = (description: string, example: string) => optional(text(description, { ...VARIABLE_NAME, example }));

/** The form of a wallet address. `payment-networks.ts` checks the checksum in the capital letters of an address. */
export const ADDRESS_PATTERN = '^0x[0-9A-Fa-f]{40}$';

const address = (description: string, example: string) =>
  text(description, { pattern: ADDRESS_PATTERN, expected: '`0x` and 40 hexadecimal digits', example });

const dollars = (fallback: number, bounds: NumberOptions, description: string) =>
  policyAmount({ ...bounds, default: fallback }, description);

const timeout = (fallback: number, maximum: number, description: string) =>
  whole(description, { minimum: 1000, maximum, default: fallback });

export const AssetText = closed(
  'The accepted stablecoin, such as USDC. Its contract must have `transferWithAuthorization` (EIP-3009).',
  {
    address: address('Address of the coin’s contract.', '0x036CbD53842c5426634e7929541eC2318f3dCF7e'),
    name: text('EIP-712 name of the coin’s contract. Payers sign it.', {
      minLength: 1,
      maxLength: 64,
      example: 'USDC',
    }),
    version: text('EIP-712 version of the coin’s contract.', { minLength: 1, maxLength: 16, default: '2' }),
    decimals: whole('Number of decimals of the coin. A whole unit of the coin counts as 1 USD.', {
      minimum: 0,
      maximum: 18,
      default: 6,
    }),
  },
);

/** The keys of each facilitator mode. The first key of each facilitator mode is required. */
export const FACILITATOR_KEYS = {
  local: ['private_key_env', 'confirmation_timeout_ms', 'gas_alarm_eth'],
  http: ['url', 'timeout_ms', 'bearer_env'],
} as const;

export const FacilitatorText = closed('The service that settles payments on the chain.', {
  mode: word(
    {
      local: 'This process settles, with a key of its own that pays the gas.',
      http: 'An external service settles.',
    },
    'Who settles payments. `local`: this process, with a key of its own that pays the gas. `http`: an external service.',
    'local',
  ),
  private_key_env: variable(
    'Name of the environment variable that holds the private key for gas, never the key itself. Required with `local`, and not allowed with `http`. The key’s account needs only the coin in which gas is paid.',
    'X402_GAS_KEY',
  ),
  confirmation_timeout_ms: timeout(
    20_000,
    300_000,
    'With `local`: the longest time to wait for a transaction, in milliseconds.',
  ),
  gas_alarm_eth: figure(
    'With `local`: how much of the gas coin the account that pays the gas must hold, in whole coins such as ETH. Below this amount, Signalbox sends an alert.',
    { minimum: 0, maximum: 1_000_000, default: 0.005 },
  ),
  url: optional(
    text('URL of the service. Required with `http`, and not allowed with `local`.', 'https://facilitator.example.com'),
  ),
  timeout_ms: timeout(15_000, 120_000, 'With `http`: milliseconds to wait for an answer.'),
  bearer_env: variable(
    'With `http`: name of the environment variable that holds the service’s token.',
    'X402_FACILITATOR_TOKEN',
  ),
});

const NETWORK = {
  id: text('The chain, by its CAIP-2 ID.', {
    pattern: '^eip155:[1-9]\\d{0,14}$',
    expected: '`eip155:` and the number of the chain, such as eip155:84532',
    example: 'eip155:84532',
  }),
  asset: AssetText,
  pay_to: address(
    'Your address, which receives the payments. Keep its private key off this machine.',
    '0x52908400098527886E0F7030069857D2E4169EE7',
  ),
  rpc_urls: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), {
      minItems: 1,
      maxItems: 8,
      examples: [['https://sepolia.base.org']],
      description: 'URLs of nodes of the chain that contain no API key, in the order in which Signalbox tries them.',
    }),
  ),
  rpc_urls_env: variable(
    'Name of the environment variable that holds the URLs, separated by commas, instead of `rpc_urls`.',
    'BASE_RPC_URLS',
  ),
  facilitator: FacilitatorText,
};
export const NetworkText = closed('A chain and a stablecoin that the gateway accepts.', NETWORK, {
  ...needsOneOf('rpc_urls', 'rpc_urls_env'),
  ...excludes('rpc_urls', 'rpc_urls_env'),
});
export type NetworkText = Static<typeof NetworkText>;

export const QuoteText = closed(
  'Bounds of quotes.',
  {
    ttl_seconds: whole('How many seconds a quote can be paid.', { minimum: 10, maximum: 3600, default: 120 }),
    max_usd: dollars(
      1,
      { exclusiveMinimum: 0, maximum: 10_000 },
      'The highest quote, in USD. It caps the worst case of the request. Common clients pay at most 1 USD at a time.',
    ),
    min_charge_usd: dollars(
      0.001,
      { minimum: 0, maximum: 10_000 },
      'The smallest amount that is settled, in USD. The part above the price is added to the wallet’s balance.',
    ),
    settle_fee_usd: dollars(
      0.001,
      { minimum: 0, maximum: 10_000 },
      'The fee, in USD, that is added to the price of a request for settling its payment. Read exactly.',
    ),
    apply_balance: flag(
      'Whether the balance of the wallet in `agent_wallet` lowers the quote. The quote then reveals the balance to anyone who knows the address.',
      { default: true, example: false },
    ),
  },
  { default: {} },
);

const TOP_UP = { exclusiveMinimum: 0, maximum: 1_000_000 };

export const PrepaidText = closed(
  'Balance that a wallet pays in advance and spends with an API key of its own.',
  {
    enabled: flag('Whether wallets can top up their balance.', { default: true, example: false }),
    min_usd: dollars(1, TOP_UP, 'The smallest top-up, in USD. Read exactly.'),
    max_usd: dollars(100, TOP_UP, 'The largest top-up, in USD.'),
  },
  { default: {} },
);

export const X402Text = closed('Payments in stablecoins with the protocol x402.', {
  enabled: flag('Whether agents can pay. Signalbox checks the section even if it is off.', {
    default: false,
    example: true,
  }),
  allow_mainnet: flag('Allows networks that are not known test networks. Payments on such networks are real money.', {
    default: false,
    example: true,
  }),
  public_url: optional(
    text(
      'URL at which agents reach this gateway, without a path. Default: the section `public_url`, or else the address of the request.',
      {
        pattern: '^https?://[^\\s/?#@]+$',
        expected: 'http:// or https:// and a host, without a path, such as https://llm.example.com',
        maxLength: 256,
        example: 'https://llm.example.com',
      },
    ),
  ),
  networks: Type.Array(NetworkText, {
    maxItems: 16,
    default: [],
    description: 'Networks on which the gateway accepts payments, in the order in which it offers them.',
  }),
  quote: QuoteText,
  settle_margin_seconds: whole('How many seconds a payment must still be valid when its settlement begins.', {
    minimum: 6,
    maximum: 600,
    default: 60,
  }),
  agent_wallet: closed(
    'The request field that names the wallet which pays.',
    {
      required: flag('Answers 401 to a request that has neither an API key nor `agent_wallet`.', {
        default: false,
        example: true,
      }),
    },
    { default: {} },
  ),
  prepaid: PrepaidText,
  body_bytes_max: whole(
    'The largest body of a request without a key, in bytes. `gateway.body_bytes_max` also applies.',
    { minimum: 1024, maximum: 1_073_741_824, default: 262_144 },
  ),
});

export const PaymentsText = closed('Payments by agents that have no API key. Default: off.', {
  x402: Type.Optional(X402Text),
});
