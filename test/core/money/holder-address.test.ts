import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { getAddress, type Hex } from 'viem';
import { addressOf } from '../../../src/core/money/holder-address.ts';

const digits = fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: 40, maxLength: 40 });

describe('the address of a wallet', () => {
  test('the address of a wallet is accepted in letters of one case, or with its checksum', () => {
    fc.assert(
      fc.property(digits, (plain) => {
        for (const form of [`0x${plain}`, `0x${plain.toUpperCase()}`, getAddress(`0x${plain}`)]) {
          expect(addressOf(form)).toBe(`0x${plain}`);
        }
      }),
    );
  });

  test('the address of a wallet is refused in any other mixture of cases, because a digit may be wrong', () => {
    fc.assert(
      fc.property(digits, fc.array(fc.boolean(), { minLength: 40, maxLength: 40 }), (plain, capitals) => {
        const mixed: Hex = `0x${[...plain].map((digit, i) => (capitals[i] ? digit.toUpperCase() : digit)).join('')}`;
        const isMixed = mixed !== mixed.toLowerCase() && mixed.slice(2) !== mixed.slice(2).toUpperCase();
        expect(addressOf(mixed) === null).toBe(isMixed && mixed !== getAddress(`0x${plain}`));
      }),
    );
  });

  test.each(['0x123', '', 'agent-7', '0x', `0x${'g'.repeat(40)}`, `${'1'.repeat(42)}`, ` 0x${'1'.repeat(40)}`])(
    'the address of a wallet is not `%s`',
    (text) => {
      expect(addressOf(text)).toBeNull();
    },
  );
});
