import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { atomicOf, type PaymentNetwork, type PaymentPolicy, worthOf } from '../../../src/core/policy/payments.ts';
import { parsePolicy } from '../../../src/policy/load.ts';
import { formatDiagnostics } from '../../../src/policy/report/diagnostics.ts';
import { diffPolicies } from '../../../src/policy/runtime/diff.ts';
import { tries } from '../../deep/effort.ts';
import { brief, load, loadText, problems, SMALL, snapshotOf } from '../support.ts';

const PAY_TO = '0x52908400098527886E0F7030069857D2E4169EE7';
const TOKEN = '0x8617E340B3D01FA5F11F306F4090FD50E238070D';

interface Written {
  readonly head?: string;
  readonly asset?: string;
  readonly nodes?: string;
  readonly facilitator?: string;
  readonly more?: string;
}

/** Makes a policy with payments. Each part can be replaced. */
function policy({
  head = 'enabled: true',
  asset = `{ address: "${TOKEN}", name: Test }`,
  nodes = 'rpc_urls_env: NODES',
  facilitator = '{ mode: local, private_key_env: GAS_KEY }',
  more = '',
}: Written = {}): string {
  return `${SMALL}payments:
  x402:
    ${head}
    networks:
      - id: eip155:31337
        asset: ${asset}
        pay_to: "${PAY_TO}"
        ${nodes}
        facilitator: ${facilitator}
    ${more}
`;
}

function paymentsOf(text: string): PaymentPolicy {
  const { payments } = snapshotOf(loadText(text));
  if (!payments) throw new Error('payments are off');
  return payments;
}

describe('payments are off', () => {
  test.each([
    ['without the section', SMALL],
    ['if the section is empty', `${SMALL}payments: {}\n`],
    ['if nothing turns payments on', `${SMALL}payments: { x402: {} }\n`],
    ['if payments are turned off', policy({ head: 'enabled: false' })],
  ])('%s', (_, text) => {
    expect(snapshotOf(loadText(text)).payments).toBeNull();
  });
});

describe('the section `payments`', () => {
  test('the section `payments` has the documented defaults, and reads no environment variable', () => {
    expect(paymentsOf(policy())).toEqual({
      networks: [
        {
          id: 'eip155:31337',
          chainId: 31_337,
          asset: { address: TOKEN, name: 'Test', version: '2', decimals: 6 },
          payTo: PAY_TO,
          rpcUrls: [],
          rpcUrlsEnv: 'NODES',
          facilitator: {
            mode: 'local',
            privateKeyEnv: 'GAS_KEY',
            confirmationTimeoutMs: 20_000,
            gasAlarmWei: 5_000_000_000_000_000n,
          },
          rate: { microcredits: 1000n, atomic: 1n },
        },
      ],
      publicUrl: null,
      quoteTtlMs: 120_000,
      quoteMax: 1_000_000_000,
      chargeMin: 1_000_000,
      settleFee: 1_000_000,
      settleMarginMs: 60_000,
      walletRequired: false,
      quotesBalance: true,
      prepaid: { min: 1_000_000_000, max: 100_000_000_000 },
      bodyBytesMax: 262_144,
    });
  });

  test('amounts may be texts with their unit, and mean the same as numbers of USD', () => {
    const figuresOf = (max: string, min: string, fee: string, least: string, most: string) =>
      paymentsOf(
        policy({
          more: `quote: { max_usd: ${max}, min_charge_usd: ${min}, settle_fee_usd: ${fee} }
    prepaid: { min_usd: ${least}, max_usd: ${most} }`,
        }),
      );
    const stated = figuresOf('$2.50', '0.5 USD', '$0.0025', '5USD', '"1,000"');
    expect(stated).toEqual(figuresOf('2.5', '0.5', '0.0025', '5', '1000'));
    expect(stated).toMatchObject({
      quoteMax: 2_500_000_000,
      settleFee: 2_500_000,
      prepaid: { max: 1_000_000_000_000 },
    });
  });

  test('the section `payments` has every stated value', () => {
    const stated = policy({
      head: 'enabled: true\n    allow_mainnet: true\n    public_url: https://llm.example.com\n    settle_margin_seconds: 30\n    agent_wallet: { required: true }',
      asset: `{ address: "${TOKEN}", name: Test, version: "1", decimals: 18 }`,
      nodes: 'rpc_urls: ["http://127.0.0.1:8545/", "https://node.example/rpc"]',
      facilitator: '{ mode: http, url: "https://x402.example/v2/", timeout_ms: 2500, bearer_env: TOKEN }',
      more: `quote: { ttl_seconds: 45, max_usd: 0.5, min_charge_usd: 0, settle_fee_usd: 0.0025, apply_balance: false }
    prepaid: { enabled: false }
    body_bytes_max: 2048`,
    }).replace('31337', '8453');
    const { networks, ...figures } = paymentsOf(stated);
    expect(networks).toEqual([
      {
        id: 'eip155:8453',
        chainId: 8453,
        asset: { address: TOKEN, name: 'Test', version: '1', decimals: 18 },
        payTo: PAY_TO,
        rpcUrls: ['http://127.0.0.1:8545', 'https://node.example/rpc'],
        rpcUrlsEnv: null,
        facilitator: { mode: 'http', url: 'https://x402.example/v2', timeoutMs: 2500, bearerEnv: 'TOKEN' },
        rate: { microcredits: 1n, atomic: 1_000_000_000n },
      },
    ]);
    expect(figures).toEqual({
      publicUrl: 'https://llm.example.com',
      quoteTtlMs: 45_000,
      quoteMax: 500_000_000,
      chargeMin: 0,
      settleFee: 2_500_000,
      settleMarginMs: 30_000,
      walletRequired: true,
      quotesBalance: false,
      prepaid: null,
      bodyBytesMax: 2048,
    });
  });

  test('the section `payments` keeps the order of the networks, and is frozen', () => {
    const second = policy().slice(policy().indexOf('      - id'), policy().indexOf('    \n')).replace('31337', '84532');
    const { networks } = paymentsOf(policy({ more: '' }).trimEnd().concat('\n', second));
    expect(networks.map(({ chainId }) => chainId)).toEqual([31_337, 84_532]);
    expect(Object.isFrozen(networks) && Object.isFrozen(networks[0].rate)).toBe(true);
  });

  test('the section `payments` may be in its own file, but only once', () => {
    const [, section = ''] = policy().split(SMALL);
    const base = { path: 'p.yaml', text: SMALL };
    expect(snapshotOf(load([base, { path: 'q.yaml', text: section }])).payments).not.toBeNull();
    const twice = load([base, { path: 'q.yaml', text: section }, { path: 'r.yaml', text: 'payments: { x402: {} }' }]);
    expect(twice.diagnostics.map((found) => `${found.file} ${brief(found)}`)).toEqual(['r.yaml 1:13 duplicate-name']);
  });

  test('the section `payments` does not depend on the values of its variables', () => {
    const env = { NODES: 'not an address', GAS_KEY: 'nor a key' };
    expect(problems(policy(), env)).toEqual([]);
    expect(snapshotOf(loadText(policy(), env)).payments).toEqual(paymentsOf(policy()));
  });
});

