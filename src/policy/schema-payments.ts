import { type NumberOptions, type Static, Type } from '@sinclair/typebox';
import { boolean, closed, integer, number, oneOf, string, VARIABLE_NAME } from './schema-parts.ts';

const variable = (description: string, example: string) =>
  Type.Optional(string({ ...VARIABLE_NAME, example }, description));

/** The form of an address. `payment-networks.ts` checks its checksum. */
export const ADDRESS_PATTERN = '^0x[0-9A-Fa-f]{40}$';

const address = (description: string, example: string) =>
  string({ pattern: ADDRESS_PATTERN, expected: '`0x` and 40 hexadecimal digits', example }, description);

const usd = (fallback: number, bounds: NumberOptions, description: string) =>
  number({ ...bounds, default: fallback }, description);

const milliseconds = (fallback: number, maximum: number, description: string) =>
  integer({ minimum: 1000, maximum, default: fallback }, description);

export const AssetText = closed(
  {
    address: address('Address of its contract.', '0x036CbD53842c5426634e7929541eC2318f3dCF7e'),
    name: string(
      { minLength: 1, maxLength: 64, example: 'USDC' },
      'Name in the EIP-712 domain of its contract: payers sign it, so that with another one no payment is valid.',
    ),
    version: string({ minLength: 1, maxLength: 16, default: '2' }, 'Version in that domain.'),
    decimals: integer(
      { minimum: 0, maximum: 18, default: 6 },
      'How many decimals it has. One whole unit of it counts as 1 USD.',
    ),
  },
  { description: 'The stablecoin that is taken. It must know `transferWithAuthorization` (EIP-3009), as USDC does.' },
);

/** The keys of each mode of a facilitator. The first one is required. */
export const FACILITATOR_KEYS = {
  local: ['private_key_env', 'confirmation_timeout_ms', 'gas_alarm_eth'],
  http: ['url', 'timeout_ms', 'bearer_env'],
} as const;

export const FacilitatorText = closed(
  {
    mode: oneOf(['local', 'http'], {
      examples: ['local'],
      means: {
        local: 'This process, with a key of its own that pays the gas.',
        http: 'A service at an address.',
      },
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
      'Only with `local`: how much of the coin that gas is paid in the key must have; below it, the operator is told. Read exactly.',
    ),
    url: Type.Optional(
      string(
        { example: 'https://facilitator.example.com' },
        'Only with `http`, and needed there: address of the service.',
      ),
    ),
    timeout_ms: milliseconds(15_000, 120_000, 'Only with `http`: milliseconds that an answer is waited for.'),
    bearer_env: variable(
      'Only with `http`: name of the variable that holds the token it asks for.',
      'X402_FACILITATOR_TOKEN',
    ),
  },
  { description: 'Who has payments settled on the chain.' },
);

export const NetworkText = closed(
  {
    id: string(
      {
        pattern: '^eip155:[1-9]\\d{0,14}$',
        expected: '`eip155:` and the number of the chain, such as eip155:84532',
        example: 'eip155:84532',
      },
      'Name of the chain by CAIP-2.',
    ),
    asset: AssetText,
    pay_to: address(
      'Your address, where payments go. Its key has no business on this machine.',
      '0x52908400098527886E0F7030069857D2E4169EE7',
    ),
    rpc_urls: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        minItems: 1,
        maxItems: 8,
        examples: [['https://sepolia.base.org']],
        description: 'Addresses of nodes of the chain, without a key; the first is asked first.',
      }),
    ),
    rpc_urls_env: variable('Variable that holds such addresses, divided by commas, instead.', 'BASE_RPC_URLS'),
    facilitator: FacilitatorText,
  },
  { description: 'A chain on which payments are taken, and in what.' },
);
export type NetworkText = Static<typeof NetworkText>;

export const QuoteText = closed(
  {
    ttl_seconds: integer({ minimum: 10, maximum: 3600, default: 120 }, 'How many seconds a quote can be paid.'),
    max_usd: usd(
      1,
      { exclusiveMinimum: 0, maximum: 10_000 },
      'USD: the most that a request without a key is quoted for. Its worst case is held below it, as by a `budget_limit`. Common clients pay no more than 1 USD at a time. Read exactly.',
    ),
    min_charge_usd: usd(
      0.001,
      { minimum: 0, maximum: 10_000 },
      'USD: the least that is settled on a chain. What is above the price becomes balance. Read exactly.',
    ),
    settle_fee_usd: usd(
      0.001,
      { minimum: 0, maximum: 10_000 },
      'USD that a settlement for a request adds to its price. Read exactly.',
    ),
    apply_balance: boolean(
      { default: true, example: false },
      'Lets the balance of the wallet that `agent_wallet` names lower its quote. Whoever knows the address can then learn of the balance.',
    ),
  },
  { default: {}, description: 'What a payment is asked for.' },
);

const TOP_UP = { exclusiveMinimum: 0, maximum: 1_000_000 };

export const PrepaidText = closed(
  {
    enabled: boolean({ default: true, example: false }, 'Whether wallets can be topped up.'),
    min_usd: usd(1, TOP_UP, 'USD of the smallest top-up. Read exactly.'),
    max_usd: usd(100, TOP_UP, 'USD of the largest top-up. Read exactly.'),
  },
  { default: {}, description: 'Balance that is paid in advance, and spent with a key of the wallet.' },
);

export const X402Text = closed(
  {
    enabled: boolean(
      { default: false, example: true },
      'Whether agents can pay. What stands beside it is checked anyway.',
    ),
    allow_mainnet: boolean(
      { default: false, example: true },
      'Admits networks other than the known test networks: what is paid there is real money.',
    ),
    public_url: Type.Optional(
      string(
        {
          pattern: '^https?://[^\\s/?#@]+$',
          expected: 'http:// or https:// and a host, without a path, such as https://llm.example.com',
          maxLength: 256,
          example: 'https://llm.example.com',
        },
        'Where agents reach this gateway, without a path: what quotes name as paid for. Without it, the address that a request was sent to.',
      ),
    ),
    networks: Type.Array(NetworkText, {
      maxItems: 16,
      default: [],
      description: 'Where payments are taken, in the order in which they are offered.',
    }),
    quote: QuoteText,
    settle_margin_seconds: integer(
      { minimum: 6, maximum: 600, default: 60 },
      'How many seconds a payment must still be valid when it is to be settled.',
    ),
    agent_wallet: closed(
      {
        required: boolean(
          { default: false, example: true },
          'Whether a request without a key must name its `agent_wallet`; without one it then gets 401.',
        ),
      },
      { default: {}, description: 'The field by which a request names its wallet.' },
    ),
    prepaid: PrepaidText,
    body_bytes_max: integer(
      { minimum: 1024, maximum: 1_073_741_824, default: 262_144 },
      'Bytes of the largest body of a request without a key; `gateway.body_bytes_max` holds as well.',
    ),
  },
  { description: 'Payments by the protocol x402, in stablecoins.' },
);

export const PaymentsText = closed(
  { x402: Type.Optional(X402Text) },
  { description: 'How agents without a key pay for themselves. Off, unless it is turned on.' },
);
