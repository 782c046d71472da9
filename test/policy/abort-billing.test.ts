import { describe, expect, test } from 'bun:test';
import { loadText, snapshotOf } from './support.ts';

const policyOf = (provider: string, endpoint = '', adapter = 'openai-compatible') => `version: 1
providers:
  it: { adapter: ${adapter}${adapter === 'simulated' ? '' : ', base_url: https://it.example/v1'}${provider} }
models:
  m:
    endpoints: [{ provider: it${endpoint} }]
    price: { input: 1, output: 4 }
    context_window: 8000
    max_output: 1000
    capabilities: [tools]
    quality: { default: 0.5, basis: guessed }
`;
const billingOf = (text: string) => {
  const { providers, models } = snapshotOf(loadText(text));
  const [endpoint] = models[0]!.endpoints;
  return endpoint.afterAbort ?? providers.get('it')!.afterAbort;
};

describe('the abort billing of an endpoint', () => {
  test('the abort billing of an endpoint is unknown if neither its adapter nor the policy states it', () => {
    expect(billingOf(policyOf(''))).toEqual({ bills: 'unknown' });
  });

  test('the abort billing of an endpoint is what its adapter declares, if the policy states nothing', () => {
    expect(billingOf(policyOf('', '', 'simulated'))).toMatchObject({ bills: 'stops' });
  });

  test('the abort billing of an endpoint is what the policy states for the provider, whatever the adapter declares', () => {
    expect(billingOf(policyOf(', after_abort: { bills: whole }', '', 'simulated'))).toEqual({ bills: 'whole' });
    expect(billingOf(policyOf(', after_abort: { bills: stops, margin_ms: 20 }'))).toEqual({
      bills: 'stops',
      reports: 'end',
      marginTokens: 64,
      marginMs: 20,
    });
  });

  test('the abort billing of an endpoint is what the policy states for the endpoint, whatever it states for the provider', () => {
    const provider = ', after_abort: { bills: stops }';
    expect(billingOf(policyOf(provider, ', after_abort: { bills: unknown }'))).toEqual({ bills: 'unknown' });
  });

  test.each([
    ['whole', 'reports: each, margin_ms: 5', ['reports', 'margin_ms']],
    ['unknown', 'margin_tokens: 3', ['margin_tokens']],
    ['stops', 'reports: each, margin_tokens: 3, margin_ms: 5', []],
  ])(
    'with `bills: %s`, `policy check` names the keys of a provider and of an endpoint that have no effect',
    (bills, more, idle) => {
      const stated = `, after_abort: { bills: ${bills}, ${more} }`;
      for (const text of [policyOf(stated), policyOf('', stated)]) {
        const found = loadText(text).diagnostics.filter(({ code }) => code === 'after-abort-idle');
        expect(found.map(({ message }) => /after_abort\.(\w+)/.exec(message)?.[1])).toEqual(idle);
      }
    },
  );
});
