import { expect } from 'bun:test';

/** Pages that together load every kind of file that a build has. */
export const PAGES = ['/docs', '/docs/guide/architecture.md', '/docs/guide/?q=budget', '/console/keys'];

/** Checks that a server has a page, and everything that the page loads. */
export async function expectWholePage(url: string, page: string): Promise<void> {
  const loads = [...(await (await fetch(url + page)).text()).matchAll(/(?:href|src)="([^"]+)"/g)].map(
    ([, at = '']) => new URL(at, url + page).pathname,
  );
  expect(loads.length).toBeGreaterThan(2);
  for (const path of [...loads, '/docs/json']) {
    const answer = await fetch(url + path);
    expect([path, answer.status, (await answer.bytes()).length > 100]).toEqual([path, 200, true]);
  }
}
