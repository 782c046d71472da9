import { describe, expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import fc from 'fast-check';
import { needsKey, type RouteRule, RouteTable, routeRules, unlisted } from '../../src/http/kit/route-table.ts';
import { ROUTE_TABLE, ROUTES } from '../support/routes.ts';

describe('the route table', () => {
  test('contains every route that needs a key, and no other such route', () => {
    const keyed = ROUTES.filter(({ access }) => access !== 'open');
    expect(keyed.length).toBeGreaterThan(20);
    for (const { path } of keyed) expect([path, ROUTE_TABLE.find(path)?.path]).toEqual([path, path]);
    expect(ROUTE_TABLE.find('/admin/secrets')).toBeUndefined();
  });

  test('requires a key for every path that is not open', () => {
    for (const { path, access } of ROUTES) expect([path, needsKey(path)]).toEqual([path, access !== 'open']);
  });

  test('admits a route inside a broader route with the same access as the broader route', () => {
    expect(ROUTE_TABLE.find('/v1/models/:id')?.path).toBe('/v1/models/*');
    expect(ROUTE_TABLE.find('/docs/page.js')?.path).toBe('/docs/:asset');
    const rules: RouteRule[] = [
      { method: 'GET', path: '/a/:id', access: 'models.read' },
      { method: 'GET', path: '/a/special', access: 'keys.read' },
    ];
    expect(new RouteTable(rules).find('/a/special')?.methods.get('GET')?.access).toBe('keys.read');
  });

  test('cannot be built from a route that does not declare its access', () => {
    const open = new Elysia().get('/a', () => 'a', unlisted({ access: 'open' }));
    expect(routeRules(open.routes)).toEqual([{ method: 'GET', path: '/a', access: 'open' }]);
    const forgotten = open.get('/b', () => 'b', { detail: { summary: 'forgotten' } });
    expect(() => routeRules(forgotten.routes)).toThrow('the route GET /b does not declare its access');
    const odd = { method: 'GET', path: '/c', hooks: { detail: { 'x-access': { access: 'everybody' } } } };
    expect(() => routeRules([odd])).toThrow('the route GET /c');
  });

  const segment = fc.constantFrom('a', 'b', ':id', '*');
  const pattern = fc
    .array(segment, { minLength: 1, maxLength: 4 })
    .map((parts) => parts.filter((part, at) => part !== '*' || at === parts.length - 1))
    .filter((parts) => parts.length > 0 && parts.filter((part) => part === ':id').length < 2)
    .filter((parts) => !(parts.includes(':id') && parts.includes('*')))
    .map((parts) => `/${parts.join('/')}`);

  test('finds a path exactly if the router does', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(pattern, { minLength: 1, maxLength: 5 }), pattern, async (patterns, asked) => {
        const path = asked.replace(':id', 'x').replace('*', 'y/z');
        const app = new Elysia({ handler: { standardHostname: false } });
        for (const one of patterns) app.get(one, () => 'there', unlisted({ access: 'models.read' }));
        const isThere = (await app.handle(new Request(`http://localhost${path}`))).status === 200;
        const table = new RouteTable(routeRules(app.routes));
        expect([patterns, path, table.find(path) !== undefined]).toEqual([patterns, path, isThere]);
      }),
      { numRuns: 100 },
    );
  });
});
