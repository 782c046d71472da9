import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { canonicalJson } from '../../src/core/json/canonical.ts';
import { requestHashOf } from '../../src/payments/canonical.ts';

/** Returns the same value with the members of every object in reverse order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).reverse();
  return Object.fromEntries(members.map(([name, inner]) => [name, reversed(inner)]));
}

const object = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 6 }));

describe('The hash of a request', () => {
  test('does not depend on the order of members, at any depth', () => {
    fc.assert(
      fc.property(object, (body) => {
        expect(requestHashOf(reversed(body) as object)).toBe(requestHashOf(body));
      }),
    );
  });

  test('keeps values distinct: canonical text parses back to the original', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const plain: unknown = JSON.parse(JSON.stringify(value));
        expect(JSON.parse(canonicalJson(plain))).toEqual(plain);
      }),
    );
  });

  test('ignores the letter case of `agent_wallet`, and nothing else', () => {
    const body = { model: 'auto', agent_wallet: `0x${'Ab'.repeat(20)}`, messages: [{ role: 'user', content: 'Hi' }] };
    const hash = requestHashOf(body);
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(requestHashOf({ ...body, agent_wallet: `0x${'aB'.repeat(20)}` })).toBe(hash);
    expect(requestHashOf({ ...body, agent_wallet: `0x${'ac'.repeat(20)}` })).not.toBe(hash);
    expect(requestHashOf({ ...body, model: 'Auto' })).not.toBe(hash);
    expect(requestHashOf({ ...body, messages: [{ role: 'user', content: 'hi' }] })).not.toBe(hash);
    expect(requestHashOf({ ...body, messages: [...body.messages, ...body.messages] })).not.toBe(hash);
  });

  test('accepts the nesting that the server admits, and a member with the name `__proto__`', () => {
    const deep = JSON.parse(`${'['.repeat(64)}${']'.repeat(64)}`);
    expect(canonicalJson({ deep })).toContain('[[[[');
    const odd = '{"__proto__":{"a":1},"b":2}';
    expect(canonicalJson(JSON.parse(odd))).toBe(odd);
  });
});
