import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Json } from '../../../plugins/providers/json.ts';
import { tries } from '../../deep/effort.ts';
import { type RoundTrip, thereAndBack } from './round-trip.ts';
import { membersIn, membersNamed } from './schema-members.ts';

/**
 * The law: everything that a dialect's schema names survives the neutral form. Signalbox passes requests in their endpoint's own dialect
 * through; this law reads and writes each request as if for another dialect. `exempt` of each dialect lists the members that do not
 * survive.
 */
const comesBack = (dialect: RoundTrip, spoil: (translated: Json) => Json = (body) => body) =>
  fc.property(dialect.bodies, (body) => {
    expect(dialect.plain(spoil(thereAndBack(dialect, body)))).toEqual(dialect.plain(body));
  });

const isBelow = (path: string, owner: string): boolean =>
  path === owner || (path.startsWith(owner) && /^[.[{]/.test(path.slice(owner.length)));

/** Declares the tests of the law for a dialect. */
export function roundTripTests(dialect: RoundTrip): void {
  const name = dialect.route.path;
  describe(`a request of ${name}, read into the neutral form and written in its own dialect,`, () => {
    test('a request that is read into the neutral form and written in its own dialect is the same', () => {
      fc.assert(comesBack(dialect), tries(`requests of ${name} survive the neutral form`, 15, 5_000));
    });

    test('a request that is read and written in its own dialect has every member that the schema names, except the members in the list of exemptions', () => {
      const found = new Set<string>();
      for (const body of fc.sample(dialect.bodies, { numRuns: 700, seed: 7 })) membersIn(dialect.schema, body, found);
      const named = membersNamed(dialect.schema);
      const exempt = Object.keys(dialect.exempt);
      const isExempt = (path: string) => exempt.some((owner) => isBelow(path, owner));
      expect(named.filter((path) => !found.has(path) && !isExempt(path))).toEqual([]);
      expect(exempt.filter((owner) => !named.includes(owner) && !named.some((path) => isBelow(path, owner)))).toEqual(
        [],
      );
    });

    test.each(Object.entries(dialect.mutants))('the law detects that %s', (_, spoil) => {
      expect(fc.check(comesBack(dialect, spoil), { numRuns: 2_000, endOnFailure: true }).failed).toBe(true);
    });
  });
}
