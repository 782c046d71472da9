import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { AnswerSeal, newSalt, requestNameOf } from '../../../src/access/idempotency/crypto.ts';
import { anyCodePoint } from '../../support/any-code-point.ts';

const texts = fc.string({ unit: anyCodePoint, maxLength: 200 });

test('a sealed text can be opened only with the same secret, salt and purpose', () => {
  fc.assert(
    fc.property(texts, texts, texts, texts, (text, secret, other, bound) => {
      const salt = newSalt();
      const sealed = new AnswerSeal(secret, salt).seal(text, bound);
      expect(new AnswerSeal(secret, salt).open(sealed, bound)).toBe(text);
      expect(new AnswerSeal(secret, newSalt()).open(sealed, bound)).toBeNull();
      expect(new AnswerSeal(secret, salt).open(sealed, `${bound}.`)).toBeNull();
      if (other !== secret) expect(new AnswerSeal(other, salt).open(sealed, bound)).toBeNull();
    }),
  );
});

test('a sealed text that was changed or cut cannot be opened', () => {
  const seal = new AnswerSeal('secret', newSalt());
  const sealed = seal.seal('The answer.', '1');
  for (let at = 0; at < sealed.length; at++) {
    const changed = sealed.slice();
    changed[at]! ^= 1;
    expect([at, seal.open(changed, '1')]).toEqual([at, null]);
    expect([at, seal.open(sealed.subarray(0, at), '1')]).toEqual([at, null]);
  }
});

test('a text is encrypted differently each time, and no part of the text is visible', () => {
  const seal = new AnswerSeal('secret', newSalt());
  const text = 'a text that must stay secret';
  const [one, other] = [seal.seal(text, '1'), seal.seal(text, '1')];
  expect(Buffer.from(one).equals(other)).toBeFalse();
  for (let at = 0; at + 8 <= text.length; at++) {
    expect(Buffer.from(one).includes(text.slice(at, at + 8))).toBeFalse();
  }
});

test('the mark of a body depends on the secret and the salt, so that it reveals nothing without the secret', () => {
  const salt = newSalt();
  const body = new Uint8Array(32);
  const mark = new AnswerSeal('secret', salt).bodyMark(body);
  expect(new AnswerSeal('secret', salt).bodyMark(body)).toEqual(mark);
  expect(new AnswerSeal('secres', salt).bodyMark(body)).not.toEqual(mark);
  expect(new AnswerSeal('secret', newSalt()).bodyMark(body)).not.toEqual(mark);
  expect(new AnswerSeal('secret', salt).bodyMark(new Uint8Array(32).fill(1))).not.toEqual(mark);
  expect(new AnswerSeal('secret', salt).verifier).toEqual(new AnswerSeal('secret', salt).verifier);
  expect(new AnswerSeal('secres', salt).verifier).not.toEqual(new AnswerSeal('secret', salt).verifier);
});

test('different API keys, and different idempotency keys of the same API key, never share a stored name', () => {
  const names = [
    requestNameOf('ab', 'c'),
    requestNameOf('a', 'bc'),
    requestNameOf('ab', 'd'),
    requestNameOf('ac', 'c'),
    requestNameOf('', 'abc'),
  ];
  expect(new Set(names.map((name) => Buffer.from(name).toString('hex'))).size).toBe(names.length);
  expect(requestNameOf('ab', 'c')).toEqual(requestNameOf('ab', 'c'));
});