describe('a changed section `payments`', () => {
  const parsed = (text: string) => parsePolicy([{ path: 'p.yaml', text }]);
  const other = PAY_TO.replace('0x52', '0x53');

  test('a changed section `payments` is compared between two revisions key by key', () => {
    const after = policy({ more: 'quote: { max_usd: 0.5 }' }).replace(PAY_TO, other);
    const difference = (a: string, b: string) => diffPolicies(parsed(a).outline, parsed(b).outline);
    expect(difference(policy(), after)).toEqual([
      {
        change: 'changed',
        section: 'payments',
        name: null,
        keys: [
          { key: 'x402.networks[0].pay_to', from: PAY_TO, to: other },
          { key: 'x402.quote', to: { max_usd: 0.5 } },
        ],
      },
    ]);
    expect(difference(SMALL, policy())).toEqual([{ change: 'added', section: 'payments', name: null }]);
  });
});

describe('amounts', () => {
  const amounts = (usdPerCredit: string, max: string, fee: string) =>
    paymentsOf(
      `${policy({ more: `quote: { max_usd: ${max}, min_charge_usd: 0, settle_fee_usd: ${fee} }` })}credits: { usd_per_credit: ${usdPerCredit} }\n`,
    );

  test('amounts are read exactly from the text, not from the nearest double', () => {
    const { quoteMax, settleFee } = amounts('0.000001', '0.100000000001', '0.000000000003');
    expect([quoteMax, settleFee]).toEqual([100_000_000_001, 3]);
  });

  test('amounts are rounded up if they are charged, and down if they are an upper limit', () => {
    const { quoteMax, settleFee, prepaid } = amounts('0.003', '1', '0.001');
    expect(quoteMax).toBe(333_333_333);
    expect(settleFee).toBe(333_334);
    expect(prepaid).toEqual({ min: 333_333_334, max: 33_333_333_333 });
  });

  test('a top-up may have one fixed amount, whatever a Credit is worth', () => {
    const fixed = `${policy({ more: 'prepaid: { min_usd: 1, max_usd: 1 }' })}credits: { usd_per_credit: 0.003 }\n`;
    expect(paymentsOf(fixed).prepaid).toEqual({ min: 333_333_333, max: 333_333_333 });
  });

  /** A decimal above 0, as its digits and its number of decimals. */
  const decimal = (digits: number, scale: number) =>
    fc.tuple(fc.integer({ min: 1, max: digits }), fc.integer({ min: 0, max: scale }));
  const textOf = ([digits, scale]: readonly [number, number]): string => `${digits}e-${scale}`;

  test('amounts are the nearest whole microcredits in the right direction', () => {
    const law = fc.property(decimal(999, 5), decimal(99_999, 9), decimal(99_999, 9), (credit, high, low) => {
      const usd = ([digits, scale]: readonly [number, number]) => BigInt(digits) * 10n ** BigInt(20 - scale);
      fc.pre(usd(high) <= usd([10_000, 0]) && usd(credit) <= usd([1000, 0]));
      // The worth of microcredits in units of 10^-26 USD.
      const worth = (microcredits: number) => BigInt(microcredits) * usd(credit);
      fc.pre(usd(high) * 1_000_000n > usd(low) * 1_000_000n + 2n * usd(credit));
      const { quoteMax, settleFee } = amounts(textOf(credit), textOf(high), textOf(low));
      expect(worth(quoteMax) <= usd(high) * 1_000_000n && worth(quoteMax + 1) > usd(high) * 1_000_000n).toBe(true);
      expect(worth(settleFee) >= usd(low) * 1_000_000n && worth(settleFee - 1) < usd(low) * 1_000_000n).toBe(true);
    });
    fc.assert(law, tries('amounts of a policy are the nearest whole microcredits in the right direction', 40, 5_000));
  });
});

