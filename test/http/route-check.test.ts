import { expect, test } from 'bun:test';
import { guardedAs, needsKey, ROUTES } from '../../src/http/guard.ts';

test('every route with a key is guarded as itself, and what is not in the table is not', () => {
  for (const { path } of ROUTES.filter((route) => needsKey(route.path))) expect(guardedAs(path)).toBe(path);
  expect(guardedAs('/v1/models/:id')).toBe('/v1/models/*');
  expect(guardedAs('/admin/secrets')).toBeUndefined();
});
