import { TOY } from '../support/policies.ts';
import { AUDIENCE, type TestIssuer } from '../support/token-issuer.ts';

/** The test's issuer as an entry of the section `tokens`, with more keys. */
export const issuerEntry = ({ url }: TestIssuer, more = '', name = 'robots'): string => `
  - name: ${name}
    issuer: ${url}
    audience: ${AUDIENCE}
    when: claims.org == "acme"
    allow_private_network: true
${more.replaceAll(/^(?=.)/gm, '    ')}`;

export const tokenPolicy = (issuer: TestIssuer, more = '', others = ''): string =>
  `${TOY}tokens:${issuerEntry(issuer, more)}\n${others}`;