describe('the rate of an asset', () => {
  const rateOf = (usdPerCredit: string, decimals: number): PaymentNetwork['rate'] =>
    paymentsOf(
      `${policy({ asset: `{ address: "${TOKEN}", name: T, decimals: ${decimals} }`, more: 'prepaid: { max_usd: 1 }' })}credits: { usd_per_credit: ${usdPerCredit} }\n`,
    ).networks[0].rate;

  test.each([
    ['0.001', 6, 1000n, 1n],
    ['1', 6, 1n, 1n],
    ['0.001', 18, 1n, 1_000_000_000n],
    ['0.003', 6, 1000n, 3n],
    ['0.01', 2, 1_000_000n, 1n],
    ['0.0005', 0, 2_000_000_000n, 1n],
  ])(
    'with %s USD per Credit and %d decimals, %d microcredits are %d units',
    (credit, decimals, microcredits, atomic) => {
      expect(rateOf(credit, decimals)).toEqual({ microcredits, atomic });
    },
  );

  const rates = fc
    .tuple(fc.integer({ min: 1, max: 9999 }), fc.integer({ min: 2, max: 8 }), fc.integer({ min: 0, max: 18 }))
    .map(([digits, scale, decimals]) => ({
      rate: rateOf(`${digits}e-${scale}`, decimals),
      // The worth of microcredits in units of the asset.
      above: BigInt(digits) * 10n ** BigInt(decimals),
      below: 10n ** BigInt(scale + 6),
    }));

  test('the rate of an asset is exact and a reduced fraction', () => {
    const law = fc.property(rates, ({ rate: { microcredits, atomic }, above, below }) => {
      expect(atomic * below).toBe(microcredits * above);
      const [least, most] = atomic < microcredits ? [atomic, microcredits] : [microcredits, atomic];
      for (const prime of [2n, 3n, 5n, 7n]) expect(least % prime === 0n && most % prime === 0n).toBe(false);
    });
    fc.assert(law, tries('the rate of an asset is exact and a reduced fraction', 40, 5_000));
  });

  const amounts = fc.oneof(fc.nat(5000), fc.maxSafeNat(), fc.constant(Number.MAX_SAFE_INTEGER));
  const units = fc.oneof(fc.bigInt(0n, 5000n), fc.bigInt(0n, 10n ** 30n));
  const law = (count: typeof atomicOf, worth: typeof worthOf) =>
    fc.property(rates, amounts, units, ({ rate }, amount, paid) => {
      const quoted = count(rate, amount);
      expect(worth(rate, quoted)).toBeGreaterThanOrEqual(amount);
      if (quoted > 0n) expect(worth(rate, quoted - 1n)).toBeLessThan(amount);
      expect(count(rate, worth(rate, paid)) <= paid).toBe(true);
    });

  test('the rate of an asset never loses money of the payee: a quote is the fewest units that are worth the amount, and no unit is credited twice', () => {
    fc.assert(law(atomicOf, worthOf), tries('a quote never loses money of the payee', 100, 10_000));
  });

  test.each<[string, typeof atomicOf, typeof worthOf]>([
    ['requests too few units', ({ microcredits, atomic }, amount) => (BigInt(amount) * atomic) / microcredits, worthOf],
    ['requests one unit too many', (rate, amount) => atomicOf(rate, amount) + 1n, worthOf],
    ['credits too much', atomicOf, (rate, paid) => worthOf(rate, paid) + 1],
    [
      'goes by doubles',
      (rate, amount) => BigInt(Math.ceil((amount * Number(rate.atomic)) / Number(rate.microcredits))),
      worthOf,
    ],
  ])('the law detects a rate that %s', (_, count, worth) => {
    expect(fc.check(law(count, worth), { numRuns: 2000, endOnFailure: true }).failed).toBe(true);
  });
});

