import { AUDIENCE, type TestIssuer } from '../support/token-issuer.ts';

/** A policy of one simulated model, `toy`, which needs no upstream. */
export const TOY = `version: 2
providers: { sim: { adapter: simulated } }
models:
  toy:
    provider: sim
    price: { input: 1000, output: 4000, as_of: 2026-11-01, basis: own }
    context_window: 32768
    max_output: 256
    latency: { ttft_ms: 1, output_tokens_per_second: 100000, basis: guessed }
    quality: { default: 0.5, basis: guessed }
`;

/** The issuer of a test in the section `tokens`, with further keys. */
export const issuerEntry = ({ url }: TestIssuer, more = '', name = 'robots'): string => `
  - name: ${name}
    issuer: ${url}
    audience: ${AUDIENCE}
    when: claims.org == "acme"
    allow_private_network: true
${more.replaceAll(/^(?=.)/gm, '    ')}`;

export const tokenPolicy = (issuer: TestIssuer, more = '', others = ''): string =>
  `${TOY}tokens:${issuerEntry(issuer, more)}\n${others}`;
