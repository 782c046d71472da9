import { expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import { APP } from '../support/routes.ts';

/** A handler that uses both slow features. */
const SHOWN = new Elysia().post('/shown', ({ body, server }) => [body, server]);

/** The source of the function that Elysia generated for a POST route with its hooks. */
function composedOf(path: string): string {
  const route = [...APP.routes, ...SHOWN.routes].find((one) => one.method === 'POST' && one.path === path);
  if (!route) throw new Error(`there is no route ${path}`);
  return String(route.compile());
}

/** Elysia's body parser, and its access to the server. After either, every later use of its context is slow. */
const SLOW = [/contentType/, /defineProperty/];
const slownessOf = (path: string) => SLOW.map((code) => code.test(composedOf(path)));

test('chats and recommendations use neither Elysia’s body parser nor its access to the server', () => {
  for (const path of ['/v1/chat/completions', '/v1/route'])
    expect([path, slownessOf(path)]).toEqual([path, [false, false]]);
  // Routes that use one or both features prove that the test would notice them.
  expect(slownessOf('/v1/feedback')).toEqual([true, false]);
  expect(slownessOf('/shown')).toEqual([true, true]);
});

test('the server makes no request wait for another turn of the event loop, except a request whose token is checked', () => {
  APP.compile();
  const [hook, ...more] = APP.event.request ?? [];
  expect(more).toEqual([]);
  // Elysia decides this from the hook's source: a call after `return` is enough to make it asynchronous.
  expect(hook).toMatchObject({ isAsync: false });
});