describe('errors in payments have their exact location', () => {
  test('a known token under its own name is no error', () => {
    const asset = '{ address: "0x036CbD53842c5426634e7929541eC2318f3dCF7e", name: USDC }';
    expect(problems(policy({ asset }))).toEqual([]);
  });

  const mainnet = (id: number, head = 'enabled: true') => problems(policy({ head }).replace('31337', `${id}`));

  test('only the known test networks need no `allow_mainnet`', () => {
    for (const id of [84_532, 11_155_111, 11_155_420, 421_614, 80_002, 43_113, 31_337, 1337]) {
      expect(mainnet(id)).toEqual([]);
    }
    for (const id of [1, 10, 137, 8453, 42_161, 43_114, 84_531]) {
      expect(mainnet(id)).toEqual(['18:13 mainnet-not-allowed']);
      expect(mainnet(id, 'enabled: true\n    allow_mainnet: true')).toEqual([]);
    }
  });
});

describe('a secret in the section `payments` is refused and never printed', () => {
  const key = `4c0883a69102937d${'6231471b5dbb6204'.repeat(3)}`;
  const printed = (text: string) => {
    const result = loadText(text);
    const output =
      JSON.stringify(result.diagnostics) + formatDiagnostics(result.diagnostics, [{ path: 'p.yaml', text }]);
    return { output, places: result.diagnostics.filter(({ code }) => code === 'secret').map(brief), result };
  };

  test.each<[string, Written, string]>([
    [
      'a private key instead of a variable’s name',
      { facilitator: `{ mode: local, private_key_env: "0x${key}" }` },
      '22:54',
    ],
    ['without its prefix', { facilitator: `{ mode: local, private_key_env: ${key} }` }, '22:54'],
    ['as a number', { facilitator: `{ mode: local, private_key_env: 0x${key.toUpperCase()} }` }, '22:54'],
    ['in a name', { asset: `{ address: "${TOKEN}", name: "my ${key}" }` }, '19:79'],
    ['in an unknown key', { more: `key: ${key}` }, '23:10'],
    ['as a key', { more: `${key}: 1` }, '23:5'],
    [
      'a token instead of a variable’s name',
      { facilitator: `{ mode: http, url: "http://a", bearer_env: hunter2hunter }` },
      '22:65',
    ],
    ['a user name in a URL', { nodes: 'rpc_urls: ["https://hunter2hunter@node.example"]' }, '21:20'],
    ['a password in a URL', { nodes: 'rpc_urls: ["https://me:hunter2hunter@node.example"]' }, '21:20'],
    ['a key in a query', { nodes: 'rpc_urls: ["https://node.example/?key=hunter2hunter"]' }, '21:20'],
    ['a key in a path', { nodes: 'rpc_urls: ["https://node.example/v2/hunter2hunter_abcdef"]' }, '21:20'],
    [
      'a URL with a key instead of a variable’s name',
      { nodes: 'rpc_urls_env: https://node.example/?k=hunter2hunter' },
      '21:23',
    ],
  ])('%s', (_, written, place) => {
    const { output, places, result } = printed(policy(written));
    expect(places).toEqual([`${place} secret`]);
    expect(result.snapshot).toBeNull();
    expect(output.toLowerCase()).not.toContain(key);
    expect(output).not.toContain('hunter2hunter');
    expect(output).toContain('**');
  });

  test('a secret is also masked in a comment on a line that another problem shows', () => {
    const { output, places } = printed(policy({ facilitator: `{ mode: self } # 0x${key}` }));
    expect(places).toEqual([]);
    expect(output).toContain('not-one-of');
    expect(output).not.toContain(key);
  });

  test('the same number of digits elsewhere in a policy is a hash, which is allowed', () => {
    const rule = `constraints: [{ name: known, when: 'request.metadata.sum == "${key}"', max_cost_credits: 1 }]\n`;
    expect(problems(SMALL + rule)).toEqual([]);
  });
});
