import { expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import { APP } from '../support/routes.ts';

/** A handler that uses both. */
const SHOWN = new Elysia().post('/shown', ({ body, server }) => [body, server]);

/** The function that Elysia has made of a POST route, with its hooks. */
function composedOf(path: string): string {
  const route = [...APP.routes, ...SHOWN.routes].find((one) => one.method === 'POST' && one.path === path);
  if (!route) throw new Error(`there is no route ${path}`);
  return String(route.compile());
}

/** Elysia's parsing of bodies, and its way to the server. After either, every later use of its context is slow. */
const SLOW = [/contentType/, /defineProperty/];
const slownessOf = (path: string) => SLOW.map((code) => code.test(composedOf(path)));

test('chats and recommendations go through neither Elysia’s parsing nor its way to the server', () => {
  for (const path of ['/v1/chat/completions', '/v1/route'])
    expect([path, slownessOf(path)]).toEqual([path, [false, false]]);
  // Routes that use one of them, or both, show what would be seen.
  expect(slownessOf('/v1/feedback')).toEqual([true, false]);
  expect(slownessOf('/shown')).toEqual([true, true]);
});

test('the edge makes no request wait for another turn: only one whose token is checked is answered later', () => {
  APP.compile();
  const [hook, ...more] = APP.event.request ?? [];
  expect(more).toEqual([]);
  // Elysia tells it by the source of the hook: a call behind `return` is enough.
  expect(hook).toMatchObject({ isAsync: false });
});
