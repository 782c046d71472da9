import { describe, expect, test } from 'bun:test';
import type { Claims } from '../../../src/core/people/token-issuer.ts';
import { rowFor } from '../../../src/core/policy/sign-in.ts';
import { BASE } from '../golden.ts';
import { load } from '../support.ts';

/** Compiles a section `sign_in` with these rows, which are written as flow maps. */
function signInOf(...rows: readonly string[]) {
  const text = `sign_in:\n  issuer: https://login.example\n  client_id: gw\n  roles:\n${rows.map((row) => `    - ${row}\n`).join('')}`;
  const { snapshot, diagnostics } = load([BASE, { path: 'p.yaml', text }]);
  expect(diagnostics).toEqual([]);
  return snapshot?.signIn ?? expect.unreachable();
}

const SIGN_IN = signInOf(
  `{ when: '"platform" in claims.groups', role: admin }`,
  `{ when: '!("guests" in claims.groups) && claims.email_verified', role: lead, team: search }`,
  `{ when: 'claims.realm_access.roles.exists(r, r == "finance") || claims.level >= 3', role: finance }`,
  `{ when: claims.is_auditor, role: auditor }`,
);
const roleOf = (claims: Claims) => rowFor(SIGN_IN, claims)?.role ?? null;

describe('the roles of people who sign in', () => {
  test('the roles of people who sign in come from the first row whose condition is true', () => {
    expect(rowFor(SIGN_IN, { groups: ['x', 'platform'], is_auditor: true })).toEqual({ role: 'admin', team: null });
    expect(rowFor(SIGN_IN, { groups: ['x'], email_verified: true })).toEqual({ role: 'lead', team: 'search' });
    expect(roleOf({ realm_access: { roles: ['finance'] } })).toBe('finance');
    expect(roleOf({ level: 3 })).toBe('finance');
    expect(roleOf({ is_auditor: true })).toBe('auditor');
  });

  test('the roles of people who sign in never come from a condition that cannot be evaluated, even if it contains `!`', () => {
    for (const claims of [{}, { groups: null }, { groups: 7, email_verified: true }, { email_verified: true }]) {
      expect(roleOf(claims)).toBeNull();
    }
    expect(roleOf({ is_auditor: 'yes' })).toBeNull();
  });

  test('the roles of people who sign in never come from claims that are larger than the step limit of conditions assumes', () => {
    const many = Array.from({ length: 257 }, (_, at) => `g${at}`);
    expect(roleOf({ groups: ['platform', ...many] })).toBeNull();
    expect(roleOf({ groups: ['platform', ...many.slice(2)] })).toBe('admin');
  });

  test('the roles of people who sign in come from a row without a condition for everyone', () => {
    expect(rowFor(signInOf('{ role: member }'), {})).toEqual({ role: 'member', team: null });
  });
});

test('sign-in always requests the scope `openid`', () => {
  expect(SIGN_IN.scopes).toEqual(['openid', 'profile', 'email']);
});

test('`public_url` keeps its path and loses the slash at its end, and quotes use it unless `payments` states another', () => {
  const { snapshot } = load([BASE, { path: 'p.yaml', text: 'public_url: https://llm.example.com/gateway/' }]);
  expect(snapshot?.publicUrl).toBe('https://llm.example.com/gateway');
  const listed = load([BASE, { path: 'p.yaml', text: 'public_url: [https://llm.example.com]' }]);
  expect(listed.diagnostics.map(({ message }) => message)).toContain('`public_url` must be a text, found a list');
});
