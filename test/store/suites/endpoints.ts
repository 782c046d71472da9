import { expect, test } from 'bun:test';
import type { BrokenDeclaration } from '../../../src/store/endpoints.ts';
import type { TestedStore } from '../implementations.ts';

export const broken = (more: Partial<BrokenDeclaration> = {}): BrokenDeclaration => ({
  ...{ provider: 'p', upstream: 'u', model: 'm' },
  ...{ marginTokens: 64, marginMs: 250, since: 1_800_000_000_000, excess: 12_000 },
  ...more,
});

/** The guarantees of every table of broken declarations. */
export function endpointSuite(open: () => Promise<TestedStore>): void {
  test('the store keeps only the latest broken declaration of an endpoint, until it is deleted', async () => {
    await using store = await open();
    const { brokenDeclarations: table } = store;
    await store.commit([table.put(broken()), table.put(broken({ upstream: 'v' })), table.put(broken({ model: 'n' }))]);
    await store.commit([table.put(broken({ marginTokens: 3, since: 5, excess: 7 }))]);
    expect(await table.all()).toEqual([
      broken({ marginTokens: 3, since: 5, excess: 7 }),
      broken({ model: 'n' }),
      broken({ upstream: 'v' }),
    ]);
    await store.commit([table.delete(broken()), table.delete(broken({ provider: 'q' }))]);
    expect(await table.all()).toEqual([broken({ model: 'n' }), broken({ upstream: 'v' })]);
  });
}
